// Do schedules whose replicas make updates by themselves send, hold and wait for what their papers say?
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/price/layer_time.hpp"
#include "models/price/memory.hpp"
#include "models/price/price.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/sim/sharded_scenarios.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kReference = NetworkKind::kReference, kSimgrid = NetworkKind::kSimgrid;
const std::vector<std::string> kBeside{"overlap_local_sgd", "co2", "eager_diloco", "streaming_diloco"};

ScheduleSpec local(const std::string& name, int inner_updates) {
  ScheduleSpec spec = sample_schedule({.name = name, .inner_updates = inner_updates});
  if (spec.name == "slowmo") spec.outer_every = inner_updates;
  return spec;
}

TEST(Schedules, LocalSgdSendsItsParametersOnceInSoManyUpdates) {
  // In an all-reduce of 2-byte elements among 8 ranks.
  const Scenario scenario = sample_scenario(2, 4);
  EXPECT_NEAR(sent(scenario, local("local_sgd", 5)), 3.5 * parameters_of(scenario) / 5, 1e-3);
}

TEST(LocalSchedules, SendAllThatTheyHaveOnceARound) {
  // 8 ranks: an all-reduce of 2-byte elements is 2 (7/8) 2 P bytes a rank, of fp32 twice that, once in 5 updates; of
  // fragments together as much. Where each rank's four bits are gathered, 7 others' ranks' P / 2 bytes pass.
  const Scenario scenario = sample_scenario(2, 4);
  const double P = parameters_of(scenario);
  for (const ScheduleTraits& row : schedules()) {
    if (!row.local) continue;
    ScheduleSpec spec = local(row.name, 5);
    const auto sent = [&] { return run_schedule(scenario, spec, kReference).bytes_sent_per_rank_per_update.value; };
    EXPECT_NEAR(sent(), 3.5 * P / 5, 1e-3) << row.name;
    spec.outer_dtype = OuterDtype::kFp32;
    EXPECT_NEAR(sent(), 7 * P / 5, 1e-3) << row.name;
    spec.outer_dtype = OuterDtype::kE3m0;
    if (row.sends != Sends::kChanges) continue;
    EXPECT_NEAR(sent(), 7 * P / 2 / 5, 1e-3) << row.name;
  }
}

TEST(LocalSchedules, OnAnyClusterARoundHasItsUpdatesAndItsBytes) {
  // N ranks, H updates of A micro-batches: 2 (N-1)/N 2 P bytes a rank are sent in a round, whatever travels when.
  for (int seed = 0; seed < cases(30); ++seed) {
    Random random(seed);
    const Scenario scenario = random_homogeneous(random);
    const double N = scenario.cluster.nodes[0].count * scenario.cluster.nodes[0].gpus;
    const double round = 2 * (N - 1) / N * 2 * parameters_of(scenario);
    for (const ScheduleTraits& row : schedules()) {
      if (!row.local) continue;
      ScheduleSpec spec = local(row.name, random.integer(1, 6));
      spec.fragment_layers = random.integer(1, 3);
      spec.delay = random.integer(0, spec.inner_updates - 1);
      const RunResult result = run_schedule(scenario, spec, kReference);
      EXPECT_NEAR(result.bytes_sent_per_rank_per_update.value * spec.inner_updates / round, 1, 1e-9)
          << row.name << " seed " << seed;
      EXPECT_NEAR(result.samples_per_update /
                      (N * scenario.training.gradient_accumulation_steps * scenario.training.micro_batch_size),
                  1, 1e-9)
          << row.name << " seed " << seed;
    }
  }
}

