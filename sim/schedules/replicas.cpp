// Inside a replica of several ranks runs DDP or ZeRO-3, on the groups of the replica's ranks and with its number of
// shards. Where every rank of a replica has all parameters, one all-reduce over all ranks meets all replicas: NCCL's
// ring goes through each of them. Where a rank has a shard, it meets the ranks that have the same one, as INTELLECT-1
// does (arXiv 2412.01152), and all shards cross at once.
#include "sim/schedules/replicas.hpp"

#include <algorithm>

#include "models/spec/schedule_traits.hpp"

namespace accosim {

namespace {

constexpr int kMostWritten = 1024;  ///< micro-batches

}  // namespace

Scope update_scope(const ScheduleSpec& spec) {
  switch (spec.replica) {
    case Replica::kGpu: return Scope::kWorld;
    case Replica::kNode: return Scope::kNode;
    case Replica::kGroup: return Scope::kGroup;
  }
  return Scope::kWorld;
}

std::vector<std::string> local_lane_names(const ScheduleInput& input) {
  return is_sharded_inside(input.spec) ? zero3_lane_names(input) : lane_names();
}

void add_local_updates(ProgramBuilder& program, const ScheduleInput& input) {
  if (input.spec.replica == Replica::kGpu) {
    program.begin_loop(kComputeLane, input.spec.inner_updates);
    // Written one after the other they leave the loop without another inside, which is played in one go however often
    // it repeats.
    if (input.accumulation_steps <= kMostWritten)
      for (int i = 0; i < input.accumulation_steps; ++i) add_micro_batch(program, input);
    else
      add_micro_batches(program, input, input.accumulation_steps);
    program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, full_optimizer_time(input));
    program.end_loop(kComputeLane);
    return;
  }
  std::vector<int> lanes;
  for (std::size_t lane = 0; lane < local_lane_names(input).size(); ++lane) lanes.push_back(static_cast<int>(lane));
  program.begin_loop(lanes, input.spec.inner_updates, {program.last(kComputeLane)});
  if (is_sharded_inside(input.spec))
    add_zero3_update(program, input);
  else
    add_ddp_update(program, input);
  program.end_loop(lanes);
}

Seconds local_update_time(const ScheduleInput& input) {
  if (input.spec.replica != Replica::kGpu)
    return is_sharded_inside(input.spec) ? zero3_closed_form(input) : ddp_closed_form(input);
  return input.accumulation_steps * (input.kind.forward + input.kind.backward) + full_optimizer_time(input);
}

double exchanged_elements(const ScheduleInput& input) {
  const double parameters = input.costs.parameters;
  return is_sharded_inside(input.spec) ? parameters / shard_ranks(input.costs, input.spec) : parameters;
}

Bytes kept_bytes(const ScheduleInput& input) {
  const Bytes parameter = bytes_of(input.spec.parameter_dtype);
  return is_sharded_inside(input.spec) ? std::max(parameter, bytes_of(input.spec.optimizer_dtype)) : parameter;
}

PlanRequest exchange(const ScheduleInput& input) {
  Scope scope = Scope::kWorld;
  if (is_sharded_inside(input.spec))
    scope = input.spec.replica == Replica::kNode ? Scope::kReplicas : Scope::kGroupReplicas;
  return {CollectiveKind::kAllReduce, exchanged_elements(input) * outer_bytes(input.spec), 1, scope};
}

}  // namespace accosim
