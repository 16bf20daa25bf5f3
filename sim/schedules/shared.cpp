// What several rules end their updates with.
#include <algorithm>
#include <cmath>
#include <string>

#include "models/price/partition.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/host.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

double optimized_elements(const ScheduleInput& input) {
  return has_whole_tensors(input.spec) ? largest_share(input.kind.layers, input.kind.shards)
                                       : shard_elements(input.kind);
}

Seconds shard_optimizer_time(const ScheduleInput& input) {
  return optimizer_time(input.costs, optimized_elements(input), input.kind.device);
}

Seconds full_optimizer_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, input.kind.parameters, input.kind.device);
}

void end_update(ProgramBuilder& program, const ScheduleInput& input) {
  program.mark(kComputeLane, Mark::kUpdate);
  if (!input.costs.pace.pauses.empty()) program.pause(kComputeLane);
}

OpRef add_shard_step(ProgramBuilder& program, const RuleInput& input, OpRef ready, OpRef copied) {
  if (!input.spec.offload_optimizer)
    return program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input), {ready});
  return program.compute(kComputeLane, "wait for the host", OpClass::kCopy, Seconds{0},
                         {ready, add_host_step(program, input, {ready, copied})});
}

OpRef add_over_copies(ProgramBuilder& program, const RuleInput& input, const std::string& name, PlanRequest request,
                      const std::vector<OpRef>& waits) {
  request.ranks = input.body.sets.front().copies;
  return program.collective(kCommunicationLane, name, request, waits);
}

namespace {

/// A request about all parameters, for each of those that share some of them.
std::vector<PlanRequest> by_owners(const RuleInput& input, PlanRequest request, const Ranks& copies) {
  request.ranks = copies;
  if (!has_own_experts(input.kind)) return {request};
  const double share = input.kind.expert_parameters / input.kind.parameters;
  PlanRequest own = request;
  own.bytes = share * request.bytes;
  own.ranks.dims = with_same_experts(own.ranks.dims);
  request.bytes -= own.bytes;
  return {request, own};
}

}  // namespace

OpRef add_of_all_parameters(ProgramBuilder& program, const RuleInput& input, const std::string& name,
                            const PlanRequest& request, const std::vector<OpRef>& waits) {
  OpRef sent{kCommunicationLane, -1};
  for (const PlanRequest& each : by_owners(input, request, input.body.sets.front().copies))
    sent = program.collective(kCommunicationLane, name, each, waits);
  return sent;
}

PlanRequest parameter_gather(const ScheduleInput& input) {
  const Bytes bytes = input.costs.parameter_bytes(input.kind), cap = input.spec.gather_cap;
  // As many pieces as fit whole (DeepSpeed's runtime/utils.py, all_gather_dp_groups).
  const double pieces = cap > Bytes{0} ? std::max(1.0, std::floor(bytes / cap)) : 1;
  return {CollectiveKind::kAllGather, bytes, static_cast<int>(pieces)};
}

namespace {

/// ZeroRedundancyOptimizer: for one rank after the other, a broadcast for each tensor that it owns, all queued at once.
/// In the order of their sizes here, which changes no sum.
std::vector<PlanRequest> tensor_broadcasts(const ScheduleInput& input) {
  std::vector<PlanRequest> requests;
  for (const auto& [elements, count] : tensor_sizes(tensors_of(input.kind.layers)))
    requests.push_back({CollectiveKind::kBroadcast, count * elements * bytes_of(input.costs.parameter_dtype), count});
  return requests;
}

/// Owners have whole tensors, and each sends what it has in one piece (InternEvo, hybrid_zero_optim.py; FairScale,
/// optim/oss.py); a rank that has none sends nothing.
std::vector<PlanRequest> part_broadcasts(const ScheduleInput& input) {
  std::vector<PlanRequest> requests;
  const std::vector<double> shares = zero_redundancy_shares(tensors_of(input.kind.layers), input.kind.shards);
  for (const auto& [elements, count] : tensor_sizes(shares))
    if (elements > 0)
      requests.push_back({CollectiveKind::kBroadcast, count * elements * bytes_of(input.costs.parameter_dtype), count});
  return requests;
}

/// One after the other; those of equal size are one request.
std::vector<PlanRequest> parameter_messages(const ScheduleInput& input) {
  if (input.spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy) return tensor_broadcasts(input);
  if (input.spec.parameter_sync == ParameterSync::kBroadcast) return part_broadcasts(input);
  return {parameter_gather(input)};
}

std::string name_of_message(const ScheduleSpec& spec, const PlanRequest& request) {
  if (request.kind != CollectiveKind::kBroadcast) return "all-gather";
  const bool tensors = spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy;
  return "broadcast of " + std::to_string(request.count) + (tensors ? " tensors" : " parts");
}

void add_parameters_taken(ProgramBuilder& program, const ScheduleInput& input, OpRef gathered) {
  const Bytes bytes = input.costs.parameter_bytes(input.kind);
  if (input.kind.casts_parameters)
    program.compute(kComputeLane, std::string("cast parameters to ") + name_of(input.kind.workload.compute),
                    OpClass::kCopy, memory_time(bytes, bytes, input.kind.device), {gathered});
  else
    program.compute(kComputeLane, "wait for parameters", OpClass::kCopy, Seconds{0}, {gathered});
}

}  // namespace

void add_parameters(ProgramBuilder& program, const RuleInput& input, OpRef stepped) {
  OpRef sent = stepped;
  for (const PlanRequest& request : parameter_messages(input))
    for (const PlanRequest& each : by_owners(input, request, sharing(input.spec, input.body.sets.front().copies)))
      sent = program.collective(kCommunicationLane, name_of_message(input.spec, each), each, {sent});
  add_parameters_taken(program, input, sent);
}

void add_counts(ProgramBuilder& program, const RuleInput& input, OpRef ready) {
  // One 32-bit counter of micro-batches a rank.
  add_over_copies(program, input, "all-reduce of counts", {CollectiveKind::kAllReduce, Bytes{4}}, {ready});
}

}  // namespace accosim
