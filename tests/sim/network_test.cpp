// Do the two networks move bytes as links do? Flows on paths small enough for arithmetic.
#include "sim/network/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "models/price/partition.hpp"
#include "models/price/price.hpp"
#include "models/spec/model.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

constexpr Seconds kForever{std::numeric_limits<double>::infinity()};

std::unique_ptr<Network> make(NetworkKind kind, const EventGraph& graph) {
  return kind == NetworkKind::kSimgrid ? make_simgrid_network(graph) : make_reference_network(graph);
}

EventGraph one_link(double bandwidth) {
  EventGraph graph;
  graph.links = {{"link", BytesPerSecond{bandwidth}}};
  graph.paths = {{{0}}};
  return graph;
}

void cap_changes_a_flow_under_way(NetworkKind kind) {
  // 100 B at 10 B/s from 1000 s; at 1005 s half are left, and from then on 5 B/s: 10 s more.
  const EventGraph graph = one_link(10);
  const auto network = make(kind, graph);
  std::vector<int> ended;
  network->start(0, Bytes{100}, Seconds{1000});
  EXPECT_NEAR(network->advance(Seconds{1005}, ended).value, 1005, 1e-9);
  EXPECT_TRUE(ended.empty());
  network->set_cap(0, BytesPerSecond{5});
  EXPECT_NEAR(network->advance(kForever, ended).value, 1015, 1e-9);
  EXPECT_EQ(ended, std::vector<int>{0});
}
TEST(Network, ACapChangesAFlowUnderWayInTheReference) { cap_changes_a_flow_under_way(NetworkKind::kReference); }

/// A collective of one flow, played on SimGrid.
double played(double bytes, double bandwidth) {
  Tables tables;
  ProgramBuilder program(tables, {"communication"});
  program.collective(0, "sum", {CollectiveKind::kAllReduce, Bytes{bytes}});
  EventGraph graph = one_link(bandwidth);
  graph.programs.push_back(program.take(1));
  graph.labels = tables.labels;
  graph.ranks = {{0, {0}, 1}};
  graph.groups = {{{0}, {{Seconds{0}, Seconds{0}, {{0, Bytes{bytes}}}, Bytes{bytes}}}}};
  return play(graph, NetworkKind::kSimgrid, {}).end.value;
}

TEST(Network, SimgridTakesFlowsAndLinksOfAnySize) {
  // 7/8 of 4 bytes, as a rank sends of a counter: 3.5 s at 1 B/s.
  EXPECT_NEAR(played(3.5, 1), 3.5, 1e-9);
  // 8e16 B at 1e9 B/s: 8e7 s, though 4096 times as many do not fit in 64 bits. And a link of 1 EB/s is not capped.
  EXPECT_NEAR(played(8e16, 1e9) / 8e7, 1, 1e-9);
  EXPECT_NEAR(played(1e18, 1e18), 1, 1e-9);
  EXPECT_NEAR(played(1e3, 1e3), 1, 1e-9);
}

/// Update time of serial zero1 on a cluster, and what its parts say.
void expect_closed_form(const Scenario& scenario, NetworkKind network) {
  const ScheduleSpec& zero1 = scenario.schedules[0];
  const SteadyPlay play = play_steady(scenario, zero1, 4, network);
  const Seconds expected = zero1_closed_form({zero1, play.costs, play.costs->kinds[0], 4, 1});
  EXPECT_NEAR(play.measured.update_time / expected, 1, 1e-9);
}

TEST(Network, AnOversubscribedCoreIsSharedByTheEdgesOfARing) {
  // 4 nodes, twice oversubscribed: the core carries the bandwidth of 2 nodes for 4 edges, half of it each.
  // Reduce-scatter and all-gather of 2 P bytes, 7/8 of them over each edge, at half the adapter's 0.9 * 12.5e9 B/s.
  Scenario scenario = sample_scenario(4, 2);
  scenario.cluster.fabric.oversubscription = 2;
  expect_closed_form(scenario, NetworkKind::kSimgrid);
  const Costs costs = price(scenario, scenario.schedules[0]);
  const double P = static_cast<double>(parameter_count(scenario.model));
  const Seconds one = request_time(costs, {CollectiveKind::kReduceScatter, costs.gradient_bytes(costs.kinds[0])});
  const Seconds latency = collective_cost(CollectiveKind::kReduceScatter, Bytes{1}, costs.cluster, costs.world).latency;
  EXPECT_NEAR((one - latency).value, 2 * P * 7 / 8 / (0.5 * 0.9 * 12.5e9), 1e-12);
}

TEST(Network, AnOversubscribedBroadcastIsAChain) {
  // A chain over 4 nodes has 3 edges, which share the core of 2 nodes' bandwidth: 2/3 of an adapter each. DDP whose
  // owners broadcast their tensors, 2 P bytes in all, one op for all tensors of a size.
  Scenario scenario = sample_scenario(4, 2);
  scenario.cluster.fabric.oversubscription = 2;
  ScheduleSpec spec = sample_schedule("ddp");
  spec.optimizer_sharding = OptimizerSharding::kZeroRedundancy;
  const SteadyPlay play = play_steady(scenario, spec, 4, NetworkKind::kSimgrid);
  double broadcast = 0, ops = 0;
  for (const Span& span : play.spans) {
    if (play.folded.graph.labels[span.label].name.rfind("broadcast of ", 0) != 0) continue;
    broadcast += (span.end - span.begin).value;
    ++ops;
  }
  const std::vector<double> tensors = tensors_of(play.costs->kinds[0].layers);
  const double updates = ops / static_cast<double>(tensor_sizes(tensors).size());
  const double P = static_cast<double>(parameter_count(scenario.model)), messages = static_cast<double>(tensors.size());
  // 7 steps a message: 4 inside nodes of 3 us, 3 between nodes of 5 us.
  EXPECT_NEAR(broadcast / updates, 2 * P / (2.0 / 3 * 0.9 * 12.5e9) + messages * (4 * 3e-6 + 3 * 5e-6), 1e-9);
}

TEST(Network, ASlowAdapterHoldsUpBothOfItsEdges) {
  // The ring's edges go out of one node and into the next; whichever node is slow, its own bandwidth decides.
  for (int slow = 0; slow < 3; ++slow) {
    Scenario scenario = sample_scenario(1, 2);
    scenario.cluster.nodes.assign(3, scenario.cluster.nodes[0]);
    scenario.cluster.nodes[slow].nics.bandwidth = BytesPerSecond{1e9};
    for (const NetworkKind network : {NetworkKind::kReference, NetworkKind::kSimgrid})
      expect_closed_form(scenario, network);
    // An edge into its own node would leave the neighbours out: every link is used once, by different nodes.
    const EventGraph graph = build(scenario.schedules[0], price(scenario, scenario.schedules[0]), 4, 4);
    for (const Path& path : graph.paths) EXPECT_NE(path.links[0] / 2, path.links[1] / 2);
  }
}

// The last one here: SimGrid's clock is one a process, and play() forks.
TEST(Network, ACapChangesAFlowUnderWayInSimgrid) { cap_changes_a_flow_under_way(NetworkKind::kSimgrid); }

}  // namespace
}  // namespace accosim
