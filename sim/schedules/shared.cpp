// What several rules end their updates with.
#include <algorithm>
#include <cmath>
#include <string>

#include "models/spec/device.hpp"
#include "models/spec/training.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

Seconds shard_optimizer_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, shard_of(input.kind.parameters, input.kind.shards), input.kind.device);
}

Seconds full_optimizer_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, input.kind.parameters, input.kind.device);
}

void end_update(ProgramBuilder& program, const ScheduleInput& input) {
  program.mark(kComputeLane, Mark::kUpdate);
  if (!input.costs.pace.pauses.empty()) program.pause(kComputeLane);
}

OpRef add_over_copies(ProgramBuilder& program, const RuleInput& input, const std::string& name, PlanRequest request,
                      const std::vector<OpRef>& waits) {
  request.ranks = input.body.sets.front().copies;
  return program.collective(kCommunicationLane, name, request, waits);
}

PlanRequest parameter_gather(const ScheduleInput& input) {
  const Bytes bytes = input.costs.parameter_bytes(input.kind), cap = input.spec.gather_cap;
  // As many pieces as fit whole (DeepSpeed's runtime/utils.py, all_gather_dp_groups).
  const double pieces = cap > Bytes{0} ? std::max(1.0, std::floor(bytes / cap)) : 1;
  return {CollectiveKind::kAllGather, bytes, static_cast<int>(pieces)};
}

void add_parameters_taken(ProgramBuilder& program, const ScheduleInput& input, OpRef gathered) {
  const Bytes bytes = input.costs.parameter_bytes(input.kind);
  if (input.kind.casts_parameters)
    program.compute(kComputeLane, std::string("cast parameters to ") + name_of(input.kind.workload.compute),
                    OpClass::kCopy, memory_time(bytes, bytes, input.kind.device), {gathered});
  else
    program.compute(kComputeLane, "wait for parameters", OpClass::kCopy, Seconds{0}, {gathered});
}

void add_gather(ProgramBuilder& program, const RuleInput& input, OpRef stepped) {
  add_parameters_taken(program, input,
                       add_over_copies(program, input, "all-gather", parameter_gather(input), {stepped}));
}

void add_counts(ProgramBuilder& program, const RuleInput& input, OpRef ready) {
  // One 32-bit counter of micro-batches a rank.
  add_over_copies(program, input, "all-reduce of counts", {CollectiveKind::kAllReduce, Bytes{4}}, {ready});
}

}  // namespace accosim
