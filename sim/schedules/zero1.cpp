// ZeRO-1 (arXiv 1910.02054): gradients are reduced to their owners (DeepSpeed: to all), in one piece after the last
// micro-batch or in buckets during its backward, each rank steps its shard of the optimizer, and the parameters are
// all-gathered: at once, or in buckets beside the next forward pass. Or each owner broadcasts its part. With shards
// inside nodes (Megatron-LM's instances of the distributed optimizer, InternEvo's zero1 groups) every node has all
// optimizer states, so parameters stay in it and only gradients cross.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "models/spec/schedule_traits.hpp"
#include "sim/bodies/write.hpp"
#include "sim/schedules/buckets.hpp"
#include "sim/schedules/reductions.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// The gathers of the parameters beside the forward pass that follows the step, in the buckets of the gradients, the
/// last one first. A module waits for its bucket and then sends for the next one; or all are sent for at the begin
/// (align_param_gather). On a rank whose 16-bit type is another one a bucket is cast when it is there. As Megatron-LM
/// does it (megatron/core/distributed/param_and_grad_buffer.py, finish_param_sync()).
class Gathers {
 public:
  /// `input` outlives it.
  explicit Gathers(const RuleInput& input);

  /// Sends for the first bucket, after the optimizer has stepped. Before the pass.
  void begin(ProgramBuilder& program);
  /// Outlived by this.
  Before hook();

 private:
  OpRef send_for(ProgramBuilder& program, std::size_t bucket, OpRef after) const;
  OpRef take(ProgramBuilder& program);

  const RuleInput& input_;
  std::vector<Bucket> buckets_;                                         // in the order in which they are gathered
  std::vector<std::vector<int>> place_;                                 // by set and tensor: which bucket
  std::size_t next_ = 0;                                                // to be waited for
  OpRef stepped_{kComputeLane, -1}, gathered_{kCommunicationLane, -1};  // gathered_: bucket next_
};

Gathers::Gathers(const RuleInput& input) : input_(input), buckets_(gradient_buckets(input)) {
  std::ranges::reverse(buckets_);
  for (const ParameterSet& set : input.body.sets) place_.emplace_back(set.tensors.size());
  for (std::size_t k = 0; k < buckets_.size(); ++k)
    for (const auto& [set, tensor] : buckets_[k].which) place_[set][tensor] = static_cast<int>(k);
}

OpRef Gathers::send_for(ProgramBuilder& program, std::size_t bucket, OpRef after) const {
  const Bucket& of = buckets_[bucket];
  const Bytes bytes = of.bytes / bytes_of(input_.costs.gradient_dtype) * bytes_of(input_.costs.parameter_dtype);
  return program.collective(kCommunicationLane, buckets_.size() == 1 ? "all-gather" : "all-gather of a bucket",
                            {CollectiveKind::kAllGather, bytes, 1, sharing(input_.spec, of.copies)}, {after});
}

void Gathers::begin(ProgramBuilder& program) {
  stepped_ = program.last(kComputeLane);
  gathered_ = send_for(program, 0, stepped_);
}

/// The next bucket; a module that waits for it sends for the one behind it when it has it.
OpRef Gathers::take(ProgramBuilder& program) {
  const OpRef here = gathered_;
  const Bytes bytes =
      buckets_[next_].bytes / bytes_of(input_.costs.gradient_dtype) * bytes_of(input_.costs.parameter_dtype);
  if (++next_ < buckets_.size())
    gathered_ = send_for(program, next_, input_.spec.align_param_gather ? stepped_ : program.last(kComputeLane));
  if (const Seconds cast = memory_time(bytes, bytes, input_.kind.device);
      input_.kind.casts_parameters && cast > Seconds{0})
    program.compute(kComputeLane, std::string("cast parameters to ") + name_of(input_.kind.workload.compute),
                    OpClass::kCopy, cast, {here});
  return here;
}

Before Gathers::hook() {
  const auto stands = [this](Pass, int set, int tensor) { return place_[set][tensor] >= static_cast<int>(next_); };
  const auto write = [this](ProgramBuilder& program, Pass, int set, int tensor) {
    OpRef here = gathered_;
    while (place_[set][tensor] >= static_cast<int>(next_)) here = take(program);
    return here;  // whoever waits for a later bucket has waited for those before
  };
  return {stands, write};
}

}  // namespace

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