TEST(LocalSchedules, HoldTheirOuterStatesAndWhatIsOnItsWay) {
  // Bytes a parameter, parameters of 2: two fp32 tensors of the outer optimizer, and buffers of 2 bytes: one; two in
  // CO2, so that all four copies are there that its reviewers count; in eager DiLoCo what was sent now and before, and
  // the mean. Papers count a copy as 2 bytes, beside DDP's 16.
  struct Expected {
    const char* name;
    double states, buffers, papers;
  };
  const Scenario scenario = sample_scenario(2, 4);
  const double P = parameters_of(scenario);
  for (const Expected& each : {Expected{"local_sgd", 0, 2, 16},
                               {"diloco", 8, 2, 20},
                               {"slowmo", 8, 2, 20},
                               {"overlap_local_sgd", 8, 2, 20},
                               {"co2", 8, 4, 24},
                               {"eager_diloco", 8, 6, 24}}) {
    const RunResult result = run_schedule(scenario, local(each.name, 5), kReference);
    EXPECT_EQ(result.memory_parts.part(MemoryUse::kOuterStates), Bytes{each.states * P}) << each.name;
    EXPECT_EQ(result.memory_parts.part(MemoryUse::kCommunicationBuffer), Bytes{each.buffers * P}) << each.name;
    EXPECT_EQ(result.memory_formula, Bytes{each.papers * P}) << each.name;
    EXPECT_EQ(result.memory_parts.part(MemoryUse::kOptimizerStates), Bytes{12 * P}) << each.name << " shards none";
  }
  // The released codes of SlowMo and CO2 shard the outer states over at most 32 ranks: here over 8.
  for (const char* name : {"slowmo", "co2"}) {
    ScheduleSpec spec = local(name, 1);
    spec.outer_every = 2;
    spec.form = MethodForm::kCode;
    spec.island = Island::kNode;
    spec.inner = "ddp";
    EXPECT_NEAR(run_schedule(scenario, spec, kReference).memory_parts.part(MemoryUse::kOuterStates).value, P, 1e-3);
  }
}

TEST(LocalSchedules, OuterStatesOnTheHostLeaveTheGpuToDdp) {
  const Scenario scenario = sample_scenario(2, 4);
  for (const char* name : {"diloco", "slowmo", "co2", "eager_diloco", "streaming_diloco"}) {
    ScheduleSpec spec = local(name, 5);
    spec.offload_outer = true;
    const RunResult result = run_schedule(scenario, spec, kReference);
    EXPECT_EQ(result.memory_formula, Bytes{16 * parameters_of(scenario)}) << name;
    EXPECT_EQ(result.memory_parts.part(MemoryUse::kOuterStates), Bytes{0}) << name;
    EXPECT_EQ(result.memory_parts.part(MemoryUse::kCommunicationBuffer), Bytes{0}) << name;
  }
}

TEST(LocalSchedules, OfAFragmentOnlyWhatIsOnItsWayIsBuffered) {
  // Four blocks of B parameters and tied embeddings of E, in two fragments of 2 B, the first with the embeddings. One
  // is on its way at a time where H = 10; with a delay of 5 both may be.
  const Scenario scenario = sample_scenario(2, 4);
  ScheduleSpec spec = local("streaming_diloco", 10);
  spec.fragment_layers = 2;
  const auto buffered = [&] {
    return run_schedule(scenario, spec, kReference).memory_parts.part(MemoryUse::kCommunicationBuffer).value;
  };
  const std::vector<LayerTime> layers = price(scenario, spec).kinds[0].times;
  ASSERT_EQ(layers.size(), 6u);
  const double first = layers[0].parameters + layers[1].parameters + layers[3].parameters;
  EXPECT_NEAR(buffered(), 2 * first, 1e-3);
  spec.delay = 5;
  EXPECT_NEAR(buffered(), 2 * parameters_of(scenario), 1e-3);
}

TEST(LocalSchedules, WhatTravelsBesideUpdatesOnlyCostsItsPasses) {
  // On a network that carries everything within a round, the time is the same on one twice as fast.
  for (const std::string& name : kBeside) {
    Scenario scenario = sample_scenario(2, 4, 100);
    ScheduleSpec spec = local(name, 40);
    const double slow = update_time(scenario, spec, kReference);
    scenario.cluster.nodes[0].nics.bandwidth = BytesPerSecond{25e9};
    EXPECT_NEAR(update_time(scenario, spec, kReference) / slow, 1, 1e-9) << name;
    EXPECT_LT(update_time(scenario, spec, kReference), update_time(scenario, local("diloco", 40), kReference)) << name;
  }
}

TEST(LocalSchedules, AnAnchorIsReadAsTheOuterStateThatItIs) {
  // Overlap-Local-SGD's anchor is fp32, 4 bytes an element, beside parameters of 2; CO2 sends the parameters
  // themselves.
  const Scenario scenario = sample_scenario(2, 4);
  const double P = parameters_of(scenario);
  for (const auto& [name, op, read] :
       {std::tuple("overlap_local_sgd", "anchors to buffer", 4.0), std::tuple("co2", "parameters to buffer", 2.0)}) {
    const SteadyPlay play = play_steady(scenario, local(name, 2), 4, kReference);
    const Seconds expected = memory_time(Bytes{read * P}, Bytes{2 * P}, play.costs->kinds[0].device);
    int seen = 0;
    for (const Span& span : play.spans) {
      if (play.folded.graph.labels[span.label].name != op) continue;
      ++seen;
      EXPECT_NEAR((span.end - span.begin) / expected, 1, 1e-9) << name;
    }
    EXPECT_GT(seen, 0) << name;
  }
}

