// Do replicas of several GPUs take the time of their closed forms, send and keep what their shards say, and do flows
// over a long wire move as fast as their windows let them?
#include "sim/schedules/replicas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "models/collectives/window.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/shipped.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/explain/windows.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/sim/sharded_scenarios.hpp"
#include "tests/support/advised.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/one_program.hpp"
#include "tests/support/results.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kNetworks[] = {NetworkKind::kReference, NetworkKind::kSimgrid};

ScheduleSpec replicas(const std::string& name, Island replica, const std::string& inner, int inner_updates) {
  return sample_schedule(
      {.name = name, .island = replica, .inner_updates = inner_updates, .inner = replica == Island::kGpu ? "" : inner});
}

/// Two or three equal node groups, apart or not.
Scenario random_islands(Random& random) {
  Scenario scenario = random_homogeneous(random);
  NodeGroup& group = scenario.cluster.nodes[0];
  group.count = random.integer(1, 2);
  group.nics.count = random.integer(1, 4);
  scenario.training.gradient_accumulation_steps = random.integer(1, 3);
  const NodeGroup one = group;
  for (int more = random.integer(1, 2); more > 0; --more) scenario.cluster.nodes.push_back(one);
  if (random.integer(0, 2) > 0)
    scenario.cluster.fabric.between_groups =
        BetweenGroups{BytesPerSecond{std::pow(10, random.uniform(7, 10))}, Seconds{random.uniform(0, 0.05)}};
  else if (random.integer(0, 1) == 1)
    scenario.cluster.fabric.oversubscription = 3;
  if (random.integer(0, 1) == 1) scenario.cluster.fabric.latency = Seconds{std::pow(10, random.uniform(-6, -2))};
  return scenario;
}

TEST(Replicas, TakeTheirClosedFormWithEveryScheduleInside) {
  // Where rings of single ranks share adapters or the link between sites, or edges a core, only SimGrid knows of it.
  std::set<std::string> alike;
  int bound = 0;
  for (std::size_t seed = 0; seed < 60; ++seed) {
    if (!thorough(seed)) continue;
    Random random(seed);
    const Scenario scenario = random_islands(random);
    for (const char* name : {"diloco", "local_sgd"})
      for (const Island replica : {Island::kGpu, Island::kNode, Island::kGroup})
        for (const std::string inner : {"ddp", "zero3"}) {
          ScheduleSpec spec = replicas(name, replica, inner, random.integer(1, 3));
          spec.overlap = random.integer(0, 1) == 1 ? Overlap::kBackward : Overlap::kNone;
          spec.buckets = static_cast<Buckets>(random.integer(0, 2));
          spec.sync = random.integer(0, 1) == 1 ? Sync::kEveryMicroBatch : Sync::kLastMicroBatch;
          spec.outer_dtype = static_cast<OuterDtype>(random.integer(0, 3));
          if (seed % 4 != 0 && replica == Island::kGpu) continue;  // schedules_test has many of these
          const double expected = expected_time(scenario, spec);
          const double simgrid = update_time(scenario, spec, NetworkKind::kSimgrid);
          const std::string what = std::string(name) + " " + name_of(replica) + " " + spec.inner;
          EXPECT_NEAR(simgrid / expected, 1, 1e-6) << what << " seed " << seed;
          const NodeGroup& group = scenario.cluster.nodes[0];
          const bool on_one_link = replica == Island::kGroup && scenario.cluster.fabric.between_groups;
          const bool shared = is_sharded_inside(spec) && group.gpus * (on_one_link ? group.count : 1) > 1;
          if (shared || scenario.cluster.fabric.oversubscription > 1) continue;
          EXPECT_NEAR(update_time(scenario, spec, NetworkKind::kReference) / simgrid, 1, 1e-9)
              << what << " seed " << seed;
          alike.insert(what);
        }
    const ScheduleSpec world = sample_schedule("zero1");
    bound += bound_window(build(world, price(scenario, world), 1, 1)) ? 1 : 0;
  }
  if (kSanitized) return;  // a tenth of them
  EXPECT_EQ(alike.size(), 10u) << "two schedules: gpu, and node and group with DDP and with ZeRO-3";
  EXPECT_GT(bound, 5) << "the law is only tested where windows bind";
}

