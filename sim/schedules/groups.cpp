#include "sim/schedules/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "models/collectives/nccl_node.hpp"
#include "models/collectives/route.hpp"

namespace accosim {
namespace {

const Layout& layout_of(const Costs& costs, Grid grid) { return grid == Grid::kSites ? costs.sites : costs.layout; }

/// Whether the ring has all GPUs of its nodes.
bool is_of_whole_nodes(const Costs& costs, const Ring& ring) {
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    if (ring.here(i) != group_of(costs.cluster, ring, i).gpus) return false;
  return true;
}

Ring ring_of_members(const Costs& costs, const std::vector<int>& members) {
  if (static_cast<int>(members.size()) == costs.ranks()) return costs.world;
  Ring ring = ring_of(costs.places, members);
  if (is_of_whole_nodes(costs, ring))
    ring.core_share = static_cast<double>(ring.node.size()) / static_cast<double>(costs.world.node.size());
  return ring;
}

/// "the 8 ranks of its node".
std::string in_words(const Costs& costs, const Ring& ring) {
  const std::vector<NodeGroup>& all = costs.cluster.nodes;
  const std::set<int> node_groups(ring.node_group.begin(), ring.node_group.end());
  int in_nodes = 0, in_groups = 0;
  for (std::size_t i = 0; i < ring.node.size(); ++i) in_nodes += group_of(costs.cluster, ring, i).gpus;
  for (const int group : node_groups)
    in_groups += all[static_cast<std::size_t>(group)].count * all[static_cast<std::size_t>(group)].gpus;
  const auto size = static_cast<std::size_t>(ring.ranks);
  const bool several =
      std::ranges::any_of(all, [](const NodeGroup& group) { return group.count > 1; });  // nodes in a group
  if (ring.ranks == costs.ranks()) return fmt::format("all {} ranks", size);
  if (size == 1) return "the rank alone";
  if (ring.node.size() == 1 && ring.ranks == in_nodes) return fmt::format("the {} ranks of its node", size);
  if (node_groups.size() == 1 && ring.ranks == in_groups) return fmt::format("the {} ranks of its node group", size);
  if (several && node_groups.size() == size) return fmt::format("{} ranks, one a node group", size);
  if (ring.node.size() == size) return fmt::format("{} ranks, one a node", size);
  return fmt::format("{} ranks", size);
}

/// The graph's links and paths.
class Paths {
 public:
  Paths(EventGraph& graph, const Costs& costs) : graph_(graph), cluster_(costs.cluster) {
    for (const Hop& hop : common_links(cluster_)) link(hop);
  }

  /// Of each of the ring's edges, from a node to the next: a path for each pair of ports. `priced`: the ring of all
  /// ranks that it stands for.
  std::vector<std::vector<int>> edges(const Ring& ring, const Costs& all, const Ring& priced) {
    std::vector<std::vector<int>> edges;
    if (ring.node.size() < 2) return edges;
    const std::vector<Window> windows = edge_windows(all.cluster, priced);
    const BytesPerSecond ends = ends_bandwidth(all.cluster, priced);
    for (std::size_t i = 0; i < ring.node.size(); ++i) {
      edges.emplace_back();
      const std::vector<PortPair> pairs = ports_of(cluster_, ring, i);
      for (const PortPair& ports : pairs) {
        edges.back().push_back(static_cast<int>(graph_.paths.size()));
        Path path{{}, windows[i], ends / static_cast<double>(pairs.size())};
        for (const Hop& hop : route(cluster_, ports.from, ports.to)) path.links.push_back(link(hop));
        graph_.paths.push_back(std::move(path));
      }
    }
    return edges;
  }

 private:
  int link(const Hop& hop) {
    if (const auto known = links_.find(hop.link); known != links_.end()) return known->second;
    if (hop.link.kind == LinkName::kAdapter) {  // both ways together, so that pictures list them so
      LinkName out = hop.link, in = hop.link;
      out.in = false, in.in = true;
      add_link(out, hop);
      add_link(in, hop);
      return links_.at(hop.link);
    }
    return add_link(hop.link, hop);
  }

  int add_link(const LinkName& name, const Hop& hop) {
    const int number = static_cast<int>(graph_.links.size());
    graph_.links.push_back({in_words(name), hop.bandwidth, hop.burst});
    return links_[name] = number;
  }

