// Is the result what other programs were promised: these keys, in this order, in SI units, null where there is nothing?
#include "reports/result_json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "build_info/project.hpp"
#include "tests/support/json.hpp"

namespace accosim {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// A llama with one layer of width 4, 2 heads and 10 words; two nodes of two GPUs.
Scenario small_scenario() {
  Scenario scenario{.name = "small",
                    .model = {.name = "tiny",
                              .family = "llama",
                              .num_hidden_layers = 1,
                              .hidden_size = 4,
                              .num_attention_heads = 2,
                              .num_key_value_heads = 2,
                              .head_dim = 2,
                              .intermediate_size = 8,
                              .vocab_size = 10,
                              .max_position_embeddings = 16},
                    .baseline = "serial"};
  scenario.model.gated_mlp = scenario.model.rms_norm = true;
  scenario.model.attention_window = {0};
  NodeGroup group{.count = 2, .gpus = 2};
  group.devices.resize(2);
  scenario.cluster.nodes.push_back(group);
  return scenario;
}

RunResult full_result() {
  RunResult result;
  result.schedule = "acco";
  result.label = "ACCO \"two rounds\"";
  result.update_time = Seconds{0.5};
  result.update_time_low = Seconds{0.4};
  result.update_time_high = Seconds{0.625};
  result.total_time = Seconds{7200};
  result.tokens_per_second = 1000;
  result.tokens_per_second_per_gpu = 250;
  result.model_flops_per_gpu = FlopsPerSecond{1e14};
  result.gpu_hours = 8;
  result.speedup = 1.5;
  result.speedup_same_batch = 1.25;
  result.over_best_synchronous = 1.125;
  result.over_best_synchronous_interval = Interval{1, 1.25};
  result.speedup_interval = Interval{1.25, 1.75};
  result.published_speedup = 0.75;
  result.published_time = Seconds{4800};
  result.batch_inflation = 2;
  result.samples_per_update = 64;
  result.micro_batches_per_update = 16;
  result.mfu = 0.4;
  result.hfu = 0.45;
  result.gpu_idle_fraction = 0.1;
  result.exposed_communication = Seconds{0.05};
  result.bytes_sent_per_rank_per_update = Bytes{1e9};
  result.memory_formula = Bytes{2e9};
  result.memory_resident = Bytes{3e9};
  result.memory_capacity = Bytes{4e9};
  result.memory_parts.parts = {{MemoryUse::kParameters, Bytes{1e9}}, {MemoryUse::kActivations, Bytes{2e9}}};
  result.memory_resident_low = Bytes{2.5e9};
  result.memory_resident_high = Bytes{3.5e9};
  result.fit = {FitVerdict::kTight, 0.75};
  result.memory_by_kind = {{"A100-SXM4-80GB", 4, result.memory_parts, Bytes{4e9}, result.fit}};
  const WayToFit way{"sync every", {"/schedules/0/sync=every"}, Bytes{2e9}, Bytes{2e9}, Bytes{1e9}, {}, 1.25};
  result.ways_to_fit = {{way}, {}, 2};
  result.warnings = {{"batch_grown", "the batch doubled", "use fewer micro-batches"}};
  result.steady = {8, 0, 4, 0.25};
  RankResult rank;
  rank.ranks = {{0, 1}, {3, 3}};
  rank.device = "A100-SXM4-80GB";
  rank.micro_batches_per_round = 2.5;
  rank.micro_batches_per_round_min = 2;
  rank.micro_batches_per_round_max = 3;
  rank.micro_batches_per_update = 5;
  rank.idle_fraction = 0.125;
  result.ranks = {rank};
  return result;
}

std::string written(const Scenario& scenario, const std::vector<RunResult>& results, bool all_ranks = false,
                    const JsonValue& settings = {}) {
  std::ostringstream out;
  write_results_json(out, scenario, "simgrid", {results, standing_of(contenders_of(results, scenario.baseline), {})},
                     all_ranks, settings);
  return out.str();
}

TEST(ResultJson, DocumentNamesWhatWasPlayed) {
  const Json document = Json::parse(written(small_scenario(), {full_result()}));
  EXPECT_EQ(document.keys(), (std::vector<std::string>{"schema", "version", "sets", "scenario", "network", "model",
                                                       "gpus", "baseline", "results", "answer"}));
  EXPECT_EQ(document.at("schema"), "accosim.result/2");
  EXPECT_EQ(document.at("version"), kVersion);
  EXPECT_EQ(document.at("sets").size(), 0U);
  EXPECT_EQ(document.at("scenario"), "small");
  EXPECT_EQ(document.at("network"), "simgrid");
  EXPECT_EQ(document.at("model").at("name"), "tiny");
  // Embedding and head 2 x 10 x 4, attention 4 x 4 x 4, MLP 3 x 4 x 8, three norms of 4: 80 + 64 + 96 + 12.
  EXPECT_EQ(document.at("model").at("parameters"), 252);
  EXPECT_EQ(document.at("gpus"), 4);
  EXPECT_EQ(document.at("baseline"), "serial");
  EXPECT_EQ(document.at("results").size(), 1U);
}

TEST(ResultJson, WhatWasSetIsInItAsItWasGiven) {
  Scenario scenario = small_scenario();
  scenario.sets = {"/training/micro_batch_size=1", "/name=\"a\""};
  const Json sets = Json::parse(written(scenario, {full_result()})).at("sets");
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0], "/training/micro_batch_size=1");
  EXPECT_EQ(sets[1], "/name=\"a\"");
}

