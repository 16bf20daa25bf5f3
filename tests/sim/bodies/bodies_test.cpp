// Do rules run on bodies that they have not been written for: stages of a pipeline, and layers that are split by
// tensor? Bodies by hand, in plays whose times can be said by hand; in ms.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/collectives.hpp"
#include "models/price/layers.hpp"
#include "models/price/pace.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/bodies/body.hpp"
#include "sim/bodies/write.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/graph/builder.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/delayed.hpp"
#include "sim/schedules/groups.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sample_file.hpp"

namespace accosim {
namespace {

using test::kBackIn;
using test::kBackOut;
using test::kIn;
using test::kOut;
using test::kOwn;
using test::ms;
using test::takes_ms;

constexpr int kStages = 4;

Piece pass_of(Pass pass, double lasts, std::vector<Wait> waits) {
  Piece piece{.pass = pass, .duration = ms(lasts), .waits = std::move(waits)};
  const bool forward = pass == Pass::kForward;
  (forward ? piece.needs : piece.gives).push_back({0, 0, forward ? 0. : 1.});
  piece.ends_pass = true;
  piece.ends_micro_batch = pass == Pass::kBackward;
  return piece;
}

Piece message(const std::string& name, int lane, double lasts, int group, std::vector<Wait> waits = {}) {
  return Piece{
      .pass = Pass::kMessage, .lane = lane, .name = name, .message = takes_ms(lasts, group), .waits = std::move(waits)};
}

/// Appends a forward of a stage, with its messages, or a backward.
void add_forward(std::vector<Piece>& list, int stage, double lasts) {
  const int first = static_cast<int>(list.size());
  if (stage > 0) list.push_back(message("activations in", 1, 0, kIn));
  list.push_back(pass_of(Pass::kForward, lasts, stage > 0 ? std::vector<Wait>{{first}} : std::vector<Wait>{}));
  const int computed = static_cast<int>(list.size()) - 1;
  if (stage + 1 < kStages) list.push_back(message("activations out", 2, 0, kOut, {{computed}}));
}
void add_backward(std::vector<Piece>& list, int stage, double lasts) {
  const int first = static_cast<int>(list.size());
  const bool last = stage + 1 == kStages;
  if (!last) list.push_back(message("gradients in", 3, 0, kBackIn));
  list.push_back(pass_of(Pass::kBackward, lasts, last ? std::vector<Wait>{} : std::vector<Wait>{{first}}));
  const int computed = static_cast<int>(list.size()) - 1;
  if (stage > 0) list.push_back(message("gradients out", 4, 0, kBackOut, {{computed}}));
}

/// 1F1B: p-1-r forwards and r pairs before the rounds, p-1-r backwards behind them.
Body stage_body(int stage, double f, double b, double elements) {
  Body body{.lanes = {"compute", "activations in", "activations out", "gradients in", "gradients out"},
            .sets = {{{elements}, test::numbered(kOwn)}},
            .chunks = {{ms(f), ms(b), {}}},
            .opened = kStages - 1,
            .replica = test::kDeciders};
  for (int k = 0; k < kStages - 1 - stage; ++k) add_forward(body.open, stage, f);
  for (int k = 0; k < stage; ++k) {
    add_forward(body.open, stage, f);
    add_backward(body.open, stage, b);
  }
  add_forward(body.round, stage, f);
  add_backward(body.round, stage, b);
  for (int k = 0; k < kStages - 1 - stage; ++k) add_backward(body.close, stage, b);
  return body;
}

/// A rank's costs: so many parameters, of 2 B, and nothing but copies of them; a host that takes no time.
struct Priced {
  ScheduleSpec spec;
  Costs costs;
  ScheduleInput input(int steps, int updates) const { return {spec, costs, costs.kinds[0], steps, updates}; }
};
constexpr double kParameters = 3.25;
Priced priced(const ScheduleSpec& spec) {
  Priced all{spec, price(sample_scenario(1, 1), spec)};
  all.costs.kinds[0].parameters = kParameters;
  all.costs.kinds[0].device.launch_interval = Seconds{0};
  return all;
}

/// Ranks of these bodies under a rule, each alone in its data group.
EventGraph graph_under(Rule rule, bool all_updates, const Priced& of, const std::vector<Body>& bodies, int steps,
                       int updates) {
  Tables tables = test::numbered_slots();
  std::vector<Program> programs;
  for (const Body& body : bodies) {
    const RuleInput input{of.input(steps, updates), body};
    ProgramBuilder program(tables, {"compute", "communication"});
    for (int update = 0; update < (all_updates ? 1 : updates); ++update) {
      rule(program, input);
      if (!all_updates) end_update(program, input);
    }
    programs.push_back(program.take(1));
  }
  return test::graph_of(tables, std::move(programs), bodies.size());
}

std::vector<Body> stages(double f, double b) {
  std::vector<Body> bodies;
  for (int stage = 0; stage < kStages; ++stage) bodies.push_back(stage_body(stage, f, b, kParameters));
  return bodies;
}

/// When each update of a rank ended, in ms, and how many micro-batches it had.
struct Updates {
  std::vector<double> ends;
  std::vector<int> micro_batches;
};
Updates updates_of(const EventGraph& graph, int rank) {
  Updates updates;
  int done = 0;
  check_graph(graph);
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    if (static_cast<int>(span.rank) != rank) return;
    const Label& label = graph.labels[span.label];
    done += label.micro_batches * static_cast<int>(span.repeat);
    if (label.mark != Mark::kUpdate) return;
    updates.ends.push_back(1e3 * span.end.value);
    updates.micro_batches.push_back(std::exchange(done, 0));
  });
  return updates;
}

