// Does a replica cost between two meetings what its nodes cost by themselves, whatever else the cluster holds? And do
// meetings by site send and take what arithmetic says?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/shipped.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kNetworks[] = {NetworkKind::kReference, NetworkKind::kSimgrid};

/// Node groups with NCCL's links and real GPUs, and a small model.
Scenario sites() {
  Scenario scenario = load_scenario(data_dir() + "/scenarios/two_sites_2x16_a100.json", {}).scenario;
  scenario.model = sample_model(3, 512);
  scenario.training.gradient_accumulation_steps = 2;
  return scenario;
}

void resize(NodeGroup& group, int nodes, int gpus) {
  group.count = nodes;
  group.gpus = gpus;
  group.devices.assign(static_cast<std::size_t>(gpus), group.devices.front());
}

/// Two or three groups, apart or not; of one shape and unlike speeds, or of unlike shapes and types as well.
Scenario random_sites(Random& random, bool one_shape) {
  Scenario scenario = sites();
  scenario.training.interference = random.integer(0, 1) == 1;
  scenario.training.gradient_accumulation_steps = random.integer(1, 3);
  if (random.integer(0, 1) == 1) scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  const int nodes = random.integer(1, 3), gpus = 1 << random.integer(0, 3);
  for (NodeGroup& group : scenario.cluster.nodes) {
    resize(group, one_shape ? nodes : random.integer(1, 3), one_shape ? gpus : 1 << random.integer(0, 3));
    group.nics.count = 1 << random.integer(0, 2);
    group.nics.bandwidth = BytesPerSecond{std::pow(10, random.uniform(9, 11))};
    const double slowdown = random.uniform(1, 1.5);
    for (Device& device : group.devices) device.slowdown = slowdown;
    group.micro_batch_size = random.integer(1, 4);
    if (!one_shape && random.integer(0, 1) == 1) group.precision = Dtype::kFp16;
  }
  if (random.integer(0, 1) == 1) scenario.cluster.fabric.between_groups.reset();
  scenario.cluster.fabric.latency = Seconds{std::pow(10, random.uniform(-6, -4))};
  return scenario;
}

ScheduleSpec local(const std::string& name, Island replica, const std::string& inner) {
  ScheduleSpec spec = sample_schedule(name);
  spec.island = replica;
  spec.inner = inner;
  spec.inner_updates = 4;
  spec.overlap = Overlap::kBackward;
  spec.buckets = Buckets::kTensors;
  spec.bucket_cap = Bytes{4 * 0x1p20};
  spec.broadcast_buffers = inner == "ddp";
  return spec;
}

/// What runs inside, by itself on the nodes of the group's first replica.
double alone(const Scenario& scenario, const ScheduleSpec& spec, std::size_t group, NetworkKind network) {
  Scenario one = scenario;
  one.cluster.nodes = {scenario.cluster.nodes[group]};
  if (spec.island == Island::kNode) one.cluster.nodes[0].count = 1;
  one.cluster.fabric.between_groups.reset();
  ScheduleSpec inside = spec;
  inside.name = inside.label = spec.inner;
  inside.island.reset();
  inside.inner.clear();
  inside.inner_updates = 1;
  return play_steady(one, inside, one.training.gradient_accumulation_steps, network).measured.update_time.value;
}

/// Of a rank, from the end of its second inner update to that of its third.
double inner_update(const EventGraph& graph, int rank, NetworkKind network) {
  std::vector<double> ends;
  play(graph, network, [&](const Span& span) {
    if (span.rank == rank && graph.labels[span.label].name == "optimizer") ends.push_back(span.end.value);
  });
  return ends.at(2) - ends.at(1);
}

