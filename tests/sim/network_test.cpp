// Do the two networks move bytes as links do? Flows on paths small enough for arithmetic.
#include "sim/network/network.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "models/price/partition.hpp"
#include "models/price/price.hpp"
#include "sim/evaluation/parallel.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

constexpr Seconds kForever{std::numeric_limits<double>::infinity()};

EventGraph one_link(double bandwidth) {
  return EventGraph{.links = {{"link", BytesPerSecond{bandwidth}}}, .paths = {{{0}}}};
}

/// When each of 40 flows ends that start at random moments over paths which share some links.
using Ends = std::array<double, 40>;

Ends ends_on(MakeNetwork make, int seed) {
  Random random(seed);
  EventGraph graph;
  constexpr int kLinks = 8, kPaths = 12;
  for (int l = 0; l < kLinks; ++l) graph.links.push_back({"link", BytesPerSecond{random.uniform(1, 3)}});
  for (int p = 0; p < kPaths; ++p) {
    Path path{{random.integer(0, kLinks - 1)}};
    const int other = random.integer(0, kLinks - 1);
    if (other != path.links[0]) path.links.push_back(other);
    if (random.integer(0, 3) == 0) path.ends = BytesPerSecond{0.7};
    graph.paths.push_back(path);
  }
  const auto network = make(graph);
  Ends ends{};
  Seconds now{0};
  std::vector<int> ended;
  const auto go_on_to = [&](Seconds until) {
    do {
      ended.clear();
      now = network->advance(until, ended);
      for (const int flow : ended) ends[static_cast<std::size_t>(flow)] = now.value;
    } while (now < until && !ended.empty());
  };
  for (std::size_t i = 0; i < ends.size(); ++i) {
    network->start(random.integer(0, kPaths - 1), Bytes{random.uniform(1, 5)}, now);
    if (random.integer(0, 4) > 0) go_on_to(now + Seconds{random.uniform(0, 3)});
  }
  go_on_to(kForever);
  return ends;
}

TEST(Network, FlowsEndAlikeWhetherSimgridHasAllOrThoseThatShare) {
  for (int seed = 0; seed < 10; ++seed) {
    const std::function<Ends(std::size_t)> ends = [seed](std::size_t i) {  // in a process of its own, for SimGrid
      return ends_on(i == 0 ? make_fair_network : make_simgrid_network, seed);
    };
    const std::vector<Ends> both = values_in_children<Ends>(2, 2, ends);
    for (std::size_t flow = 0; flow < both[0].size(); ++flow)
      ASSERT_NEAR(both[0][flow], both[1][flow], 1e-9 * both[1][flow]) << "seed " << seed << " flow " << flow;
  }
}

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
  const ScheduleSpec spec = sample_schedule({.name = "ddp", .optimizer_sharding = OptimizerSharding::kZeroRedundancy});
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
TEST(Network, AFlowThatAnotherJoinsGivesItHalfFromThenOn) {
  // 100 B at 10 B/s from 1000 s. At 1005 s 25 B join the 50 that are left, 5 B/s each: they end at 1010 s, and the 25 B
  // that are then left of the first at 1012.5 s. What is alone on the other link ends at 1000 + 60 / 5 s.
  using Times = std::array<double, 4>;
  EventGraph graph = one_link(10);
  graph.links.push_back({"other", BytesPerSecond{5}});
  graph.paths.push_back({{1}});
  const std::function<Times(std::size_t)> ends = [&graph](std::size_t) {  // in a process of its own, for SimGrid
    const auto network = make_fair_network(graph);
    std::vector<int> ended;
    Times times{};
    network->start(0, Bytes{100}, Seconds{1000});
    network->start(1, Bytes{60}, Seconds{1000});
    times[3] = network->advance(Seconds{1005}, ended).value;
    network->start(0, Bytes{25}, Seconds{1005});
    while (ended.size() < 3) {
      const double now = network->advance(kForever, ended).value;
      times[static_cast<std::size_t>(ended.back())] = now;
    }
    return times;
  };
  const Times times = values_in_children<Times>(1, 1, ends).front();
  EXPECT_EQ(times[3], 1005);
  EXPECT_NEAR(times[0], 1012.5, 1e-9);
  EXPECT_NEAR(times[1], 1012, 1e-9);
  EXPECT_NEAR(times[2], 1010, 1e-9);
}

}  // namespace
}  // namespace accosim