TEST(Bodies, APipelineUnderZero1TakesItsFlightAndAStep) {
  // A flight of m micro-batches through p stages of f and b: (m + p - 1)(f + b) on the first stage, which ends it last.
  // Then 2 B a parameter are reduced in 6.5 ms, stepped and gathered in 6.5; stage r has then had r b of rest, and has
  // to wait for r f until the next flight comes to it.
  ScheduleSpec spec = sample_schedule("zero1");
  const Priced of = priced(spec);
  for (const auto& [f, b] : {std::pair(1., 1.), std::pair(1., 2.)})
    for (const int m : {4, 5, 9}) {
      const EventGraph graph = graph_under(add_zero1_update, false, of, stages(f, b), m, 3);
      const double step = 1e3 * shard_optimizer_time(of.input(m, 3)).value;
      const double update = (m + kStages - 1) * (f + b) + 6.5 + step + 6.5;
      for (int stage = 0; stage < kStages; ++stage) {
        const Updates updates = updates_of(graph, stage);
        ASSERT_EQ(updates.ends.size(), 3u);
        for (int k = 0; k < 3; ++k) {
          EXPECT_NEAR(updates.ends[k], (k + 1) * update - stage * b, 1e-9) << stage;
          EXPECT_EQ(updates.micro_batches[k], m);
        }
      }
    }
}

TEST(Bodies, AnAccoUpdateIsTwoFlightsOfAPipeline) {
  // Rounds that wait: each a flight of m = 6 micro-batches, (6 + 3) 2 = 18 ms, and a swap. The communication beside it,
  // counts of 4 ms, 6.5 and 6.5, is shorter.
  const Priced of = priced(
      sample_schedule({.name = "acco", .late_communication = LateCommunication::kWait, .micro_batches_per_round = 6}));
  const EventGraph graph = graph_under(add_acco_updates, true, of, stages(1, 1), 12, 3);
  const ScheduleInput input = of.input(12, 3);
  const double swaps = 1e3 * (swap_time(input, true) + swap_time(input, false)).value;
  for (int stage = 0; stage < kStages; ++stage) {
    const Updates updates = updates_of(graph, stage);
    ASSERT_EQ(updates.ends.size(), 3u);
    for (int k = 1; k < 3; ++k) {
      EXPECT_NEAR(updates.ends[k] - updates.ends[k - 1], 2 * 18 + swaps, 1e-9);
      EXPECT_EQ(updates.micro_batches[k], 12);
    }
  }
}

TEST(Bodies, TheFirstStageDecidesHowManyMicroBatchesAFlightHas) {
  // One stage's forwards are at 0, 1, 2 and, with a backward behind each, from 3 on. The first gradient is back after 4
  // forwards and 3 backwards, at 7; so the first round ends at 8, and each further one 2 later. The communication takes
  // 17 and what the copies take, less than 1: the look of 18 is the first that sees it over, after 6 rounds. With the 3
  // that opened these are 9 micro-batches: a flight of (9 + 3) 2 = 24 ms, on every stage as many.
  const Priced of = priced(sample_schedule({.name = "acco", .micro_batches_per_round = 1}));
  const EventGraph graph = graph_under(add_acco_updates, true, of, stages(1, 1), 2, 3);
  const ScheduleInput input = of.input(2, 3);
  const double swaps = 1e3 * (swap_time(input, true) + swap_time(input, false)).value;
  for (int stage = 0; stage < kStages; ++stage) {
    const Updates updates = updates_of(graph, stage);
    ASSERT_EQ(updates.ends.size(), 3u);
    for (int k = 1; k < 3; ++k) {
      EXPECT_NEAR(updates.ends[k] - updates.ends[k - 1], 2 * 24 + swaps, 1e-9);
      EXPECT_EQ(updates.micro_batches[k], 18);
    }
  }
}

