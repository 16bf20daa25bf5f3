// ZeRO-1 (arXiv 1910.02054): gradients are reduced to their owners (DeepSpeed: to all), in one piece after the last
// micro-batch or in buckets during its backward, each rank steps its shard of the optimizer, and the parameters are
// all-gathered. Nothing else overlaps.
#include "sim/schedules/schedule.hpp"

namespace accosim {

Program build_zero1(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  for (int update = 0; update < input.updates; ++update) {
    add_micro_batches(program, input, input.accumulation_steps - 1);
    const OpRef reduced = add_synchronized_micro_batch(program, input, {kCommunicationLane, -1});
    const OpRef stepped =
        program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input), {reduced});
    const OpRef gathered = program.collective(kCommunicationLane, "all-gather", parameter_gather(input), {stepped});
    add_parameters_taken(program, input, gathered);
    end_update(program, input);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

/// (A - 1) t + S + O / N + T_ag, S being synchronized_micro_batch_time(): t + T_rs without overlap.
Seconds zero1_closed_form(const ScheduleInput& input) {
  const Seconds t = input.kind.forward + input.kind.backward;
  return (input.accumulation_steps - 1) * t + synchronized_micro_batch_time(input) + shard_optimizer_time(input) +
         request_time(input.costs, parameter_gather(input)) + parameters_taken_time(input);
}

}  // namespace accosim