void expect_each_its_own(const Scenario& scenario, const ScheduleSpec& spec, NetworkKind network,
                         const std::string& what) {
  const EventGraph graph = build(spec, price(scenario, spec), scenario.training.gradient_accumulation_steps, 1);
  int rank = 0;
  for (std::size_t group = 0; group < scenario.cluster.nodes.size(); ++group) {
    EXPECT_NEAR(inner_update(graph, rank, network) / alone(scenario, spec, group, network), 1, 1e-9)
        << what << ", group " << group;
    rank += scenario.cluster.nodes[group].count * scenario.cluster.nodes[group].gpus;
  }
}

TEST(ReplicaCosts, BetweenMeetingsAreThoseOfItsNodesAlone) {
  for (int seed = 0; seed < cases(30); ++seed)
    for (const Island replica : {Island::kNode, Island::kGroup})
      for (const std::string inner : {"ddp", "zero3"}) {
        Random random(seed);
        const Scenario scenario = random_sites(random, inner == "zero3");
        ScheduleSpec spec = local(random.integer(0, 1) == 1 ? "diloco" : "local_sgd", replica, inner);
        if (random.integer(0, 2) == 0) spec.overlap = Overlap::kNone;
        expect_each_its_own(scenario, spec, kNetworks[seed % 2],
                            std::string(name_of(replica)) + " " + inner + ", seed " + std::to_string(seed));
      }
}

TEST(ReplicaCosts, ShareTheCoreThatTheirNodesHaveAlone) {
  // Two groups of 3 nodes under a core of a third of what 6 nodes send: each has the half of it, which is that of 3
  // nodes alone.
  Scenario scenario = sites();
  scenario.cluster.fabric.between_groups.reset();
  scenario.cluster.fabric.oversubscription = 3;
  for (NodeGroup& group : scenario.cluster.nodes) resize(group, 3, 4);
  for (const std::string inner : {"ddp", "zero3"})
    expect_each_its_own(scenario, local("diloco", Island::kGroup, inner), NetworkKind::kSimgrid, inner);
}

TEST(ReplicaCosts, TheClosedFormIsThatOfTheSlowestReplica) {
  int later = 0;
  for (int seed = 0; seed < 20; ++seed) {
    Random random(seed);
    Scenario scenario = random_sites(random, false);
    scenario.training.interference = false;
    const int steps = scenario.training.gradient_accumulation_steps;
    const ScheduleSpec spec = local("diloco", seed % 2 == 0 ? Island::kGroup : Island::kNode, "ddp");
    const Costs costs = price(scenario, spec);
    const double expected = closed_form({spec, costs, costs.kinds[0], steps, 1}).value;
    const SteadyPlay play = play_steady(scenario, spec, steps, NetworkKind::kSimgrid);
    // Replicas that differ also differ in how long their outer step takes, by next to nothing.
    EXPECT_NEAR(play.measured.update_time.value / expected, 1, 1e-3) << seed;
    double slowest = 0;
    for (std::size_t group = 0; group < scenario.cluster.nodes.size(); ++group)
      slowest = std::max(slowest, alone(scenario, spec, group, NetworkKind::kSimgrid));
    later += slowest > alone(scenario, spec, 0, NetworkKind::kSimgrid) * 1.01 ? 1 : 0;
  }
  EXPECT_GT(later, 5) << "the slowest should often be another than the first";
}

TEST(ReplicaCosts, AReplicaOfOneGpuIsNotWrapped) {
  // Beside a node of 4 it has no buckets of gradients, copies into them, or buffers to send.
  Scenario scenario = sites();
  resize(scenario.cluster.nodes[0], 1, 4);
  resize(scenario.cluster.nodes[1], 1, 1);
  const ScheduleSpec spec = local("diloco", Island::kGroup, "ddp");
  const Costs costs = price(scenario, spec);
  ASSERT_EQ(costs.kinds.size(), 2u);
  EXPECT_EQ(costs.kinds[0].shards, 4);
  EXPECT_EQ(costs.kinds[1].shards, 1);
  EXPECT_GT(memory_of(costs.kinds[0], spec, 2).part(MemoryUse::kGradientBuckets), Bytes{0});
  EXPECT_EQ(memory_of(costs.kinds[1], spec, 2).part(MemoryUse::kGradientBuckets), Bytes{0});
}

