// ZeRO-1 (arXiv 1910.02054): gradients are reduced to their owners (DeepSpeed: to all), in one piece after the last
// micro-batch or in buckets during its backward, each rank steps its shard of the optimizer, and the parameters are
// all-gathered: at once, or in buckets beside the next forward pass.
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// All micro-batches of an update; returns the op after which their gradients are reduced.
OpRef add_update_micro_batches(ProgramBuilder& program, const ScheduleInput& input) {
  const int A = input.accumulation_steps;
  if (!input.spec.overlap_param_gather) {
    add_micro_batches(program, input, A - 1);
    return add_synchronized_micro_batch(program, input, {kCommunicationLane, -1});
  }
  add_gathered_forward(program, input);
  if (A == 1) return add_synchronized_backward(program, input);
  add_backward(program, input);
  add_micro_batches(program, input, A - 2);
  return add_synchronized_micro_batch(program, input, {kCommunicationLane, -1});
}

}  // namespace

void add_zero1_update(ProgramBuilder& program, const ScheduleInput& input) {
  const OpRef reduced = add_update_micro_batches(program, input);
  const OpRef stepped =
      program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input), {reduced});
  if (input.spec.overlap_param_gather) return;
  const OpRef gathered = program.collective(kCommunicationLane, "all-gather", parameter_gather(input), {stepped});
  add_parameters_taken(program, input, gathered);
}

}  // namespace accosim