/// Two sites of one node with 4 GPUs on plain links, 1 Gbit/s and 30 ms apart.
Scenario two_sites() {
  Scenario scenario = sample_scenario(1, 4);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  scenario.cluster.fabric.between_groups = BetweenGroups{BytesPerSecond{125e6}, Seconds{30e-3}};
  return scenario;
}

TEST(Replicas, AMeetingOfShardsIsWhatArithmeticSays) {
  // Each of 4 GPUs all-reduces its quarter of P fp32 elements with its counterpart: P bytes each way, 4 P over a link
  // of 125e6 B/s, after two steps of 5 us and 30 ms. The window lets each ring have 2 x 4 MiB / 60 ms = 140 MB/s, more
  // than its quarter of the link. Before, two fp32 shards (P bytes each) are read and one is written, and after it
  // three read and three written, at 1.6e12 B/s.
  const Scenario scenario = two_sites();
  ScheduleSpec spec = replicas("diloco", Island::kGroup, "zero3", 5);
  spec.outer_dtype = OuterDtype::kFp32;
  const double P = parameters_of(scenario);
  const double meeting = 2 * (5e-6 + 30e-3) + 4 * P / 125e6 + (3 + 6) * P / 1.6e12;
  const Costs costs = price(scenario, spec);
  const ScheduleInput input{spec, costs, costs.kinds[0], 4, 1};
  const double expected = zero3_closed_form(input).value + meeting / 5;
  EXPECT_NEAR(update_time(scenario, spec, NetworkKind::kSimgrid) / expected, 1, 1e-9);
  // int8 sends a quarter, and touches a quarter of what it sends.
  spec.outer_dtype = OuterDtype::kInt8;
  const double small = 2 * (5e-6 + 30e-3) + P / 125e6 + (2.25 + 5.25) * P / 1.6e12;
  EXPECT_NEAR(update_time(scenario, spec, NetworkKind::kSimgrid) / (expected + (small - meeting) / 5), 1, 1e-9);
}

TEST(Replicas, WholeParametersMeetInOneRingOverAllRanks) {
  // 8 ranks: each edge carries 2 x 7/8 of 2 P bytes, at the window of one adapter, 2 x 4 MiB / 60 ms, or at 125e6 B/s,
  // which is less; of the 2 steps between nodes both cross, 12 are inside nodes, of 3 us.
  const Scenario scenario = two_sites();
  const ScheduleSpec spec = replicas("diloco", Island::kGroup, "ddp", 5);
  const double P = parameters_of(scenario);
  const Costs costs = price(scenario, spec);
  const ScheduleInput input{spec, costs, costs.kinds[0], 4, 1};
  ASSERT_EQ(exchanges(input).size(), 1u);
  EXPECT_EQ(exchanges(input)[0].ranks, Ranks{kAllData});
  const Seconds ring = collective_time(CollectiveKind::kAllReduce, costs.parameter_bytes(costs.kinds[0]), costs.cluster,
                                       costs.world, Algorithm::kRing);
  EXPECT_NEAR(ring.value, 12 * 3e-6 + 2 * (5e-6 + 30e-3) + 3.5 * P / 125e6, 1e-9);
  // NCCL's tree over two nodes sends each byte once, and is what is taken.
  const double tree = 2 * 3 * 3e-6 + 2 * (5e-6 + 30e-3) + 2 * P / 125e6;
  EXPECT_NEAR(exchange_time(input).value, tree, 1e-9);
  // Read are the fp32 master and theta, written what is sent; then that, theta and the momentum are read, and both, the
  // parameters and the master written.
  const double outer = ((4 + 4 + 2) + (2 + 8) + (8 + 2 + 4)) * P / 1.6e12;
  const double expected = ddp_closed_form(input).value + (tree + outer) / 5;
  for (const NetworkKind network : kNetworks) EXPECT_NEAR(update_time(scenario, spec, network) / expected, 1, 1e-9);
}