TEST(LocalSchedules, SlowNetworksBoundARoundByWhatItSends) {
  // An all-reduce of all parameters takes longer than ten updates: no round is shorter than that.
  const Scenario scenario = sample_scenario(2, 4, 0.05);
  for (const std::string& name : kBeside) {
    const ScheduleSpec spec = local(name, 10);
    const Costs costs = price(scenario, spec);
    const Seconds sent = exchange_time({spec, costs, costs.kinds[0], 4, 1});
    const double round = 10 * update_time(scenario, spec, kReference);
    EXPECT_GE(round / sent.value, 1 - 1e-9) << name;
    EXPECT_LE(round / sent.value, 1.1) << name;
  }
}

TEST(LocalSchedules, InReplicasOfSeveralGpusTheyTakeTheirClosedForms) {
  std::set<std::string> seen;
  for (int seed = 0; seed < 24; ++seed) {
    Random random(seed);
    Scenario scenario = random_homogeneous(random);
    scenario.cluster.nodes[0].count = random.integer(2, 4);
    for (const std::string name :
         {"diloco", "slowmo", "overlap_local_sgd", "co2", "eager_diloco", "streaming_diloco"}) {
      ScheduleSpec spec = local(name, random.integer(1, 4));
      if (name == "slowmo") spec.outer_every = spec.inner_updates * random.integer(1, 3);
      spec.fragment_layers = random.integer(1, 3);
      spec.delay = random.integer(0, spec.inner_updates - 1);
      spec.island = Island::kNode;
      spec.inner = random.integer(0, 1) == 1 ? "ddp" : "zero3";
      if ((name == "slowmo" || name == "co2") && random.integer(0, 1) == 1) {
        spec.form = MethodForm::kCode;
        spec.inner = "ddp";
        if (name == "co2") spec.outer_every = spec.inner_updates * random.integer(1, 4);
      }
      spec.offload_outer =
          traits_of(spec).takes("offload_outer") && spec.form == MethodForm::kPaper && random.integer(0, 1) == 1;
      // Of rings of shards that share a node's adapters only SimGrid knows.
      const double expected = expected_time(scenario, spec);
      EXPECT_NEAR(update_time(scenario, spec, kSimgrid) / expected, 1, 1e-6)
          << name << " " << spec.inner << " " << name_of(spec.form) << (spec.offload_outer ? " on the host" : "")
          << " seed " << seed;
      seen.insert(name + spec.inner + name_of(spec.form));
    }
  }
  EXPECT_EQ(seen.size(), 14u) << "with DDP and ZeRO-3 inside, and two released codes with DDP";
}

TEST(LocalSchedules, FirstUpdatesMayBeSynchronous) {
  // 1e9 tokens in updates of 8 ranks x 4 micro-batches x 4 sequences of 512 tokens are 15259 updates, of which a
  // quarter are DDP's.
  const Scenario scenario = sample_scenario(2, 4);
  ScheduleSpec spec = local("local_sgd", 8);
  const RunResult later = run_schedule(scenario, spec, kReference);
  ScheduleSpec ddp = sample_schedule("ddp");
  ddp.overlap = Overlap::kBackward;  // PyTorch's defaults
  ddp.buckets = Buckets::kTensors;
  ddp.broadcast_buffers = true;
  const RunResult first = run_schedule(scenario, ddp, kReference);
  const double updates = 1e9 / (8 * 4 * 4 * 512);
  spec.synchronous_updates = static_cast<int>(updates / 4);
  const double share = spec.synchronous_updates / updates;
  const RunResult both = run_schedule(scenario, spec, kReference);
  EXPECT_NEAR(both.update_time / (share * first.update_time + (1 - share) * later.update_time), 1, 1e-9);
  EXPECT_NEAR(both.total_time / (share * first.total_time + (1 - share) * later.total_time), 1, 1e-9);
  EXPECT_NEAR(both.tokens_per_second * both.update_time.value, 8 * 4 * 4 * 512, 1e-3);
  EXPECT_NEAR(
      both.bytes_sent_per_rank_per_update.value,
      share * first.bytes_sent_per_rank_per_update.value + (1 - share) * later.bytes_sent_per_rank_per_update.value,
      1e-3);
  // What is a rate follows the tokens; what is a share of time is weighed by time.
  for (double Metrics::*rate : {&Metrics::mfu, &Metrics::hfu})
    for (const RunResult* phase : {&first, &later})
      EXPECT_NEAR(both.*rate / both.tokens_per_second / (phase->*rate / phase->tokens_per_second), 1, 1e-9);
  EXPECT_NEAR(both.gpu_idle_fraction * both.update_time.value,
              share * first.gpu_idle_fraction * first.update_time.value +
                  (1 - share) * later.gpu_idle_fraction * later.update_time.value,
              1e-9);
  spec.synchronous_updates = 1'000'000;  // more than there are
  EXPECT_NEAR(run_schedule(scenario, spec, kReference).update_time / first.update_time, 1, 1e-9);
}

