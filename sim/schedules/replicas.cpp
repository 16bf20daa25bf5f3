// Inside a replica of several ranks runs DDP, ZeRO-3 or ACCO, on the groups of the replica's ranks and with its number
// of shards. Where every rank of a replica has all parameters, one all-reduce over all ranks meets all replicas: NCCL's
// ring goes through each of them; or the trainer meets by sites, so that each byte crosses between them once, split
// over the ranks of a site. Where a rank has a shard, it meets the ranks that have the same one, as INTELLECT-1 does
// (arXiv 2412.01152), and all shards cross at once. ACCO's rounds go on through a meeting: the half batch that is in
// flight then is of the parameters before it.
#include "sim/schedules/replicas.hpp"

#include <algorithm>

#include "models/spec/schedule_traits.hpp"

namespace accosim {

namespace {

constexpr int kMostWritten = 1024;  ///< micro-batches

/// What a replica of several ranks does for one update.
Rule rule_inside(const ScheduleSpec& spec) {
  if (is_sharded_inside(spec)) return add_zero3_update;
  return rounds_of(spec) > 1 ? add_acco_update : add_ddp_update;
}

}  // namespace

void add_local_update(ProgramBuilder& program, const RuleInput& input, const Hooks& hooks) {
  // Written one after the other they leave the loop around them without another inside, which is played in one go
  // however often it repeats.
  Often often{input.accumulation_steps};
  often.written = input.accumulation_steps <= kMostWritten;
  write(program, input.body, often, hooks);
  program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, full_optimizer_time(input));
}

void add_local_updates(ProgramBuilder& program, const RuleInput& input, int updates) {
  if (updates < 1) return;
  if (input.spec.offload_outer) host_lanes(program, input);  // a loop on all lanes is on these, too
  const bool gpu = island_of(input.spec) == Island::kGpu;
  if (gpu && input.body.lanes.size() == 1) {
    program.begin_loop(kComputeLane, updates);
    add_local_update(program, input, {});
    program.end_loop(kComputeLane);
    return;
  }
  program.begin_loop_on_all(updates, "inner update like the one before");
  if (gpu)
    add_local_update(program, input, {});
  else
    rule_inside(input.spec)(program, input);
  program.end_loop_on_all();
}

HostLanes host_lanes(ProgramBuilder& program, const ScheduleInput& input) {
  const auto lane = [&](const char* name) {
    return meets_beside(input.spec) ? program.lane_apart(name) : program.lane(name);
  };
  return {lane("outer states, to host"), lane("outer states, on host"), lane("outer states, from host")};
}

int inner_updates_of(const ScheduleInput& input) {
  return input.kind.own_inner_updates.value_or(input.spec.inner_updates);
}

int meeting_lane(ProgramBuilder& program, const ScheduleInput& input) {
  return island_of(input.spec) == Island::kGpu ? kCommunicationLane : program.lane_apart("meetings");
}

double exchanged_elements(const ScheduleInput& input) {
  const double parameters = input.kind.parameters;
  return is_sharded_inside(input.spec) ? shard_of(parameters, input.kind.shards) : parameters;
}

Bytes kept_bytes(const ScheduleInput& input) {
  const Bytes parameter = bytes_of(input.spec.parameter_dtype);
  return is_sharded_inside(input.spec) ? std::max(parameter, bytes_of(input.spec.optimizer_dtype)) : parameter;
}

Bytes own_bytes(const ScheduleInput& input) {
  return std::max(kept_bytes(input), bytes_of(input.spec.optimizer_dtype));
}

namespace {

/// Whether an island holds whole sites: each of a site's ranks then sends its own part of what all of them hold.
bool is_alike_in_a_site(const ScheduleInput& input) {
  return size_of(input.costs.layout, {kIsland}, 0) >= size_of(input.costs.sites, {kIsland}, 0);
}

/// Ranks::communicator of what goes on beside inner updates: on theirs, unlike GPUs would begin both in different
/// orders.
constexpr int kMeetings = 2;

/// All sites are equal.
std::vector<PlanRequest> exchanges_by_site(const ScheduleInput& input, Bytes bytes) {
  const Grid grid = input.costs.layout == input.costs.sites ? Grid::kTraining : Grid::kSites;
  const Ranks inside{kIsland, Pick::kAll, grid, kMeetings}, between{kIslands, Pick::kAll, grid, kMeetings};
  std::vector<PlanRequest> requests;
  if (!is_alike_in_a_site(input)) requests.push_back({CollectiveKind::kReduceScatter, bytes, 1, inside});
  const Bytes part = shard_of(bytes, size_of(input.costs.sites, {kIsland}, 0));
  requests.push_back({CollectiveKind::kAllReduce, part, 1, between});
  requests.push_back({CollectiveKind::kAllGather, bytes, 1, inside});
  return requests;
}

std::string name_of_exchange(const PlanRequest& request, const std::vector<PlanRequest>& all, const std::string& what) {
  const bool between = request.ranks.dims == kIslands;
  const char* const where = all.size() == 1 ? "" : between ? " between sites" : " in a site";
  switch (request.kind) {
    case CollectiveKind::kReduceScatter: return "reduce-scatter of " + what + where;
    case CollectiveKind::kAllGather: return "all-gather of " + what + where;
    case CollectiveKind::kBroadcast: return what;
    default: return "all-reduce of " + what + where;
  }
}

}  // namespace

std::vector<PlanRequest> exchanges(const ScheduleInput& input, double elements) {
  const Bytes bytes = elements * outer_bytes(input.spec);
  if (input.spec.meeting == Meeting::kHierarchical) return exchanges_by_site(input, bytes);
  const bool sums = input.spec.outer_dtype != OuterDtype::kE3m0, whole = !is_sharded_inside(input.spec);
  const Ranks all{whole ? kAllData : kIslands};
  if (sums) return {{CollectiveKind::kAllReduce, bytes, 1, all}};
  // Where the ranks of a replica have the same, each brings its part.
  return {{CollectiveKind::kAllGather, input.costs.layout.size(Dim::kReplica) * bytes, 1, all}};
}

std::vector<PlanRequest> exchanges(const ScheduleInput& input) { return exchanges(input, exchanged_elements(input)); }

OpRef add_exchanges(ProgramBuilder& program, int lane, const std::string& what,
                    const std::vector<PlanRequest>& requests, OpRef ready) {
  for (const PlanRequest& request : requests)
    ready = program.collective(lane, name_of_exchange(request, requests, what), request, {ready});
  return ready;
}

}  // namespace accosim