TEST(ResultJson, SettingsAreInItWhereTheyAreGiven) {
  const JsonValue settings = json_object({{"training", json_object({{"micro_batch_size", 2}})}});
  const Json document = Json::parse(written(small_scenario(), {full_result()}, false, settings));
  EXPECT_EQ(document.at("settings").at("training").at("micro_batch_size"), 2);
}

TEST(ResultJson, EachScheduleHasAllMetricsInOneOrder) {
  // Errors of what was published: 1.5 / 0.75 - 1 and 7200 / 4800 - 1.
  const Json result = Json::parse(written(small_scenario(), {full_result()})).at("results")[0];
  const Json expected = Json::parse(R"({
    "schedule": "acco", "label": "ACCO \"two rounds\"", "update_time_s": 0.5, "update_time_s_low": 0.4,
    "update_time_s_high": 0.625, "total_time_s": 7200.0, "total_time_s_low": 5760.0, "total_time_s_high": 9000.0,
    "tokens_per_s": 1000.0, "tokens_per_s_per_gpu": 250.0, "model_flops_per_s_per_gpu": 1e14, "gpu_hours": 8.0,
    "gpu_hours_low": 6.4, "gpu_hours_high": 10.0, "cost": null, "cost_low": null, "cost_high": null,
    "speedup": 1.5, "speedup_same_batch": 1.25, "speedup_over_best_synchronous": 1.125, "speedup_low": 1.25,
    "speedup_high": 1.75, "speedup_same_batch_low": null, "speedup_same_batch_high": null,
    "speedup_over_best_synchronous_low": 1.0, "speedup_over_best_synchronous_high": 1.25,
    "published_speedup": 0.75, "published_speedup_error": 1.0, "published_time_s": 4800.0,
    "published_time_error": 0.5, "published_of_another_run": false, "batch_inflation": 2.0, "statistics": "synchronous",
    "samples_per_update": 64.0, "micro_batches_per_update": 16.0,
    "mfu": 0.4, "hfu": 0.45, "gpu_idle_fraction": 0.1, "exposed_communication_s": 0.05,
    "bytes_sent_per_rank_per_update": 1e9, "memory_formula_bytes": 2e9, "memory_resident_bytes": 3e9,
    "memory_resident_bytes_low": 2.5e9, "memory_resident_bytes_high": 3.5e9, "memory_capacity_bytes": 4e9,
    "steady": {"updates_played": 8, "repeats_after_updates": null, "updates_averaged": 4, "halves_differ": 0.25},
    "fits": true, "fit_verdict": "tight", "fit_probability": 0.75,
    "memory_by_kind": [{"device": "A100-SXM4-80GB", "ranks": 4, "memory_resident_bytes": 3e9,
                        "memory_capacity_bytes": 4e9, "fit_verdict": "tight", "fit_probability": 0.75}],
    "memory_parts_bytes": {"parameters": 1e9, "activations": 2e9},
    "largest_micro_batch_size": 2,
    "ways_to_fit": [{"what": "sync every", "set": ["/schedules/0/sync=every"], "memory_bytes": 2e9, "saves_bytes": 1e9,
                     "time_ratio": 1.25, "fits": true, "fit_verdict": "fits", "fit_probability": 1.0}],
    "ways_to_fit_together": [],
    "warnings": [{"code": "batch_grown", "message": "the batch doubled", "advice": "use fewer micro-batches"}],
    "rank_classes": [{"ranks": "0-1,3", "count": 3, "device": "A100-SXM4-80GB",
               "micro_batches_per_round": {"mean": 2.5, "least": 2, "most": 3},
               "micro_batches_per_update": 5.0, "idle_fraction": 0.125}]})");
  EXPECT_EQ(result, expected);
  EXPECT_EQ(result.keys(), expected.keys());
}