/// One rank of so many parameters.
Body one_rank(double forward, double backward) {
  return Body{.sets = {{{kParameters}, test::numbered(kOwn)}}, .chunks = {{ms(forward), ms(backward), {}}}};
}

TEST(Bodies, AReceiveIsPostedARoundAheadAndTheStepWaitsForWhatFinishes) {
  // A message of 5 ms is posted before the first round and, in each, the next one. A round computes 4 ms once the
  // message of the round before is there: at 5, 10 and 15. The third ends at 19. Then 6.5 ms of reduction, 3 of what
  // finishes, the step, 6.5 of the gather.
  ScheduleSpec spec = sample_schedule("zero1");
  const Priced of = priced(spec);
  Body body = one_rank(2, 2);
  body.lanes = {"compute", "in"};
  body.open = {message("in", 1, 5, kIn)};
  body.open[0].stands_for = 0;
  body.round = {message("in", 1, 5, kIn), pass_of(Pass::kForward, 2, {{0, 1}}), pass_of(Pass::kBackward, 2, {})};
  const Piece norms{.pass = Pass::kCopy, .duration = ms(3), .name = "sum of norms"};
  body.finish = {norms};
  EventGraph graph = graph_under(add_zero1_update, false, of, {body}, 3, 1);
  graph.ranks[0].groups[kIn] = test::add_group(graph, graph.requests, {0});
  const double step = 1e3 * shard_optimizer_time(of.input(3, 1)).value;
  const Updates updates = updates_of(graph, 0);
  ASSERT_EQ(updates.ends.size(), 1u);
  EXPECT_NEAR(updates.ends[0], 19 + 6.5 + 3 + step + 6.5, 1e-9);
  EXPECT_EQ(updates.micro_batches[0], 3);
}

TEST(Bodies, ARoundMayHoldTwoMicroBatches) {
  // Two forwards of 1 ms and two backwards of 3: 8 ms a round. Four micro-batches are two rounds, five are three.
  ScheduleSpec spec = sample_schedule("zero1");
  const Priced of = priced(spec);
  Body body = one_rank(1, 3);
  body.a_round = 2;
  body.round = {pass_of(Pass::kForward, 1, {}), pass_of(Pass::kForward, 1, {}), pass_of(Pass::kBackward, 3, {}),
                pass_of(Pass::kBackward, 3, {})};
  const double step = 1e3 * shard_optimizer_time(of.input(4, 1)).value;
  for (const auto& [asked, rounds] : {std::pair(4, 2), std::pair(5, 3)}) {
    const Updates updates = updates_of(graph_under(add_zero1_update, false, of, {body}, asked, 1), 0);
    ASSERT_EQ(updates.ends.size(), 1u);
    EXPECT_NEAR(updates.ends[0], 8 * rounds + 6.5 + step + 6.5, 1e-9);
    EXPECT_EQ(updates.micro_batches[0], 2 * rounds);
  }
}

TEST(Bodies, TheStagesOfAReplicaMeetTheSameMicroBatches) {
  // The k-th forward and the k-th backward of a stage take f and b times what was drawn for micro-batch k of the
  // replica, whatever else the stage has begun or ended by then.
  const ScheduleSpec spec = sample_schedule("zero1");
  Scenario scenario = sample_scenario(1, 1);
  scenario.training.unsteady.jitter = {0.3, 0, Distribution::kLognormal};
  Pace pace = price(scenario, spec).pace;
  pace.micro_batch_size.resize(kStages, pace.micro_batch_size[0]);
  pace.lengths.resize(kStages, pace.lengths[0]);
  EventGraph graph = graph_under(add_zero1_update, false, priced(spec), stages(1, 2), 6, 2);
  graph.pace = pace;
  for (Rank& rank : graph.ranks) rank.replica = 0;
  std::vector<std::vector<double>> forwards(kStages), backwards(kStages);
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    const OpClass cls = graph.labels[span.label].cls;
    const double lasts = 1e3 * (span.end - span.begin).value;
    if (cls == OpClass::kForward) forwards[span.rank].push_back(lasts);
    if (cls == OpClass::kBackward) backwards[span.rank].push_back(lasts);
  });
  for (int stage = 0; stage < kStages; ++stage) {
    ASSERT_EQ(forwards[stage].size(), 12u);
    ASSERT_EQ(backwards[stage].size(), 12u);
    for (int k = 0; k < 12; ++k) {
      const MicroBatch drawn = micro_batch_of(pace, 0, 0, k);
      EXPECT_NEAR(forwards[stage][k], drawn.forward, 1e-9);
      EXPECT_NEAR(backwards[stage][k], 2 * drawn.backward, 1e-9);
    }
  }
}