TEST(ReplicaCosts, AReplicaHasOneTypeAndCastsNothing) {
  // Each group computes in a type of its own; all of DDP's ranks must agree on one, those of a replica do.
  Scenario scenario = sites();
  scenario.cluster.nodes[1].precision = Dtype::kFp16;
  const auto casts = [&](const ScheduleSpec& spec) {
    const std::vector<RankKind> kinds = price(scenario, spec).kinds;
    return std::any_of(kinds.begin(), kinds.end(),
                       [](const RankKind& kind) { return kind.casts_gradients || kind.casts_parameters; });
  };
  EXPECT_TRUE(casts(sample_schedule("ddp")));
  for (const Island replica : {Island::kNode, Island::kGroup})
    EXPECT_FALSE(casts(local("diloco", replica, "ddp"))) << name_of(replica);
}

TEST(ReplicaCosts, AreAsUncertainAsTheLinksInside) {
  // Replicas are nodes that meet once in a million updates, for less than a hundredth of what they send inside: how
  // well adapters are known changes next to nothing, how well links inside are known does.
  Scenario scenario = sites();
  ScheduleSpec spec = local("local_sgd", Island::kNode, "ddp");
  spec.overlap = Overlap::kNone;
  spec.inner_updates = 1'000'000;
  const auto spread = [&](double inside, double between) {
    for (NodeGroup& group : scenario.cluster.nodes) {
      group.intra.quality.spread = inside;
      group.nics.quality.spread = between;
    }
    return run_schedule(scenario, spec, NetworkKind::kReference).spread.communication;
  };
  const double small = spread(0.1, 0.3);
  EXPECT_GT(small, 0);
  EXPECT_NEAR(spread(0.1, 0.9) / small, 1, 1e-2);
  EXPECT_NEAR(spread(0.2, 0.3) / small, 2, 1e-2);
}

// ---- meetings by site ----

/// What a rank sends in a meeting of bytes B, of n ranks at each of G sites: inside (n-1)/n B for each of a
/// reduce-scatter and an all-gather, between sites 2 (G-1)/G of B/n.
double sent_by_site(double B, double n, double G, bool reduces) {
  return (reduces ? 2 : 1) * (n - 1) / n * B + 2 * (G - 1) / G * B / n;
}

ScheduleSpec by_site(Island replica) {
  ScheduleSpec spec = local("diloco", replica, replica == Island::kGpu ? "" : "ddp");
  if (replica == Island::kGpu) spec.buckets = Buckets::kWhole;
  spec.meeting = Meeting::kHierarchical;
  return spec;
}

double sent_in_a_meeting(const Scenario& scenario, const ScheduleSpec& spec) {
  const EventGraph graph = build(spec, price(scenario, spec), 1, 1);
  const Program& program = graph.programs[0];
  double sent = 0;
  for (const Op& op : program.lanes[kCommunicationLane]) {
    const std::string& name = graph.labels[op.label].name;
    if (op.kind != OpKind::kCollective || name.find("changes") == std::string::npos) continue;
    sent += graph.groups[graph.ranks[0].groups[op.slot]].plans[op.plan].sent_per_rank.value;
  }
  return sent;
}