  EventGraph& graph_;
  const Cluster& cluster_;
  struct Hash {
    std::size_t operator()(const LinkName& name) const {
      const auto number = static_cast<std::uint64_t>(static_cast<std::uint32_t>(name.number));
      return std::hash<std::uint64_t>()((number << 32 | static_cast<std::uint32_t>(name.adapter)) * 8 +
                                        static_cast<std::uint64_t>(name.kind) * 2 + (name.in ? 1 : 0));
    }
  };
  std::unordered_map<LinkName, int, Hash> links_;
};

/// Which of a ring's edges carry bytes: all, of a broadcast, which is a chain, all but the one that closes the ring,
/// and of a message between a pair the one that leads from its sender.
bool is_used(std::size_t edge, std::size_t edges, const PlanRequest& request, bool first_sends_on_first_edge) {
  if (request.kind == CollectiveKind::kBroadcast) return edge + 1 < edges;
  if (request.ranks.pick != Pick::kNext) return true;
  return (edge == 0) == (first_sends_on_first_edge != request.back);
}

/// What a plan is on any group of a kind, and what each edge of its ring then carries.
struct KindOfPlan {
  Plan plan{};
  Bytes on_edge{0};
};

KindOfPlan plan_of(const PlanRequest& request, const Costs& costs, const Ring& ring) {
  const CollectiveCost one = collective_cost(request.kind, request.bytes / request.count, costs.cluster, ring);
  KindOfPlan of{.plan = {.latency = request.count * one.latency,
                         .fixed = request.count * one.intra,
                         .sent_per_rank = request.count * one.sent_per_rank}};
  if (costs.interference) of.plan.sms = one.channels;
  of.on_edge = request.count * one.edge_bytes;
  return of;
}

/// Of a request on one group, whose ring it is, while all groups like it do the same.
Seconds time_on(const Costs& costs, const PlanRequest& request, const Ring& ring) {
  const Cluster& cluster = costs.cluster;
  const Bytes bytes = request.bytes / request.count;
  const CollectiveCost cost = collective_cost(request.kind, bytes, cluster, ring);
  if (cost.edge_bytes == Bytes{0}) return request.count * (cost.latency + cost.intra);
  const double rings = 1.0 * costs.ranks() / ring.ranks;
  const BytesPerSecond edge = std::min({slowest_window(cluster, ring), ends_bandwidth(cluster, ring),
                                        wire_bandwidth(request.kind, cluster, ring, rings)});
  return request.count * (cost.latency + std::max(cost.intra, cost.edge_bytes / edge));
}

/// What a plan does to the memory of its ranks' GPUs, and their computation to it.
void add_interference(Plan& plan, const PlanRequest& request, const Costs& costs, const Ring& ring,
                      const std::set<int>& kinds) {
  if (!costs.interference || plan.sent_per_rank <= Bytes{0}) return;
  for (const int kind : kinds) plan.slowed = std::max(plan.slowed, costs.kinds[kind].device.collective_slowdown);
  const Seconds alone = time_on(costs, request, ring);
  if (alone > Seconds{0}) plan.memory_traffic = kMemoryBytesPerByteSent * plan.sent_per_rank / alone;
}

/// By program, the plans that it asks for.
std::vector<std::vector<bool>> asked_plans(const EventGraph& graph) {
  std::vector<std::vector<bool>> asked;
  for (const Program& program : graph.programs) {
    asked.emplace_back(graph.requests.size(), false);
    for (const std::vector<Op>& lane : program.lanes)
      for (const Op& op : lane)
        if (op.kind == OpKind::kCollective || op.kind == OpKind::kTransfer) asked.back()[op.plan] = true;
  }
  return asked;
}

/// The plans of one group: of the requests that are its and that a program of its members asks for.
class Plans {
 public:
  /// `grid`: whose ranks are built; `costs`: what collectives cost.
  Plans(const EventGraph& graph, const Costs& grid, const Costs& costs)
      : graph_(graph), grid_(grid), costs_(costs), asked_(asked_plans(graph)) {}

  std::vector<Plan> of(const Ranks& ranks, const std::vector<int>& members, const Ring& ring, const Ring& priced,
                       const std::vector<std::vector<int>>& edges) {
    std::set<int> kinds;
    for (const int rank : members) kinds.insert(grid_.kind_of[rank]);
    auto known = known_.find(std::tie(ranks, ring.core_share, kinds, ring.node_group, ring.gpus));
    if (known == known_.end())
      known =
          known_.try_emplace({ranks, ring.core_share, kinds, ring.node_group, ring.gpus}, of_kind(ranks, kinds, priced))
              .first;
    const bool upwards = grid_.places[members.front()].node == (ring.node.empty() ? 0 : ring.node.front());
    std::vector<Plan> plans;
    plans.reserve(graph_.requests.size());
    for (std::size_t p = 0; p < graph_.requests.size(); ++p) {
      const auto& [plan, on_edge] = known->second[p];
      plans.push_back(plan);
      if (on_edge > Bytes{0}) add_flows(plans.back(), graph_.requests[p], on_edge, edges, upwards);
    }
    return plans;
  }

 private:
  std::vector<KindOfPlan> of_kind(const Ranks& ranks, const std::set<int>& kinds, const Ring& ring) const {
    std::vector<KindOfPlan> plans(graph_.requests.size());
    for (std::size_t p = 0; p < plans.size(); ++p) {
      const PlanRequest& request = graph_.requests[p];
      const auto asks = [&](int kind) { return asked_[static_cast<std::size_t>(kind)][p]; };
      if (request.ranks != ranks || std::ranges::none_of(kinds, asks)) continue;
      plans[p] = plan_of(request, costs_, ring);
      add_interference(plans[p].plan, request, costs_, ring, kinds);
    }
    return plans;
  }