TEST(Replicas, OfUnequalSizeWaitForTheSlower) {
  // Three nodes here and one there: the larger island also sends its gradients between nodes, and the other waits.
  Scenario scenario = two_sites();
  scenario.cluster.nodes[0].count = 3;
  const ScheduleSpec spec = replicas("diloco", Island::kGroup, "ddp", 4);
  const double expected = expected_time(scenario, spec);  // of the first group
  for (const NetworkKind network : kNetworks) EXPECT_NEAR(update_time(scenario, spec, network) / expected, 1, 1e-6);
}

TEST(Replicas, SendAndKeepWhatTheirShardsSay) {
  // 2 sites x 4 GPUs, one micro-batch, H = 4. ZeRO-3 in a site: 2 P gathered twice (the head once) and reduced, 3/4 of
  // them; then 2 (1/2) of P/4 fp32 elements every fourth update. Kept: fp32 shard, m, v, outer parameters and momentum.
  Scenario scenario = two_sites();
  scenario.training.gradient_accumulation_steps = 1;
  scenario.model.tie_word_embeddings = false;
  const double P = parameters_of(scenario);
  const double head = 512.0 * 10000 + 2 * 512;
  ScheduleSpec spec = replicas("diloco", Island::kGroup, "zero3", 4);
  spec.outer_dtype = OuterDtype::kFp32;
  const RunResult sharded = run_schedule(scenario, spec, NetworkKind::kReference);
  EXPECT_NEAR(sharded.bytes_sent_per_rank_per_update.value, (6 * P - 2 * head) * 3 / 4 + P / 4, 1e-3);
  EXPECT_EQ(sharded.memory_parts.part(MemoryUse::kParameterShard), Bytes{std::ceil(P / 4) * 4});
  EXPECT_EQ(sharded.memory_parts.part(MemoryUse::kOptimizerStates), Bytes{std::ceil(P / 4) * 8});
  EXPECT_EQ(sharded.memory_parts.part(MemoryUse::kOuterStates), Bytes{std::ceil(P / 4) * 8});
  EXPECT_EQ(sharded.memory_parts.part(MemoryUse::kCommunicationBuffer), Bytes{std::ceil(P / 4) * 4});
  EXPECT_NEAR(sharded.memory_formula.value, 20 * P / 4, 1e-3);
  // DDP in a site: 2 (3/4) 2 P of gradients, and 2 (7/8) 2 P of parameters every fourth update; all is kept whole.
  const RunResult whole = run_schedule(scenario, replicas("diloco", Island::kGroup, "ddp", 4), NetworkKind::kReference);
  EXPECT_NEAR(whole.bytes_sent_per_rank_per_update.value, 3 * P + 3.5 * P / 4, 1e-3);
  EXPECT_EQ(whole.memory_parts.part(MemoryUse::kOuterStates), Bytes{8 * P});
  EXPECT_EQ(whole.memory_parts.part(MemoryUse::kOptimizerStates), Bytes{12 * P});
  EXPECT_EQ(whole.memory_formula, Bytes{20 * P});
}

