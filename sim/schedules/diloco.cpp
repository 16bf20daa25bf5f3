// DiLoCo (arXiv 2311.08105): every rank makes H updates by itself, then all reduce how far they moved and take an outer
// step with Nesterov's momentum. The whole optimizer is on every rank, the outer momentum and the parameters before
// beside it. An update, as the figures count it, is an inner one.
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Seconds outer_time(const ScheduleInput& input) {
  // theta - theta_rank: two read, one written; momentum read and written, theta read and written, the parameters.
  const Bytes one = input.costs.parameter_bytes();
  return memory_time(2 * one, one, input.kind.device) + memory_time(3 * one, 3 * one, input.kind.device);
}

}  // namespace

Program build_diloco(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  for (int phase = 0; phase < input.updates; ++phase) {
    add_local_updates(program, input);
    const OpRef moved =
        program.collective(kCommunicationLane, "all-reduce of what was moved",
                           {CollectiveKind::kAllReduce, input.costs.parameter_bytes()}, {program.last(kComputeLane)});
    program.compute(kComputeLane, "outer optimizer", OpClass::kOptimizer, outer_time(input), {moved});
    end_update(program, input);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

/// (H (A t + O) + T_ar + O_outer) / H.
Seconds diloco_closed_form(const ScheduleInput& input) {
  const double H = input.spec.inner_updates;
  const Seconds outer =
      request_time(input.costs, {CollectiveKind::kAllReduce, input.costs.parameter_bytes()}) + outer_time(input);
  return local_update_time(input) + 1 / H * outer;
}

}  // namespace accosim
