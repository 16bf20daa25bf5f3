#include "sim/schedules/groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "models/collectives/window.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {
namespace {

/// What tells the groups of a scope apart, of a rank that is number `in_group` of its node group.
int number_of_group(const Place& place, int in_group, Scope scope) {
  switch (scope) {
    case Scope::kWorld: return 0;
    case Scope::kNode: return place.node;
    case Scope::kReplicas: return place.gpu;
    case Scope::kGroup: return place.group;
    case Scope::kGroupReplicas: return in_group;
  }
  return 0;
}

/// Whether a scope's groups have one rank a node, which uses the adapter next to it.
bool is_of_single_ranks(Scope scope) { return scope == Scope::kReplicas || scope == Scope::kGroupReplicas; }

/// By rank, the number of its group of a scope.
std::vector<int> groups_of(const Costs& costs, Scope scope) {
  std::vector<int> groups;
  std::vector<int> placed(costs.cluster.nodes.size(), 0);  // ranks of each node group so far
  for (const Place& place : costs.places) groups.push_back(number_of_group(place, placed[place.group]++, scope));
  return groups;
}

/// The groups of a scope, ranks ascending.
std::vector<std::vector<int>> members_of(const Costs& costs, Scope scope) {
  std::map<int, std::vector<int>> groups;
  const std::vector<int> of_rank = groups_of(costs, scope);
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) groups[of_rank[rank]].push_back(static_cast<int>(rank));
  std::vector<std::vector<int>> members;
  for (auto& group : groups) members.push_back(std::move(group.second));
  return members;
}

Ring ring_of_members(const Costs& costs, Scope scope, const std::vector<int>& members) {
  if (scope == Scope::kWorld) return costs.world;
  Ring ring = ring_of(costs.places, members);
  if (scope == Scope::kGroup)
    ring.core_share = static_cast<double>(ring.node.size()) / static_cast<double>(costs.world.node.size());
  return ring;
}

/// The adapter that GPU `gpu` of a node is next to.
int adapter_of(const NodeGroup& group, int gpu) { return gpu * group.nics.count / group.gpus; }

/// What one rank reaches by itself: the adapter next to it, or several where there are more than GPUs.
BytesPerSecond rail_bandwidth(const NodeGroup& group) {
  const int adapters = std::max(1, group.nics.count / group.gpus);
  return adapters * group.nics.efficiency * group.nics.bandwidth;
}

class Ways {
 public:
  Ways(EventGraph& graph, const Costs& costs) : graph_(graph), costs_(costs) {
    const Ring& ring = costs.world;
    if (ring.node.size() < 2) return;
    for (std::size_t i = 0; i < ring.node.size(); ++i) {
      const BytesPerSecond bandwidth = node_bandwidth(costs.cluster.nodes[ring.node_group[i]]);
      add_both_ways("node " + std::to_string(ring.node[i]), bandwidth);
      graph_.links[graph_.links.size() - 2].burst = costs.cluster.nodes[ring.node_group[i]].nics.burst;
    }
    if (const BytesPerSecond core = core_bandwidth(costs.cluster); core.value > 0) {
      core_ = static_cast<int>(graph.links.size());
      graph.links.push_back({"core", core});
    }
    if (!costs.cluster.fabric.between_groups) return;
    apart_ = static_cast<int>(graph.links.size());
    for (std::size_t g = 0; g < costs.cluster.nodes.size(); ++g)
      add_both_ways("node group " + std::to_string(g), costs.cluster.fabric.between_groups->bandwidth);
  }

  /// Paths of a ring's edges, edge e from its node e to the next. `gpu` is the one that makes the ring by itself, -1
  /// for a ring over all GPUs.
  std::vector<int> edges(const Ring& ring, int gpu) {
    std::vector<int> paths;
    if (ring.node.size() < 2) return paths;
    const std::vector<Window> windows = edge_windows(costs_.cluster, ring);
    for (std::size_t i = 0; i < ring.node.size(); ++i) {
      const std::size_t next = (i + 1) % ring.node.size();
      Path path{{2 * ring.node[i], 2 * ring.node[next] + 1}, windows[i]};
      if (gpu >= 0) {
        path.links.push_back(rail(ring, i, gpu));
        path.links.push_back(rail(ring, next, gpu) + 1);
      }
      if (core_ >= 0) path.links.push_back(core_);
      if (apart_ >= 0 && ring.node_group[i] != ring.node_group[next]) {
        path.links.push_back(apart_ + 2 * ring.node_group[i]);
        path.links.push_back(apart_ + 2 * ring.node_group[next] + 1);
      }
      paths.push_back(static_cast<int>(graph_.paths.size()));
      graph_.paths.push_back(path);
    }
    return paths;
  }

 private:
  void add_both_ways(const std::string& name, BytesPerSecond bandwidth) {
    graph_.links.push_back({name + " out", bandwidth});
    graph_.links.push_back({name + " in", bandwidth});
  }

  /// The link out of the adapter of the ring's node i that GPU `gpu` uses; the way in is the next.
  int rail(const Ring& ring, std::size_t i, int gpu) {
    const NodeGroup& group = costs_.cluster.nodes[ring.node_group[i]];
    const int adapter = adapter_of(group, gpu);
    const auto [place, is_new] =
        rails_.emplace(std::pair(ring.node[i], adapter), static_cast<int>(graph_.links.size()));
    if (is_new)
      add_both_ways("node " + std::to_string(ring.node[i]) + " adapter " + std::to_string(adapter),
                    rail_bandwidth(group));
    return place->second;
  }