TEST(ResultJson, WhatIsAbsentOrNoNumberIsNull) {
  Scenario scenario = small_scenario();
  scenario.baseline.clear();
  RunResult result = full_result();
  result.speedup.reset();
  result.speedup_same_batch = kNan;
  result.published_speedup.reset();
  result.tokens_per_second = kInfinite;
  result.update_time = Seconds{-kInfinite};
  result.memory_parts.parts = {{MemoryUse::kParameters, Bytes{kNan}}};
  result.ranks[0].idle_fraction = kNan;
  const Json document = Json::parse(written(scenario, {result}));
  EXPECT_TRUE(document.at("baseline").is_null());
  const Json one = document.at("results")[0];
  for (const char* key : {"speedup", "speedup_same_batch", "published_speedup", "tokens_per_s", "update_time_s"}) {
    EXPECT_TRUE(one.at(key).is_null()) << key;
  }
  EXPECT_TRUE(one.at("memory_parts_bytes").at("parameters").is_null());
  EXPECT_TRUE(one.at("rank_classes")[0].at("idle_fraction").is_null());
}

TEST(ResultJson, NumbersReadBackAsTheSameNumbers) {
  RunResult result = full_result();
  result.update_time = Seconds{0.1 + 0.2};
  result.mfu = 1.0 / 3;
  result.ranks[0].micro_batches_per_round = 13.0 / 3;
  const Json one = Json::parse(written(small_scenario(), {result})).at("results")[0];
  EXPECT_EQ(one.at("update_time_s").number(), 0.1 + 0.2);
  EXPECT_EQ(one.at("mfu").number(), 1.0 / 3);
  EXPECT_EQ(one.at("rank_classes")[0].at("micro_batches_per_round").at("mean").number(), 13.0 / 3);
}

TEST(ResultJson, TextMayHoldAnything) {
  RunResult result = full_result();
  result.label = "}\n  ]\t\xff";
  result.warnings[0].message = "line\nline }";
  result.ranks[0].device = "\"}{\\";
  const Json one = Json::parse(written(small_scenario(), {result})).at("results")[0];
  EXPECT_EQ(one.at("label"), "}\n  ]\t\xef\xbf\xbd");
  EXPECT_EQ(one.at("warnings")[0].at("message"), "line\nline }");
  EXPECT_EQ(one.at("rank_classes")[0].at("device"), "\"}{\\");
}

TEST(ResultJson, EachRankIsListedByItselfWhereThatIsAsked) {
  // Two nodes of two: 0 and 1 are on the first, 2 and 3 on the second.
  RunResult result = full_result();
  RankResult other = result.ranks[0];
  other.ranks = {{2, 2}};
  other.idle_fraction = 0.5;
  result.ranks.push_back(other);
  Scenario scenario = small_scenario();
  NodeGroup group;
  group.count = group.gpus = 2;
  scenario.cluster.nodes = {group};
  const Json one = Json::parse(written(scenario, {result}, true)).at("results")[0];
  EXPECT_EQ(one.at("rank_classes").size(), 2U);
  ASSERT_EQ(one.at("ranks").size(), 4U);
  for (int rank = 0; rank < 4; ++rank) {
    const Json each = one.at("ranks")[static_cast<std::size_t>(rank)];
    EXPECT_EQ(each.keys(), (std::vector<std::string>{"rank", "node", "device", "micro_batches_per_round",
                                                     "micro_batches_per_update", "idle_fraction"}));
    EXPECT_EQ(each.at("rank"), rank);
    EXPECT_EQ(each.at("node"), rank / 2);
    EXPECT_EQ(each.at("idle_fraction"), rank == 2 ? 0.5 : 0.125);
  }
}

TEST(ResultJson, EmptyListsAreEmptyLists) {
  RunResult result = full_result();
  result.warnings.clear();
  result.ranks.clear();
  result.memory_parts.parts.clear();
  const Json one = Json::parse(written(small_scenario(), {result})).at("results")[0];
  EXPECT_EQ(one.at("warnings"), std::vector<JsonValue>());
  EXPECT_EQ(one.at("rank_classes"), std::vector<JsonValue>());
  EXPECT_EQ(one.at("memory_parts_bytes"), json_object({}));
  EXPECT_EQ(Json::parse(written(small_scenario(), {})).at("results"), std::vector<JsonValue>());
}

TEST(ResultJson, SchedulesStayInTheirOrder) {
  std::vector<RunResult> results;
  results.reserve(3);
  for (const char* label : {"b", "a", "c"}) {
    results.push_back(full_result());
    results.back().label = std::string(label);
  }
  const Json document = Json::parse(written(small_scenario(), results));
  ASSERT_EQ(document.at("results").size(), 3U);
  EXPECT_EQ(document.at("results")[0].at("label"), "b");
  EXPECT_EQ(document.at("results")[2].at("label"), "c");
}

}  // namespace
}  // namespace accosim
