// From a schedule to the graph of the whole cluster: one program a kind of rank, one group of all ranks, and between
// nodes a ring of paths over the nodes' adapters and, where the fabric is oversubscribed, its core.
#include <stdexcept>

#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Program build_program(const ScheduleInput& input, Tables& tables) {
  const std::string& name = input.spec.name;
  if (name == "ddp") return build_ddp(input, tables);
  if (name == "zero1") return build_zero1(input, tables);
  if (name == "dpu") return build_dpu(input, tables);
  if (name == "acco") return build_acco(input, tables);
  throw std::logic_error("no schedule " + name);
}

/// Paths of the ring's edges, edge e from its node e to the next; fills the graph's links.
std::vector<int> add_ring(EventGraph& graph, const Costs& costs) {
  const Ring& ring = costs.world;
  std::vector<int> edges;
  if (ring.node.size() < 2) return edges;
  const int first_link = static_cast<int>(graph.links.size());
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    const BytesPerSecond bandwidth = node_bandwidth(costs.cluster.nodes[ring.node_group[i]]);
    const std::string node = "node " + std::to_string(ring.node[i]);
    graph.links.push_back({node + " out", bandwidth});
    graph.links.push_back({node + " in", bandwidth});
  }
  const BytesPerSecond core = core_bandwidth(costs.cluster);
  const int core_link = static_cast<int>(graph.links.size());
  if (core.value > 0) graph.links.push_back({"core", core});
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    const std::size_t next = (i + 1) % ring.node.size();
    Path path{{first_link + static_cast<int>(2 * i), first_link + static_cast<int>(2 * next) + 1}};
    if (core.value > 0) path.links.push_back(core_link);
    edges.push_back(static_cast<int>(graph.paths.size()));
    graph.paths.push_back(path);
  }
  return edges;
}

Plan plan_of(const PlanRequest& request, const Costs& costs, const std::vector<int>& edges) {
  const CollectiveCost one = collective_cost(request.kind, request.bytes / request.count, costs.cluster, costs.world);
  Plan plan;
  plan.latency = request.count * one.latency;
  plan.fixed = request.count * one.intra;
  plan.sent_per_rank = request.count * one.sent_per_rank;
  // A broadcast is a chain: the ring without the edge that closes it.
  const std::size_t used = edges.size() - (request.kind == CollectiveKind::kBroadcast ? 1 : 0);
  if (one.edge_bytes.value > 0)
    for (std::size_t i = 0; i < used; ++i) plan.flows.push_back({edges[i], request.count * one.edge_bytes});
  return plan;
}

}  // namespace

EventGraph build(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates) {
  EventGraph graph;
  Tables tables;
  for (const RankKind& kind : costs.kinds)
    graph.programs.push_back(build_program({spec, costs, kind, accumulation_steps, updates}, tables));
  graph.labels = std::move(tables.labels);
  Group world;
  for (int rank = 0; rank < costs.ranks(); ++rank) {
    world.members.push_back(rank);
    graph.ranks.push_back({costs.kind_of[rank], {0}, 1});
  }
  const std::vector<int> edges = add_ring(graph, costs);
  for (const PlanRequest& request : tables.plans) world.plans.push_back(plan_of(request, costs, edges));
  graph.groups.push_back(std::move(world));
  return graph;
}

Seconds closed_form(const ScheduleInput& input) {
  const std::string& name = input.spec.name;
  if (name == "ddp") return ddp_closed_form(input);
  if (name == "zero1") return zero1_closed_form(input);
  if (name == "dpu") return dpu_closed_form(input);
  if (name == "acco") return acco_closed_form(input);
  throw std::logic_error("no schedule " + name);
}

}  // namespace accosim