  EventGraph& graph_;
  const Costs& costs_;
  int core_ = -1;
  int apart_ = -1;                            // the link out of the first node group, where groups are apart
  std::map<std::pair<int, int>, int> rails_;  // by node and adapter
};

Plan plan_of(const PlanRequest& request, const Costs& costs, const Ring& ring, const std::vector<int>& edges) {
  const CollectiveCost one = collective_cost(request.kind, request.bytes / request.count, costs.cluster, ring);
  Plan plan;
  plan.latency = request.count * one.latency;
  plan.fixed = request.count * one.intra;
  plan.sent_per_rank = request.count * one.sent_per_rank;
  if (costs.interference) plan.sms = one.channels;
  // A broadcast is a chain: the ring without the edge that closes it.
  const std::size_t used = edges.size() - (request.kind == CollectiveKind::kBroadcast ? 1 : 0);
  if (one.edge_bytes.value > 0)
    for (std::size_t i = 0; i < used; ++i) plan.flows.push_back({edges[i], request.count * one.edge_bytes});
  return plan;
}

/// Of a ring with one rank a node, when all `rings` of them run at once.
Seconds replicas_time(CollectiveKind kind, Bytes bytes, const Costs& costs, const Ring& ring, double rings) {
  const CollectiveCost cost = collective_cost(kind, bytes, costs.cluster, ring);
  if (cost.edge_bytes == Bytes{0}) return cost.latency + cost.intra;
  Seconds slowest = cost.edge_bytes / slowest_window(costs.cluster, ring);
  for (const int node_group : ring.node_group) {
    const NodeGroup& group = costs.cluster.nodes[node_group];
    const double on_one = std::ceil(1.0 * group.gpus / group.nics.count);
    slowest = std::max(slowest, cost.edge_bytes / (rail_bandwidth(group) / std::max(1.0, on_one)));
  }
  const BytesPerSecond core = core_bandwidth(costs.cluster);
  if (core > BytesPerSecond{0}) slowest = std::max(slowest, cost.edge_bytes / (core / (edges_of(kind, ring) * rings)));
  if (edges_apart(costs.cluster, ring) > 0)
    slowest = std::max(slowest, cost.edge_bytes / (costs.cluster.fabric.between_groups->bandwidth / rings));
  return cost.latency + std::max(cost.intra, slowest);
}

/// On one group of the request's scope, whose ring it is.
Seconds time_on(const Costs& costs, const PlanRequest& request, const Ring& ring) {
  const Bytes bytes = request.bytes / request.count;
  if (!is_of_single_ranks(request.scope))
    return request.count * collective_time(request.kind, bytes, costs.cluster, ring);
  const NodeGroup& first = costs.cluster.nodes.front();
  const double rings = first.gpus * (request.scope == Scope::kGroupReplicas ? first.count : 1.0);
  return request.count * replicas_time(request.kind, bytes, costs, ring, rings);
}

/// What a plan does to the memory of its ranks' GPUs, and their computation to it.
void add_interference(Plan& plan, const PlanRequest& request, const Costs& costs, const Ring& ring,
                      const std::vector<int>& members) {
  if (!costs.interference || plan.sent_per_rank <= Bytes{0}) return;
  for (const int rank : members)
    plan.slowed = std::max(plan.slowed, costs.kinds[costs.kind_of[rank]].device.collective_slowdown);
  const Seconds alone = time_on(costs, request, ring);
  if (alone > Seconds{0}) plan.memory_traffic = kMemoryBytesPerByteSent * plan.sent_per_rank / alone;
}

}  // namespace

Ring scope_ring(const Costs& costs, Scope scope, int rank) {
  if (scope == Scope::kWorld) return costs.world;
  const std::vector<int> of_rank = groups_of(costs, scope);
  std::vector<int> members;
  for (std::size_t each = 0; each < of_rank.size(); ++each)
    if (of_rank[each] == of_rank[rank]) members.push_back(static_cast<int>(each));
  return ring_of_members(costs, scope, members);
}

Seconds request_time(const Costs& costs, const PlanRequest& request, int rank) {
  return time_on(costs, request, scope_ring(costs, request.scope, rank));
}

void add_groups(EventGraph& graph, const Costs& costs, const Tables& tables) {
  Ways ways(graph, costs);
  graph.requests = tables.plans;
  for (int rank = 0; rank < costs.ranks(); ++rank)
    graph.ranks.push_back({costs.kind_of[rank], std::vector<int>(tables.slots.size(), 0), 1});
  std::map<std::pair<Scope, int>, std::vector<int>> edges;  // of a scope's group, for all its communicators
  for (std::size_t slot = 0; slot < tables.slots.size(); ++slot) {
    const Scope scope = tables.slots[slot].scope;
    const std::vector<std::vector<int>> groups = members_of(costs, scope);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Ring ring = ring_of_members(costs, scope, groups[g]);
      const auto [paths, is_new] = edges.emplace(std::pair(scope, static_cast<int>(g)), std::vector<int>());
      if (is_new)
        paths->second = ways.edges(ring, is_of_single_ranks(scope) ? costs.places[groups[g].front()].gpu : -1);
      Group group;
      group.members = groups[g];
      for (const PlanRequest& request : tables.plans) {
        group.plans.push_back(request.scope == scope ? plan_of(request, costs, ring, paths->second) : Plan{});
        if (request.scope == scope) add_interference(group.plans.back(), request, costs, ring, group.members);
      }
      for (const int rank : group.members) graph.ranks[rank].groups[slot] = static_cast<int>(graph.groups.size());
      graph.groups.push_back(std::move(group));
    }
  }
}

}  // namespace accosim
