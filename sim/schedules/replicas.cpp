// Inside a replica of several ranks runs DDP, ZeRO-3 or ACCO, on the groups of the replica's ranks and with its number
// of shards. Where every rank of a replica has all parameters, one all-reduce over all ranks meets all replicas: NCCL's
// ring goes through each of them; or the trainer meets by sites, so that each byte crosses between them once, split
// over the ranks of a site. Where a rank has a shard, it meets the ranks that have the same one, as INTELLECT-1 does
// (arXiv 2412.01152), and all shards cross at once. ACCO's rounds go on through a meeting: the half batch that is in
// flight then is of the parameters before it.
#include "sim/schedules/replicas.hpp"

#include <algorithm>

#include "models/spec/cluster.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/bodies/write.hpp"

namespace accosim {

namespace {

constexpr int kMostWritten = 1024;  ///< micro-batches

/// What a replica of several ranks does for one update.
Rule rule_inside(const ScheduleSpec& spec) {
  if (is_sharded_inside(spec)) return add_zero3_update;
  return rounds_of(spec) > 1 ? add_acco_update : add_ddp_update;
}

}  // namespace

void add_local_updates(ProgramBuilder& program, const RuleInput& input) {
  if (island_of(input.spec) == Island::kGpu) {
    const bool alone = input.body.lanes.size() == 1;
    if (alone)
      program.begin_loop(kComputeLane, input.spec.inner_updates);
    else
      program.begin_loop_on_all(input.spec.inner_updates);
    // Written one after the other they leave the loop without another inside, which is played in one go however often
    // it repeats.
    Often often{input.accumulation_steps};
    often.written = input.accumulation_steps <= kMostWritten;
    write(program, input.body, often);
    program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, full_optimizer_time(input));
    if (alone)
      program.end_loop(kComputeLane);
    else
      program.end_loop_on_all();
    return;
  }
  program.begin_loop_on_all(input.spec.inner_updates, "inner update like the one before");
  rule_inside(input.spec)(program, input);
  program.end_loop_on_all();
}

double exchanged_elements(const ScheduleInput& input) {
  const double parameters = input.kind.parameters;
  return is_sharded_inside(input.spec) ? shard_of(parameters, input.kind.shards) : parameters;
}

Bytes kept_bytes(const ScheduleInput& input) {
  const Bytes parameter = bytes_of(input.spec.parameter_dtype);
  return is_sharded_inside(input.spec) ? std::max(parameter, bytes_of(input.spec.optimizer_dtype)) : parameter;
}

namespace {

/// Whether an island holds whole sites: each of a site's ranks then sends its own part of what all of them hold.
bool is_alike_in_a_site(const ScheduleInput& input) {
  return size_of(input.costs.layout, {kIsland}, 0) >= size_of(input.costs.sites, {kIsland}, 0);
}

/// All sites are equal. A site that is an island meets on the island's own communicator.
std::vector<PlanRequest> exchanges_by_site(const ScheduleInput& input, Bytes bytes) {
  const Grid grid = input.costs.layout == input.costs.sites ? Grid::kTraining : Grid::kSites;
  const Ranks inside{kIsland, Pick::kAll, grid}, between{kIslands, Pick::kAll, grid};
  std::vector<PlanRequest> requests;
  if (!is_alike_in_a_site(input)) requests.push_back({CollectiveKind::kReduceScatter, bytes, 1, inside});
  const Bytes part = shard_of(bytes, size_of(input.costs.sites, {kIsland}, 0));
  requests.push_back({CollectiveKind::kAllReduce, part, 1, between});
  requests.push_back({CollectiveKind::kAllGather, bytes, 1, inside});
  return requests;
}

std::string name_of_exchange(const PlanRequest& request, bool by_site, const std::string& what) {
  switch (request.kind) {
    case CollectiveKind::kReduceScatter: return "reduce-scatter of " + what + " in a site";
    case CollectiveKind::kAllGather: return "all-gather of " + what + " in a site";
    default: return "all-reduce of " + what + (by_site ? " between sites" : "");
  }
}

}  // namespace

std::vector<PlanRequest> exchanges(const ScheduleInput& input) {
  const Bytes bytes = exchanged_elements(input) * outer_bytes(input.spec);
  if (input.spec.meeting == Meeting::kHierarchical) return exchanges_by_site(input, bytes);
  return {{CollectiveKind::kAllReduce, bytes, 1, {is_sharded_inside(input.spec) ? kIslands : kAllData}}};
}

OpRef add_exchanges(ProgramBuilder& program, const ScheduleInput& input, const std::string& what, OpRef ready) {
  const std::vector<PlanRequest> requests = exchanges(input);
  for (const PlanRequest& request : requests)
    ready =
        program.collective(kCommunicationLane, name_of_exchange(request, requests.size() > 1, what), request, {ready});
  return ready;
}

}  // namespace accosim