TEST(Replicas, GroupsAreTheNodeGroupsAndTheRanksOfOnePlace) {
  Scenario scenario = sample_scenario(2, 2);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  const ScheduleSpec spec = replicas("diloco", Island::kGroup, "zero3", 2);
  const EventGraph graph = build(spec, price(scenario, spec), 1, 1);
  // The world, which nobody uses, two node groups of 4, four places.
  ASSERT_EQ(graph.groups.size(), 7u);
  EXPECT_EQ(graph.groups[1].members, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(graph.groups[2].members, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(graph.groups[3].members, (std::vector<int>{0, 4}));
  EXPECT_EQ(graph.groups[6].members, (std::vector<int>{3, 7}));
}

TEST(Replicas, AnEventGraphCrossesByTheGroupsOwnLinks) {
  const Scenario scenario = two_sites();
  const ScheduleSpec zero1 = sample_schedule("zero1");
  const EventGraph graph = build(zero1, price(scenario, zero1), 1, 1);
  std::set<std::string> links;
  for (const Path& path : graph.paths)
    for (const int link : path.links) links.insert(graph.links[link].name);
  for (const char* name : {"node group 0 out", "node group 0 in", "node group 1 out", "node group 1 in"})
    EXPECT_EQ(links.count(name), 1u) << name;
}

/// Two flows of 100 B at once over a link of 10 B/s, each with a window of `under_way` bytes a second, played.
double two_flows(double under_way, NetworkKind network) {
  Tables tables;
  ProgramBuilder program(tables, {"communication"});
  program.collective(0, "sum", {CollectiveKind::kAllReduce, Bytes{100}});
  EventGraph graph = graph_of_one(tables, program);
  graph.links = {{"link", BytesPerSecond{10}}};
  graph.paths = {{{0}, Window{2, Bytes{under_way}, Seconds{2}}}};
  graph.ranks = {{0, {0}, 1}};
  graph.groups = {{{0}, {{Seconds{0}, Seconds{0}, {{0, Bytes{100}}, {0, Bytes{100}}}, Bytes{100}}}}};
  return play(graph, network, {}).end.value;
}

TEST(Windows, EachFlowHasItsOwn) {
  // 2 x 4 B per 2 s are 4 B/s: both flows take 25 s on a link of 10 B/s, where without windows they would have 5 B/s
  // each, and 20 s.
  for (const NetworkKind network : kNetworks) EXPECT_NEAR(two_flows(4, network), 25, 1e-9);
  EXPECT_NEAR(two_flows(40, NetworkKind::kSimgrid), 20, 1e-9);
}

TEST(Windows, ThatBindAreToldWithWhatToDo) {
  // 2 x 4 MiB / 60 ms = 140 MB/s, on an adapter of 11.25e9 B/s.
  Scenario scenario = sample_scenario(2, 4);
  scenario.cluster.fabric.latency = Seconds{30e-3};
  const auto warning = [&](const std::string& code) {
    const RunResult result = advised(scenario, scenario.schedules[0], NetworkKind::kReference);
    const Warning* const found = warning_of(result, code);
    return found == nullptr ? Warning{} : *found;
  };
  EXPECT_EQ(warning("window_bound").message,
            "window-bound: 2 channels x 4 MiB per 60 ms carry 140 MB/s between two nodes, whose links would carry 11.2 "
            "GB/s");
  EXPECT_NE(warning("window_bound").advice.find("NCCL_MIN_NCHANNELS"), std::string::npos);
  const SteadyPlay play = play_steady(scenario, scenario.schedules[0], 4, NetworkKind::kReference);
  EXPECT_EQ(explain(scenario.schedules[0], play).notes.size(), 1u);
  scenario.cluster.nodes[0].nics.kind = "tcp";
  scenario.cluster.nodes[0].nics.socket_window = Bytes{1e6};
  EXPECT_NE(warning("window_bound").advice.find("tcp_rmem"), std::string::npos);
  scenario.cluster.fabric.latency = Seconds{5e-6};
  EXPECT_EQ(warning("window_bound").code, "");
  // Four rings share an adapter, so each has a quarter of it: 2 x 1 MB / 600 us = 3.3 GB/s are more than that.
  const ScheduleSpec hybrid = sample_schedule({.name = "zero3", .island = Island::kNode});
  scenario.cluster.fabric.latency = Seconds{300e-6};
  EXPECT_FALSE(bound_window(build(hybrid, price(scenario, hybrid), 1, 1)).has_value());
  EXPECT_TRUE(bound_window(build(scenario.schedules[0], price(scenario, scenario.schedules[0]), 1, 1)).has_value());
}

TEST(TrainingStatistics, WhatTimeDoesNotShowIsToldOfEverySchedule) {
  const Scenario scenario = two_sites();
  const auto codes = [&](const ScheduleSpec& spec) {
    std::set<std::string> found;
    for (const Warning& warning : advised(scenario, spec, NetworkKind::kReference).warnings)
      if (value_named<Statistics>(warning.code)) found.insert(warning.code);
    return found;
  };
  for (const char* name : {"ddp", "zero1", "zero3", "acco"}) EXPECT_TRUE(codes(sample_schedule(name)).empty()) << name;
  for (const char* name : {"dpu", "wp"})
    EXPECT_EQ(codes(sample_schedule(name)), std::set<std::string>{"stale_gradients"}) << name;
  EXPECT_EQ(codes(sample_schedule("sapipe")), std::set<std::string>{"partly_stale"});
  for (const char* name : {"diloco", "local_sgd"})
    for (const Island replica : {Island::kGpu, Island::kNode, Island::kGroup})
      EXPECT_EQ(codes(replicas(name, replica, "ddp", 3)), std::set<std::string>{"replicas_drift"}) << name;
}

std::string message(const Scenario& scenario, const ScheduleSpec& spec, const std::string& code) {
  const RunResult result = advised(scenario, spec, NetworkKind::kReference);
  const Warning* const warning = warning_of(result, code);
  return warning == nullptr ? "" : warning->message;
}

TEST(TrainingStatistics, NodeGroupsMayMakeTheirOwnNumbersOfUpdates) {
  Scenario scenario = two_sites();
  const ScheduleSpec spec = replicas("diloco", Island::kGroup, "ddp", 20);
  EXPECT_NE(message(scenario, spec, "replicas_drift").find("2 replicas make 20 updates each"), std::string::npos);
  EXPECT_EQ(message(scenario, spec, "batch_grows"), "");
  scenario.cluster.nodes[1].inner_updates = 40;
  EXPECT_NE(message(scenario, spec, "replicas_drift").find("2 replicas make 20 to 40 updates each"), std::string::npos);
  // Of equal sites, (20 + 40) / (20 + 20).
  EXPECT_EQ(message(scenario, spec, "batch_grows"),
            "node groups make up to 40 updates between two meetings where inner_updates is 20, so an update holds 1.50 "
            "times the samples asked for");
}

TEST(TrainingStatistics, OneReplicaHasNobodyToMeet) {
  const ScheduleSpec spec = replicas("diloco", Island::kGpu, "ddp", 20);
  const Scenario alone = sample_scenario(1, 1);
  EXPECT_NE(message(alone, spec, "meets_nobody"), "");
  EXPECT_EQ(message(alone, spec, "replicas_drift"), "");
  EXPECT_EQ(message(alone, sample_schedule("ddp"), "meets_nobody"), "");
  EXPECT_EQ(message(sample_scenario(1, 2), spec, "meets_nobody"), "");
}

TEST(TrainingStatistics, ATrainingThatEndsBeforeReplicasPartIsSynchronous) {
  // 1e9 tokens in updates of 2 ranks x 4 micro-batches x 4 sequences of 512.
  const Scenario scenario = sample_scenario(1, 2);
  const double updates = 1e9 / (2 * 4 * 4 * 512);
  ScheduleSpec spec = replicas("local_sgd", Island::kGpu, "ddp", 8);
  spec.synchronous_updates = static_cast<int>(updates / 2);
  EXPECT_EQ(run_schedule(scenario, spec, NetworkKind::kReference).statistics, Statistics::kReplicasDrift);
  spec.synchronous_updates = static_cast<int>(updates) + 1;
  const RunResult result = run_schedule(scenario, spec, NetworkKind::kReference);
  EXPECT_EQ(result.statistics, Statistics::kSynchronous);
  EXPECT_EQ(result.schedule, "local_sgd");
  EXPECT_EQ(message(scenario, spec, "replicas_drift"), "");
}

// Does a replica cost between two meetings what its nodes cost by themselves, whatever else the cluster holds? And do
// meetings by site send and take what arithmetic says?

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
  return sample_schedule({.name = name,
                          .overlap = Overlap::kBackward,
                          .buckets = Buckets::kTensors,
                          .bucket_cap = Bytes{4 * 0x1p20},
                          .broadcast_buffers = inner == "ddp",
                          .island = replica,
                          .inner_updates = 4,
                          .inner = inner});
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
  for (int seed = 0; seed < cases(30, 15); ++seed)
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
    return std::ranges::any_of(kinds,
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
  const double B = 2 * parameters_of(apart);
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

TEST(MeetingsBySite, TakeWhatArithmeticSays) {
  // Between sites each of 4 GPUs all-reduces a quarter of 2 P bytes with its counterpart, 2 P bytes each way over
  // 125e6 B/s, after two steps of 5 us and 30 ms (the windows of 140 MB/s let a ring have more than its quarter).
  // Inside three steps of 3 us and 3/4 of 2 P bytes at 240e9 B/s, twice where the GPUs of a site differ.
  const Scenario scenario = two_sites();
  const double P = parameters_of(scenario);
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
