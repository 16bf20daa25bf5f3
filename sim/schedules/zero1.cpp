// ZeRO-1 (arXiv 1910.02054): gradients are reduced to their owners (DeepSpeed: to all), in one piece after the last
// micro-batch or in buckets during its backward, each rank steps its shard of the optimizer, and the parameters are
// all-gathered: at once, or in buckets beside the next forward pass. Or each owner broadcasts its part. With shards
// inside nodes (Megatron-LM's instances of the distributed optimizer, InternEvo's zero1 groups) every node has all
// optimizer states, so parameters stay in it and only gradients cross.
#include "sim/bodies/write.hpp"
#include "sim/schedules/gathers.hpp"
#include "sim/schedules/reductions.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

void add_zero1_update(ProgramBuilder& program, const RuleInput& input) {
  const bool beside = input.spec.overlap_param_gather;
  Gathers gathers(input);
  Reductions reductions(input);
  if (beside) gathers.begin(program);
  Hooks hooks;
  if (beside) hooks.first = gathers.hook();
  hooks.last = reductions.hook();
  write(program, input.body, {input.accumulation_steps}, hooks);
  const OpRef reduced = write_finish(program, input.body, reductions.finish(program));
  const OpRef stepped = add_shard_step(program, input, reduced, reductions.copied());
  if (!beside) add_parameters(program, input, stepped);
}

}  // namespace accosim
