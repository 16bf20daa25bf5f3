// Local SGD (Stich, arXiv 1805.09767; Lin et al., arXiv 1808.07217), here with AdamW inside: every rank makes H updates
// by itself, then all take the mean of their parameters, as PyTorch's PeriodicModelAverager does it: scaled into a flat
// buffer, all-reduced, copied back. The mean is of the parameters as they are stored; where the optimizer steps from an
// fp32 copy of narrower ones, that is set from the mean too, or the next step would undo it. Both moments stay as they
// are. An update, as the figures count it, is a local one.
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Seconds fill_time(const ScheduleInput& input) {
  return memory_time(input.costs.parameter_bytes(), input.costs.parameter_bytes(), input.kind.device);
}

Seconds take_time(const ScheduleInput& input) {
  const bool master = bytes_of(input.spec.parameter_dtype) < bytes_of(input.spec.optimizer_dtype);
  const Bytes copy = master ? input.costs.parameters * bytes_of(input.spec.optimizer_dtype) : Bytes{0};
  return memory_time(input.costs.parameter_bytes(), input.costs.parameter_bytes() + copy, input.kind.device);
}

PlanRequest average(const ScheduleInput& input) { return {CollectiveKind::kAllReduce, input.costs.parameter_bytes()}; }

}  // namespace

Program build_local_sgd(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  for (int phase = 0; phase < input.updates; ++phase) {
    add_local_updates(program, input);
    const OpRef filled = program.compute(kComputeLane, "parameters to buffer", OpClass::kCopy, fill_time(input));
    const OpRef averaged = program.collective(kCommunicationLane, "all-reduce of parameters", average(input), {filled});
    program.compute(kComputeLane, "parameters from buffer", OpClass::kCopy, take_time(input), {averaged});
    end_update(program, input);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

/// (H (A t + O) + 2 copies + T_ar) / H.
Seconds local_sgd_closed_form(const ScheduleInput& input) {
  const Seconds meeting = fill_time(input) + request_time(input.costs, average(input)) + take_time(input);
  return local_update_time(input) + 1.0 / input.spec.inner_updates * meeting;
}

}  // namespace accosim
