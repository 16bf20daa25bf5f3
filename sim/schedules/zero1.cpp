// ZeRO-1 (arXiv 1910.02054): gradients are reduce-scattered, in one piece after the last micro-batch or in buckets
// during its backward, each rank steps its shard of the optimizer, and the parameters are all-gathered. Nothing else
// overlaps.
#include "sim/schedules/schedule.hpp"

namespace accosim {

Program build_zero1(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  const Costs& costs = input.costs;
  for (int update = 0; update < input.updates; ++update) {
    OpRef reduced;
    if (input.spec.overlap == Overlap::kBackward) {
      add_micro_batches(program, input, input.accumulation_steps - 1);
      reduced = add_overlapped_micro_batch(program, input, CollectiveKind::kReduceScatter, {});
    } else {
      add_micro_batches(program, input, input.accumulation_steps);
      add_count(program, input);
      reduced =
          program.collective(kCommunicationLane, "reduce-scatter",
                             {CollectiveKind::kReduceScatter, costs.gradient_bytes()}, {program.last(kComputeLane)});
    }
    const OpRef stepped =
        program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input), {reduced});
    const OpRef gathered = program.collective(kCommunicationLane, "all-gather",
                                              {CollectiveKind::kAllGather, costs.parameter_bytes()}, {stepped});
    program.compute(kComputeLane, "wait for parameters", OpClass::kCopy, Seconds{0}, {gathered});
    program.mark(kComputeLane, Mark::kUpdate);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

/// A t + T_rs + O / N + T_ag; with overlap the last backward and T_rs become overlapped_backward_time().
Seconds zero1_closed_form(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  const Seconds t = input.kind.forward + input.kind.backward;
  const Seconds gradients = input.spec.overlap == Overlap::kBackward
                                ? (input.accumulation_steps - 1) * t + input.kind.forward +
                                      overlapped_backward_time(input, CollectiveKind::kReduceScatter)
                                : input.accumulation_steps * t + count_time(input) +
                                      request_time(costs, {CollectiveKind::kReduceScatter, costs.gradient_bytes()});
  return gradients + shard_optimizer_time(input) +
         request_time(costs, {CollectiveKind::kAllGather, costs.parameter_bytes()});
}

}  // namespace accosim
