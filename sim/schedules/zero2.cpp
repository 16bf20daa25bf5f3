// ZeRO-2 (arXiv 1910.02054) as DeepSpeed has it; PyTorch runs ZeRO-3's program for it. As ZeRO-1, but a rank keeps the
// gradients of its shard only, so they are reduce-scattered after every micro-batch, in buckets during its backward or
// in one piece after it; each rank then steps its shard and the parameters are all-gathered. Synchronized on the last
// micro-batch alone it sends as little as ZeRO-1 and holds whole gradients until then.
#include "models/spec/schedule.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

const std::vector<int>& lanes() {
  static const std::vector<int> kBoth{kComputeLane, kCommunicationLane};
  return kBoth;
}

/// One micro-batch whose gradients are reduced before the next one begins, as DeepSpeed's backward() does.
void add_reduced_micro_batch(ProgramBuilder& program, const ScheduleInput& input) {
  const OpRef reduced = add_synchronized_micro_batch(program, input, {kCommunicationLane, -1});
  program.compute(kComputeLane, "wait for gradients", OpClass::kCopy, Seconds{0}, {reduced});
}

}  // namespace

void add_zero2_update(ProgramBuilder& program, const ScheduleInput& input) {
  const bool every = input.spec.sync == Sync::kEveryMicroBatch;
  if (!every) add_micro_batches(program, input, input.accumulation_steps - 1);
  program.begin_loop(lanes(), every ? input.accumulation_steps : 1, {program.last(kComputeLane)});
  add_reduced_micro_batch(program, input);
  program.end_loop(lanes());
  const OpRef stepped = program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input));
  const OpRef gathered = program.collective(kCommunicationLane, "all-gather", parameter_gather(input), {stepped});
  add_parameters_taken(program, input, gathered);
}

}  // namespace accosim