/// One layer in two halves, each with an all-reduce of 0.5 ms over all ranks: forward 1 and 2 ms, backward 4 and 2.
/// `meets`: the next micro-batch waits for the last message of this one.
Body split_body(bool meets) {
  Body body{.lanes = {"compute", "tensor"}};
  body.sets = {{{1.25, 2}, test::numbered(kOwn)}};  // the second half's is ready first
  body.chunks = {{ms(3), ms(6), {}}};
  const auto add = [&](Pass pass, double lasts, int half, std::vector<Wait> waits) {
    Piece piece = pass_of(pass, lasts, std::move(waits));
    for (std::vector<AtShare>* list : {&piece.needs, &piece.gives})
      for (AtShare& each : *list) each.tensor = 1 - half;
    piece.ends_pass = (pass == Pass::kForward) == (half == 1);
    piece.ends_micro_batch = pass == Pass::kBackward && piece.ends_pass;
    body.round.push_back(piece);
    const int computed = static_cast<int>(body.round.size()) - 1;
    body.round.push_back(message("all-reduce of a half", 1, 0.5, test::kAll, {{computed}}));
  };
  add(Pass::kForward, 1, 0, meets ? std::vector<Wait>{{7, 1}} : std::vector<Wait>{});
  add(Pass::kForward, 2, 1, {{1}});
  add(Pass::kBackward, 4, 1, {{3}});
  add(Pass::kBackward, 2, 0, {{5}});
  return body;
}

TEST(Bodies, ALayerThatIsSplitByTensorSendsAfterEachHalf) {
  // A micro-batch takes 3 + 6 and four messages of 0.5: 11 ms; the last of three is followed by the gradients' 6.5 ms,
  // which go beside its last message, and the step. Where the next micro-batch does not wait for the last message, that
  // goes beside it: 10.5 ms each.
  const Priced of = priced(sample_schedule("ddp"));
  const double step = 1e3 * full_optimizer_time(of.input(3, 2)).value;
  for (const bool meets : {true, false}) {
    const EventGraph graph = graph_under(add_ddp_update, false, of, {split_body(meets), split_body(meets)}, 3, 2);
    const double update = (meets ? 11 + 11 : 10.5 + 10.5) + 10.5 + 6.5 + step;
    for (int rank = 0; rank < 2; ++rank) {
      const Updates updates = updates_of(graph, rank);
      ASSERT_EQ(updates.ends.size(), 2u);
      EXPECT_NEAR(updates.ends[0], update, 1e-9) << meets;
      EXPECT_NEAR(updates.ends[1], 2 * update, 1e-9) << meets;
      EXPECT_EQ(updates.micro_batches[1], 3);
    }
  }
}

TEST(Bodies, BucketsCloseWhereTheirLastTensorIsReady) {
  // The same layer, and a bucket for each tensor, 2.5 and 4 ms: the second half's is sent when its backward has ended,
  // at 1 + 0.5 + 2 + 0.5 + 4 = 8, to 10.5; the first half ends at 10.5, and its bucket of 4 ms at 14.5.
  ScheduleSpec spec = sample_schedule({.name = "ddp", .overlap = Overlap::kBackward, .buckets = Buckets::kTensors});
  spec.first_bucket = spec.bucket_cap = Bytes{1};
  const Priced of = priced(spec);
  const EventGraph graph = graph_under(add_ddp_update, false, of, {split_body(true), split_body(true)}, 1, 1);
  const double step = 1e3 * full_optimizer_time(of.input(1, 1)).value;
  EXPECT_NEAR(updates_of(graph, 0).ends.at(0), 14.5 + step, 1e-9);
}