  /// `upwards`: of a pair, its first member is on the ring's first node.
  void add_flows(Plan& plan, const PlanRequest& request, Bytes on_edge, const std::vector<std::vector<int>>& edges,
                 bool upwards) const {
    for (std::size_t i = 0; i < edges.size(); ++i)
      for (const int path : edges[i])
        if (is_used(i, edges.size(), request, upwards))
          plan.flows.push_back({path, on_edge / static_cast<double>(edges[i].size())});
    const Seconds longest = longest_of(plan);
    if (longest > kTie) return;
    plan.fixed = std::max(plan.fixed, longest);
    plan.flows.clear();
  }

  /// What a plan's flows take by themselves. Those that are over within the player's tie are no flows: a few bytes,
  /// such as a norm, hold up nobody on the links, and a ring of all ranks would tell apart nodes that do the same.
  Seconds longest_of(const Plan& plan) const {
    std::map<int, Bytes> on_link;
    Seconds longest;
    for (const Plan::Flow& flow : plan.flows) {
      const Path& path = graph_.paths[flow.path];
      longest = std::max(longest, flow.bytes / path.cap());
      for (const int link : path.links) {
        const Bytes bytes = on_link[link] += flow.bytes;
        longest = std::max(longest, bytes / graph_.links[link].bandwidth);
        if (longest > kTie || graph_.links[link].burst > Bytes{0}) return Seconds{1};
      }
    }
    return longest;
  }

  const EventGraph& graph_;
  const Costs &grid_, &costs_;
  std::vector<std::vector<bool>> asked_;
  /// Other nodes of the same kinds have the same.
  std::map<std::tuple<Ranks, double, std::set<int>, std::vector<int>, std::vector<std::vector<int>>>,
           std::vector<KindOfPlan>, std::less<>>
      known_;
};

/// Pairs are one group, from whichever of the two they are seen.
Ranks as_listed(Ranks ranks) {
  if (ranks.pick == Pick::kPrevious) ranks.pick = Pick::kNext;
  return ranks;
}

/// Paths do not depend on the communicator.
Ranks on_any_communicator(Ranks ranks) {
  ranks.communicator = 0;
  return ranks;
}

}  // namespace

Ring ring_of(const Costs& costs, const Ranks& ranks, int rank) {
  return ring_of_members(costs, members_of(layout_of(costs, ranks.grid), ranks, rank));
}

Seconds request_time(const Costs& costs, const PlanRequest& request, int rank) {
  return time_on(costs, request, ring_of(costs, request.ranks, rank));
}

void add_groups(EventGraph& graph, const Costs& costs, const Tables& tables, const FewReplicas* few) {
  const Costs& grid = few == nullptr ? costs : few->costs;
  Paths paths(graph, grid);
  graph.requests = tables.plans;
  constexpr int kNone = -1;
  for (int rank = 0; rank < grid.ranks(); ++rank)
    graph.ranks.push_back({grid.kind_of[rank], std::vector<int>(tables.slots.size(), kNone), 1});
  if (model_ranks_of(grid.layout) > 1) {
    const std::vector<int> replicas = groups_of(grid.layout, {kOneModel}).of_rank;
    for (std::size_t rank = 0; rank < replicas.size(); ++rank) graph.ranks[rank].replica = replicas[rank];
  }
  Plans plans(graph, grid, costs);
  std::map<Ranks, std::vector<std::vector<std::vector<int>>>> edges;  // by group
  std::map<Ranks, int> first_group;
  for (std::size_t slot = 0; slot < tables.slots.size(); ++slot) {
    const Ranks listed = as_listed(tables.slots[slot]);
    const Groups groups = groups_of(layout_of(grid, listed.grid), tables.slots[slot]);
    const auto [first, is_new] = first_group.emplace(listed, static_cast<int>(graph.groups.size()));
    for (std::size_t rank = 0; rank < groups.of_rank.size(); ++rank)
      if (groups.of_rank[rank] >= 0) graph.ranks[rank].groups[slot] = first->second + groups.of_rank[rank];
    if (!is_new) continue;
    auto& known = edges[on_any_communicator(listed)];
    for (std::size_t g = 0; g < groups.members.size(); ++g) {
      const std::vector<int>& members = groups.members[g];
      const Ring ring = ring_of_members(grid, members);
      const Ring priced = few == nullptr ? ring : ring_of(costs, listed, few->all[members.front()]);
      if (known.size() == g) known.push_back(paths.edges(ring, costs, priced));
      graph.groups.push_back({members, plans.of(listed, members, ring, priced, known[g]), in_words(costs, priced)});
    }
  }
}

}  // namespace accosim