TEST(MeetingsBySite, SendWhatArithmeticSays) {
  // Sites of 2 x 8 GPUs. Those of one replica hold the same, so nothing is reduced inside; nodes of a site differ.
  const Scenario apart = sites();
  const double B = 2.0 * static_cast<double>(parameter_count(apart.model));
  EXPECT_NEAR(sent_in_a_meeting(apart, by_site(Island::kGroup)), sent_by_site(B, 16, 2, false), 1e-3);
  EXPECT_NEAR(sent_in_a_meeting(apart, by_site(Island::kNode)), sent_by_site(B, 16, 2, true), 1e-3);
  EXPECT_NEAR(sent_in_a_meeting(apart, by_site(Island::kGpu)), sent_by_site(B, 16, 2, true), 1e-3);
  // Without sites a node is one: four of 8 GPUs.
  Scenario together = apart;
  together.cluster.fabric.between_groups.reset();
  EXPECT_NEAR(sent_in_a_meeting(together, by_site(Island::kGroup)), sent_by_site(B, 8, 4, false), 1e-3);
  EXPECT_NEAR(sent_in_a_meeting(together, by_site(Island::kNode)), sent_by_site(B, 8, 4, false), 1e-3);
  EXPECT_NEAR(sent_in_a_meeting(together, by_site(Island::kGpu)), sent_by_site(B, 8, 4, true), 1e-3);
}

/// Two sites of one node with 4 GPUs on plain links, 1 Gbit/s and 30 ms apart.
Scenario plain_sites() {
  Scenario scenario = sample_scenario(1, 4);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  scenario.cluster.fabric.between_groups = BetweenGroups{BytesPerSecond{125e6}, Seconds{30e-3}};
  return scenario;
}

TEST(MeetingsBySite, TakeWhatArithmeticSays) {
  // Between sites each of 4 GPUs all-reduces a quarter of 2 P bytes with its counterpart, 2 P bytes each way over
  // 125e6 B/s, after two steps of 5 us and 30 ms (the windows of 140 MB/s let a ring have more than its quarter).
  // Inside three steps of 3 us and 3/4 of 2 P bytes at 240e9 B/s, twice where the GPUs of a site differ.
  const Scenario scenario = plain_sites();
  const double P = static_cast<double>(parameter_count(scenario.model));
  const double between = 2 * (5e-6 + 30e-3) + 2 * P / 125e6, inside = 3 * 3e-6 + 1.5 * P / 240e9;
  for (const Island replica : {Island::kGroup, Island::kGpu}) {
    const ScheduleSpec spec = by_site(replica);
    const Costs costs = price(scenario, spec);
    const double expected = between + (replica == Island::kGpu ? 2 : 1) * inside;
    EXPECT_NEAR(exchange_time({spec, costs, costs.kinds[0], 4, 1}).value, expected, 1e-9) << name_of(replica);
  }
}

TEST(MeetingsBySite, AreTheClosedFormOnTheNetworkAndOfAnyShape) {
  int quicker = 0;
  for (int seed = 0; seed < 30; ++seed) {
    Random random(seed);
    Scenario scenario = random_sites(random, true);
    scenario.training.interference = false;
    NodeGroup one = scenario.cluster.nodes[0];
    if (one.gpus == 1) resize(one, one.count, 2);
    scenario.cluster.nodes.assign(scenario.cluster.nodes.size(), one);
    const int steps = scenario.training.gradient_accumulation_steps;
    ScheduleSpec spec = by_site(static_cast<Island>(seed % 3));
    spec.name = spec.label = seed % 2 == 0 ? "diloco" : "local_sgd";
    const Costs costs = price(scenario, spec);
    const double expected = closed_form({spec, costs, costs.kinds[0], steps, 1}).value;
    const SteadyPlay play = play_steady(scenario, spec, steps, NetworkKind::kSimgrid);
    EXPECT_NEAR(play.measured.update_time.value / expected, 1, 1e-6) << seed << " " << name_of(island_of(spec));
    ScheduleSpec ring = spec;
    ring.meeting = Meeting::kRing;
    if (scenario.cluster.fabric.between_groups)
      quicker += expected < closed_form({ring, costs, costs.kinds[0], steps, 1}).value ? 1 : 0;
  }
  EXPECT_GT(quicker, 5);
}

}  // namespace
}  // namespace accosim