TEST(Bodies, WhatAnUpdateFinishesWaitsForTheOneBefore) {
  // The all-reduces of the shared table and of what ranks that split tensors hold alike: the k-th of a rank begins when
  // its (k - 1)-th update, or ACCO's round, has ended, and not as soon as its lane is free.
  int met = 0;
  for (const char* const parallel :
       {R"({"tensor_parallel_size": 2, "sequence_parallel": true})", R"({"pipeline_parallel_size": 2})"})
    for (const ScheduleTraits& traits : schedules()) {
      const std::string entry = std::string(R"([{"name": ")") + traits.name + "\"}]";
      std::optional<LoadedScenario> loaded;
      try {
        loaded = load_sample({"/model/tie_word_embeddings=true", std::string("/training/parallel=") + parallel,
                              "/schedules=" + entry, std::string("/baseline=") + traits.name});
      } catch (const ScenarioError&) {
        continue;  // not every schedule runs on stages
      }
      const Scenario& scenario = loaded->scenario;
      const ScheduleSpec& spec = scenario.schedules[0];
      SteadyPlay play = play_steady(scenario, spec, 4, NetworkKind::kReference);
      play_updates(play, spec, 6, NetworkKind::kReference, Keep::kAll);
      std::map<int, std::vector<double>> ended, finished;
      for (const Span& span : play.spans) {
        const Label& label = play.folded.graph.labels[span.label];
        if (label.mark != Mark::kNone) ended[span.rank].push_back(span.end.value);
        const bool finishes =
            label.name.find("all-reduce of the table") == 0 || label.name.find("all-reduce of norms") == 0;
        if (finishes) finished[span.rank].push_back(span.begin.value);
      }
      for (const auto& [rank, begun] : finished)
        for (std::size_t k = 1; k < std::min(begun.size(), ended[rank].size()); ++k, ++met)
          EXPECT_GE(begun[k], ended[rank][k - 1]) << traits.name << " " << parallel << " " << k;
    }
  EXPECT_GE(met, 100);
}

// Do the stages of published splits hold and send what is derived by hand for them? Of shipped models, as loaded.

constexpr double kBlock = 213'909'504 + 16'384;  // parameters of a block of Llama 3 70B, split by four

/// Llama 3 70B by Megatron-LM on 128 GPUs: tensors and sequences by 4, 4 stages, so 8 replicas.
Scenario llama_70b(const std::string& parallel = "") {
  return load_scenario(
             "pretrain_4x8_a100",
             {R"(/model="llama-3-70b")", "/cluster/nodes/0/count=16", "/training/framework=megatron",
              "/training/sequence_length=8192", "/training/micro_batch_size=1",
              "/training/gradient_accumulation_steps=32", "/training/attention=flash", "/training/implementation=fused",
              R"(/training/parallel={"tensor_parallel_size": 4, "sequence_parallel": true,
                        "pipeline_parallel_size": 4)" +
                  parallel + "}",
              R"(/schedules=[{"name": "zero1"}])", "/baseline=zero1", "/published={}"})
      .scenario;
}

std::vector<RankKind> stages_of(const Scenario& scenario) { return price(scenario, scenario.schedules[0]).kinds; }

TEST(SplitSizes, AMiddleStageOfLlama70BUnderADistributedOptimizer) {
  // 20 blocks: 4.28 G parameters, 2 bytes each, 4 of gradients, and 12 of states that 8 replicas share: 32.1 GB.
  const Scenario scenario = llama_70b();
  const RankKind stage = stages_of(scenario)[1];
  EXPECT_EQ(stage.parameters, 20 * kBlock);
  const MemoryParts parts = memory_of(stage, scenario.schedules[0], 32);
  const double held = parts.part(MemoryUse::kParameters).value + parts.part(MemoryUse::kGradients).value +
                      parts.part(MemoryUse::kOptimizerStates).value;
  EXPECT_NEAR(held, 20 * kBlock * (6 + 12 / 8.0), 1);
  EXPECT_NEAR(held, 32.1e9, 0.05e9);
}