TEST(LocalSchedules, ShorterSequencesMakeMoreUpdatesOfATraining) {
  // Of 256 sequences 255 have 128 tokens and one 4 x that, its cut: a mean of 129.5, so that 1e9 tokens are 512 / 129.5
  // times as many updates as of whole sequences.
  Scenario scenario = sample_scenario(2, 4);
  ScheduleSpec spec = local("local_sgd", 8);
  spec.synchronous_updates = 1000;
  const double whole = phases_of(scenario, spec)->share;
  scenario.training.unsteady.lengths.histogram = {{128, 255}, {600, 1}};
  scenario.training.unsteady.lengths.padding = Padding::kLongest;
  EXPECT_NEAR(phases_of(scenario, spec)->share / whole, 129.5 / 512, 1e-9);
}

TEST(LocalSchedules, AReplicaMayMakeItsOwnNumberOfUpdates) {
  // Two sites, one twice as slow, which makes half of the updates between two meetings: both compute for as long, and
  // an update, one of the schedule's 8, is what it is for the fast site alone. Its samples are those of 8 and of 4.
  Scenario scenario = sample_scenario(1, 4);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  for (Device& device : scenario.cluster.nodes[1].devices) device.slowdown = 2;
  ScheduleSpec spec = local("diloco", 8);
  spec.island = Island::kGroup;
  spec.inner = "zero3";
  const RunResult waits = run_schedule(scenario, spec, kSimgrid);
  scenario.cluster.nodes[1].inner_updates = 4;
  const RunResult own = run_schedule(scenario, spec, kSimgrid);
  EXPECT_NEAR(own.samples_per_update / waits.samples_per_update, 0.75, 1e-9);
  const Costs costs = price(scenario, spec);
  const ScheduleInput fast{spec, costs, costs.kinds[0], 4, 1};
  EXPECT_NEAR(own.update_time / (zero3_closed_form(fast) + 1.0 / 8 * exchange_time(fast)), 1, 0.02);
  EXPECT_GT(own.tokens_per_second / waits.tokens_per_second, 1.3);
}

// ---- the simulator of the Streaming DiLoCo paper ----

/// Table 4 of arXiv 2501.18512: Gbit/s for a compute utilisation of 50, 80, 90, 95 and 99 %.
struct SimulatedModel {
  double parameters;
  int layers;
  double step;  ///< seconds
};
constexpr SimulatedModel kSimulated[] = {{1e9, 24, 0.1}, {10e9, 48, 0.8}, {100e9, 108, 4.9}};
constexpr double kUtilisations[] = {0.5, 0.8, 0.9, 0.95, 0.99};
struct SimulatedRow {
  const char* name;
  int inner_updates, fragment_layers, delay;
  double bits;  ///< of a parameter
  double gbit[3][5];
};
// Which type its other rows send is in no text. 13.4 bits of a nominal parameter, 16 of those that are no embedding,
// give the rows of data parallel and DiLoCo; four bits are a quarter of it.
constexpr double kBits = 13.4;
constexpr SimulatedRow kRows[] = {
    {"data parallel",
     1,
     1000,
     0,
     kBits,
     {{86.8, 152.6, 184.2, 222.3, 569.0}, {104.8, 222.3, 222.3, 268.3, 471.5}, {184.2, 323.8, 390.7, 390.7, 471.5}}},
    {"DiLoCo",
     100,
     1000,
     0,
     kBits,
     {{1.4, 6.2, 13.3, 23.3, 86.8}, {1.7, 7.5, 16.0, 33.9, 104.8}, {3.0, 11.0, 23.3, 49.4, 184.2}}},
    {"streaming",
     100,
     3,
     0,
     kBits,
     {{1.4, 5.2, 9.1, 16.0, 28.1}, {1.7, 5.2, 9.1, 13.3, 19.3}, {2.4, 6.2, 9.1, 11.0, 19.3}}},
    {"overlap", 100, 3, 1, kBits, {{1.4, 4.3, 6.2, 9.1, 11.0}, {1.7, 3.6, 5.2, 6.2, 7.5}, {1.7, 3.6, 4.3, 5.2, 5.2}}},
    {"4 bits",
     100,
     3,
     1,
     kBits / 4,
     {{0.4, 0.9, 1.7, 2.0, 3.0}, {0.4, 0.9, 1.4, 1.4, 1.7}, {0.5, 0.9, 1.1, 1.1, 1.4}}}};

