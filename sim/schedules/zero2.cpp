// ZeRO-2 (arXiv 1910.02054) as DeepSpeed has it; PyTorch runs ZeRO-3's program for it. As ZeRO-1, but a rank keeps the
// gradients of its shard only, so they are reduce-scattered after every micro-batch, in buckets during its backward or
// in one piece after it, before the next one begins; each rank then steps its shard and the parameters are
// all-gathered. Synchronized on the last micro-batch alone it sends as little as ZeRO-1 and holds whole gradients until
// then.
#include "sim/bodies/write.hpp"
#include "sim/schedules/reductions.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

void add_zero2_update(ProgramBuilder& program, const RuleInput& input) {
  Reductions reductions(input);
  write_reduced(program, input, reductions);
  const OpRef ready = write_finish(program, input.body, program.last(kComputeLane));
  const OpRef stepped = add_shard_step(program, input, ready);
  add_parameters(program, input, stepped);
}

}  // namespace accosim