TEST(SplitSizes, WhatStagesKeepOfLlama70B) {
  // A block keeps 562.6 MB of a micro-batch. The first of four stages has 4 of them in flight, each in 20 blocks: 45.0
  // GB; with 5 chunks of 4 blocks 2 x 3 + 4 x 4 + 1 = 23 passes of chunks: 51.8 GB.
  const double kept = (8 * 8192 + 4 * 8192 + 4 * 1024 + 6 * 28672 + 4 * 64) * 2048.0;
  const Scenario plain = llama_70b(), interleaved = llama_70b(R"(, "virtual_pipeline_stages": 5)");
  EXPECT_EQ(passes_in_flight(stages_of(plain)[0].share, 32), 4);
  EXPECT_EQ(passes_in_flight(stages_of(interleaved)[0].share, 32), 23);
  // A middle stage, which has neither embedding nor head, has one micro-batch less in flight than the one before.
  const auto activations = [](const Scenario& scenario, int stage) {
    return memory_of(stages_of(scenario)[static_cast<std::size_t>(stage)], scenario.schedules[0], 32)
        .part(MemoryUse::kActivations)
        .value;
  };
  EXPECT_NEAR(activations(plain, 1) / (3 * 20 * kept), 1, 0.01);
  EXPECT_NEAR(activations(plain, 0) / 45.0e9, 1, 0.02);
  EXPECT_NEAR(activations(interleaved, 0) / 51.8e9, 1, 0.02);
}

TEST(SplitSizes, EachCommunicatorHasItsBuffers) {
  // Data, tensors, two along the pipeline, the replica, all: five beyond the one that the device's figure holds.
  // GPT-3's first stage and its last share the table too, and one more.
  const auto reserved = [](const Scenario& scenario, int stage = 0) {
    const RankKind kind = stages_of(scenario)[static_cast<std::size_t>(stage)];
    return memory_of(kind, scenario.schedules[0], 32).part(MemoryUse::kReserved) - kind.device.reserved_memory;
  };
  EXPECT_EQ(reserved(llama_70b()), 5 * Bytes{688e6});
  const Scenario tied = load_scenario("gpt3_175b_1024_a100", {}).scenario;
  for (const int stage : {0, 1, 15}) EXPECT_EQ(reserved(tied, stage), (stage == 1 ? 5 : 6) * Bytes{688e6}) << stage;
  EXPECT_EQ(reserved(load_scenario("pretrain_4x8_a100", {}).scenario), Bytes{0});
}

TEST(SplitSizes, MessagesOfGpt3BetweenItsStages) {
  // 2048 tokens of 12288 in 16 bits are 50.3 MB, which each of 8 ranks sends whole, or an eighth where sequences are
  // split too.
  const auto message = [](const char* const sequence) {
    const Scenario scenario =
        load_scenario("gpt3_175b_1024_a100",
                      {std::string("/training/parallel/sequence_parallel=") + sequence, "/training/micro_batch_size=1"})
            .scenario;
    return price(scenario, scenario.schedules[0]).kinds[1].message.value;
  };
  EXPECT_EQ(message("false"), 2048.0 * 12288 * 2);
  EXPECT_EQ(message("true"), 2048.0 * 12288 * 2 / 8);
}

TEST(SplitSizes, SlicesOfGpt3AreGatheredWhereTheyArrive) {
  // Each of 8 ranks sends an eighth. The first stage receives no activations and the last no gradients, for the first
  // and the last of 6 chunks; every other pass waits for a gather of the whole.
  const auto stages = [](const char* const slices) {
    return stages_of(load_scenario("gpt3_175b_1024_a100",
                                   {"/training/parallel/sequence_parallel=false", "/training/micro_batch_size=1",
                                    std::string("/training/parallel/scatter_gather_p2p=") + slices})
                         .scenario);
  };
  const std::vector<RankKind> whole = stages("false"), sliced = stages("true");
  const Scenario scenario = load_scenario("gpt3_175b_1024_a100", {}).scenario;
  const Costs costs = price(scenario, scenario.schedules[0]);
  const Bytes all{2048.0 * 12288 * 2};
  const Ring node = ring_of(costs, {over(Dim::kTensor)}, 0);
  const CollectiveKind kind = CollectiveKind::kAllGather;
  const double gather = collective_time(collective_cost(kind, all, costs.cluster, node)).value;
  ASSERT_EQ(whole.size(), 16u);
  ASSERT_EQ(sliced.size(), 16u);
  for (std::size_t stage = 0; stage < 16; ++stage) {
    EXPECT_EQ(whole[stage].message, all);
    EXPECT_EQ(whole[stage].gathered, Bytes{0});
    EXPECT_EQ(sliced[stage].message, all / 8);
    EXPECT_EQ(sliced[stage].gathered, all);
    EXPECT_NEAR((sliced[stage].forward - whole[stage].forward).value, (stage == 0 ? 5 : 6) * gather, 1e-9);
    EXPECT_NEAR((sliced[stage].backward - whole[stage].backward).value, (stage == 15 ? 5 : 6) * gather, 1e-9);
  }
}

}  // namespace
}  // namespace accosim