/// Two replicas whose layers are alike, forward a third of the step and backward two, joined by a link that has a
/// bandwidth and nothing else.
Costs simulated_costs(const SimulatedModel& model, const SimulatedRow& row, const ScheduleSpec& spec) {
  Scenario scenario = sample_scenario(2, 1);
  NodeGroup& nodes = scenario.cluster.nodes[0];
  nodes.nics = {1, BytesPerSecond{1e9}, 1, Seconds{0}};
  nodes.intra.start = nodes.intra.launch = nodes.intra.latency = Seconds{0};
  for (Device& device : nodes.devices) {
    device.memory_bandwidth = BytesPerSecond{1e30};
    device.launch_interval = Seconds{0};
  }
  scenario.model = sample_model(model.layers);
  Costs costs = price(scenario, spec);
  RankKind& kind = costs.kinds[0];
  const double elements = model.parameters / model.layers * row.bits / 16;  // sent in 2 bytes
  const Seconds forward{model.step / 3 / model.layers};
  for (LayerTime& layer : kind.times) {
    const bool block = &layer != &kind.times.front() && &layer != &kind.times.back();
    layer = {block ? forward : Seconds{0}, block ? 2 * forward : Seconds{0}, block ? elements : 0.0};
    layer.gradients = std::vector<GradientTensor>{{layer.parameters}};
  }
  kind.parameters = elements * model.layers;
  kind.forward = model.layers * forward;
  kind.backward = 2 * kind.forward;
  return costs;
}

double utilisation(const SimulatedModel& model, const ScheduleSpec& spec, Costs& costs, double gbit) {
  costs.cluster.nodes[0].nics.bandwidth = BytesPerSecond{gbit * 1e9 / 8};
  return model.step / play_steady(costs, spec, 1, kReference).measured.update_time.value;
}

TEST(StreamingDiloco, NeedsTheBandwidthsOfItsPapersSimulatorWithinAStepOfItsGrid) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  // 50 geometric steps from 0.1 to 1000 Gbit/s; the least that reaches a utilisation is named.
  constexpr int kSteps = 50;
  const double step = std::pow(1e4, 1.0 / (kSteps - 1));
  int apart = 0;
  for (const SimulatedRow& row : kRows)
    for (std::size_t m = 0; m < std::size(kSimulated); ++m) {
      ScheduleSpec spec = local("streaming_diloco", row.inner_updates);
      spec.fragment_layers = row.fragment_layers;
      spec.delay = row.delay;
      spec.by_layer = true;
      Costs costs = simulated_costs(kSimulated[m], row, spec);
      for (std::size_t u = 0; u < std::size(kUtilisations); ++u) {
        int low = 0, high = kSteps;
        while (low < high) {
          const int middle = (low + high) / 2;
          const bool enough = utilisation(kSimulated[m], spec, costs, 0.1 * std::pow(step, middle)) >= kUtilisations[u];
          (enough ? high : low) = enough ? middle : middle + 1;
        }
        const double printed = std::log(row.gbit[m][u] / 0.1) / std::log(step);
        EXPECT_LE(std::abs(low - std::round(printed)), 1)
            << row.name << " " << kSimulated[m].layers << " layers " << kUtilisations[u];
        apart += low != std::lround(printed);
      }
    }
  EXPECT_LE(apart, 8) << "of 75 values";
}

}  // namespace
}  // namespace accosim
