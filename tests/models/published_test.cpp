// Do files of published measurements become the questions that they mean, and is nonsense refused at its place?
#include "models/fit/published.hpp"

#include <gtest/gtest.h>

#include "build_info/project.hpp"
#include "tests/models/refusal.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

const char* const kHead = R"({"schema": "accosim.validation/1", "title": "T", "url": "http://u", )";
const char* const kScenario = R"("scenarios": {"s": {
  "model": {"model_type": "gpt2", "name": "small", "n_layer": 2, "n_embd": 128, "n_head": 2, "n_positions": 512, "vocab_size": 1000},
  "cluster": {"schema": "accosim.cluster/1", "nodes": [{"count": 2, "gpus": 4, "device": "A100-SXM4-80GB",
    "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s"}, "nics": {"bandwidth": "100 Gbit/s"}}]},
  "training": {"sequence_length": 100, "micro_batch_size": 3},
  "schedules": [{"name": "ddp"}, {"name": "zero1"}]}}, )";

/// `head`: more members of the file.
std::string training_text(const std::string& cases, const std::string& head = "") {
  return std::string(kHead) + head + R"("kind": "training", )" + kScenario + "\"cases\": [" + cases + "]}\n";
}

/// Of one file, runs.json.
Published published_of(const Scratch& scratch, const std::string& text) {
  scratch.write("v/runs.json", text);
  return load_published(scratch.path("v"));
}

Published training(const Scratch& scratch, const std::string& cases, const std::string& head = "") {
  return published_of(scratch, training_text(cases, head));
}

TEST(Published, RatesBecomeTheTimeOfAStep) {
  // 8 GPUs x 3 sequences x 100 tokens x 2 micro-batches = 4800 tokens an update, 600 a GPU, 48 sequences.
  const Scratch scratch;
  const std::string set = R"("set": {"/training/gradient_accumulation_steps": 2}, )";
  const Published published =
      training(scratch, R"({"id": "a", )" + set + R"("measured": {"tokens_per_s_per_gpu": 1200}}, )" +
                            R"({"id": "b", )" + set + R"("measured": {"tokens_per_s": 9600}}, )" + R"({"id": "c", )" +
                            set + R"("measured": {"sequences_per_s": 96, "memory_reserved": "2 GiB"}})");
  ASSERT_EQ(published.cases.size(), 4u);
  for (const int i : {0, 1, 2}) EXPECT_DOUBLE_EQ(published.cases[static_cast<std::size_t>(i)].measured, 0.5);
  EXPECT_EQ(published.cases[0].id, "runs/a");
  EXPECT_EQ(published.cases[0].group, kTrainingGroup);
  EXPECT_EQ(published.cases[0].device, "A100-SXM4-80GB");
  EXPECT_EQ(published.cases[3].id, "runs/c memory");
  EXPECT_EQ(published.cases[3].group, kMemoryGroup);
  EXPECT_EQ(published.cases[3].measured, 2.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(published.sources.at(0).publisher, "runs");
}

TEST(Published, ABlocksTimeIsNotAskedOfAMeasuredModel) {
  const Scratch scratch;
  const std::string errors = refusal_of([&] {
    training(scratch, R"({"id": "a", "set": {"/model": {"model_type": "measured", "parameters": 1e9,
                          "micro_batch_time": "1 s"}}, "measured": {"block_forward_time": "1 ms"}})");
  });
  EXPECT_TRUE(holds(errors, "/block_forward_time: is of a block, and a measured model has none"));
}

TEST(Published, AModelThatIsWrongIsToldOnceWhateverAsksForItsBlocks) {
  // The second case meets the same mistake, which is told already, and then has no model to ask about blocks.
  const Scratch scratch;
  std::string text = training_text(R"({"id": "a", "measured": {"block_forward_time": "1 ms"}},
                                      {"id": "b", "measured": {"block_forward_time": "1 ms"}})");
  text.replace(text.find("n_layer"), 7, "n_lager");
  const std::string errors = refusal_of([&] { published_of(scratch, text); });
  EXPECT_TRUE(holds(errors, "/model/n_lager: unknown key"));
  EXPECT_EQ(errors.find("/model/n_lager: unknown key"), errors.rfind("/model/n_lager: unknown key")) << errors;
}

TEST(Published, ACaseNamesItsScheduleAndReplacesValues) {
  const Scratch scratch;
  const Published published =
      training(scratch, R"({"id": "a", "schedule": "zero1", "set": {"/cluster/nodes/0/count": 5, "/model/n_layer": 7},
                   "inferred": ["x"], "trust": "B", "measured": {"step_time": "20 ms"}})");
  const PublishedCase& one = published.cases.at(0);
  EXPECT_EQ(one.scenario->schedules[static_cast<std::size_t>(one.schedule)].name, "zero1");
  EXPECT_EQ(one.scenario->cluster.nodes[0].count, 5);
  EXPECT_EQ(one.scenario->model.num_hidden_layers, 7);
  EXPECT_EQ(one.measured, 0.02);
  EXPECT_EQ(one.trust, 'B');
  EXPECT_EQ(one.inferred, std::vector<std::string>{"x"});
}

TEST(Published, WhatCannotBeAskedKeepsItsConfigurationAndItsReason) {
  const Scratch scratch;
  const Published published = training(
      scratch, R"({"id": "a", "not_expressible": "a bicycle", "configuration": "two wheels", "published": "20 km/h"})");
  const PublishedCase& one = published.cases.at(0);
  EXPECT_FALSE(one.scored());
  EXPECT_EQ(one.asked, Asked::kNothing);
  EXPECT_EQ(one.not_expressible, "a bicycle");
  EXPECT_EQ(one.published, "20 km/h");
}

TEST(Published, ASimulatorsOutputIsAGroupOfItsOwnAndScoresNothing) {
  const Scratch scratch;
  const std::string head = R"("made_by": "simulator", "how_it_shows": "times are linear in the layers", )";
  const Published published =
      training(scratch,
               R"({"id": "a", "measured": {"step_time": "1 s", "memory_reserved": "2 GiB"}}, )"
               R"({"id": "b", "not_expressible": "no", "configuration": "c", "published": "p"})",
               head);
  ASSERT_EQ(published.cases.size(), 3u);
  for (const PublishedCase& one : published.cases) {
    EXPECT_EQ(one.group, kSimulatorGroup) << one.id;
    EXPECT_FALSE(one.scored()) << one.id;
  }
  EXPECT_EQ(published.cases[0].asked, Asked::kStepTime);  // which is predicted all the same
  EXPECT_EQ(published.sources.at(0).simulated, "times are linear in the layers");
}

void has(const std::string& text, const std::string& part) { EXPECT_TRUE(holds(text, part)); }

TEST(Published, WhoMadeTheFiguresIsSaidRightOrRefused) {
  const Scratch scratch;
  const std::string one = R"({"id": "a", "measured": {"step_time": "1 s"}})";
  const auto wrong = [&](const std::string& head, const std::string& cases) {
    return refusal_of([&] { training(scratch, cases, head); });
  };
  EXPECT_TRUE(training(scratch, one, R"("made_by": "measurement", )").cases.at(0).scored());
  has(wrong(R"("made_by": "simulatr", )", one), "/made_by: \"simulatr\" is not known; did you mean \"simulator\"?");
  has(wrong(R"("made_by": "simulator", )", one), "/how_it_shows: missing or too short; say in 20 characters or more");
  has(wrong(R"("made_by": "simulator", "how_it_shows": "it does", )", one), "/how_it_shows: missing or too short");
  has(wrong(R"("how_it_shows": "times are linear in the layers", )", one), "write \"made_by\": \"simulator\" too");
  has(wrong(R"("made_by": "measurement", "how_it_shows": "times are linear in the layers", )", one), "leave it out");
  has(wrong(R"("made_by": "simulator", "how_it_shows": "times are linear in the layers", )",
            R"({"id": "a", "left_out": "odd", "measured": {"step_time": "1 s"}})"),
      "/cases/0/left_out: nothing of a simulator's output is scored anyway");
  const std::string speedups = std::string(kHead) + R"("kind": "speedups", "made_by": "simulator",
    "how_it_shows": "times are linear in the layers", "cases": []})";
  has(refusal_of([&] { published_of(scratch, speedups); }), "/made_by: only files of training runs");
}

TEST(Published, ARunIsAskedForItsSpeedupOrItsTime) {
  const Scratch scratch;
  const auto load = [&](const std::string& asked) {
    return published_of(
        scratch, std::string(kHead) + R"("kind": "speedups", "cases": [{"id": "a", "scenario_file": ")" +
                     std::string(kSourceFolder) + R"(/scenarios/paper/finetune_2x4_a100.json", "schedule": "acco", )" +
                     asked + "}]}");
  };
  const PublishedCase time = load(R"("run_time": "3 h 46 min")").cases.at(0);
  EXPECT_EQ(time.asked, Asked::kRunTime);
  EXPECT_EQ(time.group, kPaperGroup);
  EXPECT_EQ(time.measured, 3 * 3600 + 46 * 60);
  EXPECT_EQ(time.published, "3 h 46 min");
  EXPECT_EQ(load(R"("speedup": 7.79)").cases.at(0).asked, Asked::kSpeedup);
  EXPECT_TRUE(holds(refusal_of([&] { load(R"("speedup": 7.79, "run_time": "29 min")"); }), "write two cases"));
  EXPECT_TRUE(holds(refusal_of([&] { load(R"("run_time": "0 s")"); }), "/run_time: is not above 0"));
}

TEST(Published, NonsenseIsRefusedAtItsPlace) {
  const Scratch scratch;
  const auto wrong = [&](const std::string& cases) { return refusal_of([&] { training(scratch, cases); }); };
  // The cases are on line 6 of the file.
  has(wrong(R"({"id": "a", "measured": {"step_tim": "1 s"}})"), "runs.json:6:");
  has(wrong(R"({"id": "a", "measured": {"step_tim": "1 s"}})"), "/cases/0/measured/step_tim: unknown key");
  has(wrong(R"({"id": "a", "measured": {}})"), "/cases/0/measured: holds no measurement");
  has(wrong(R"({"id": "a"})"), "/cases/0/measured: missing");
  has(wrong(R"({"id": "a", "measured": {"step_time": "1"}})"), "/cases/0/measured/step_time: ");
  has(wrong(R"({"id": "a", "measured": {"tokens_per_s": -1}})"), "/cases/0/measured/tokens_per_s: is -1");
  has(wrong(R"({"id": "a", "trust": "C", "measured": {"step_time": "1 s"}})"), "/cases/0/trust: \"C\" is not known");
  has(wrong(R"({"id": "a", "schedule": "acco", "measured": {"step_time": "1 s"}})"), "/cases/0/schedule: ");
  has(wrong(R"({"id": "a", "scenario": "t", "measured": {"step_time": "1 s"}})"), "/cases/0/scenario: ");
  has(wrong(R"({"id": "a", "set": {"/training/micro_batch_sizes": 1}, "measured": {"step_time": "1 s"}})"),
      "/training/micro_batch_sizes: unknown key");
  has(wrong(R"({"id": "a", "not_expressible": "no", "published": "1 s"})"), "/cases/0/configuration: missing");
  has(wrong(R"({"id": "a", "not_expressible": "no", "configuration": "c", "published": "p", "measured": {}})"),
      "/cases/0/measured: unknown key");
  has(wrong(R"({"id": "a", "measured": {"step_time": "1 s"}}, {"id": "a", "measured": {"step_time": "1 s"}})"),
      "two cases are named \"runs/a\"");
  EXPECT_TRUE(holds(refusal_of([&] { load_published(scratch.path("nowhere")); }), "no folder"));
}

TEST(Published, EveryFileIsReadWhateverIsWrongWithAnother) {
  const Scratch scratch;
  scratch.write("v/a.json", "{");
  scratch.write("v/b.json", R"({"schema": "accosim.validation/1", "title": "T", "url": "u", "kind": "poems"})");
  scratch.write("v/bounds.json", R"({"schema": "accosim.bounds/1"})");  // not of this kind: none of our business
  const std::string errors = refusal_of([&] { load_published(scratch.path("v")); });
  EXPECT_TRUE(holds(errors, "a.json:1:"));
  EXPECT_TRUE(holds(errors, "/kind: \"poems\" is not known"));
  EXPECT_FALSE(holds(errors, "bounds"));
}

TEST(Published, AClusterThatIsNotThereIsToldOnceWhateverNamesIt) {
  // The second case finds the file known to be missing: it must not go on with a cluster without nodes.
  const Scratch scratch;
  std::string text =
      training_text(R"({"id": "a", "measured": {"step_time": "1 s"}}, {"id": "b", "measured": {"step_time": "1 s"}})");
  const std::size_t from = text.find("{\"schema\": \"accosim.cluster/1\"");
  text.replace(from, text.find("},\n  \"training\"") + 1 - from, "\"gone.json\"");
  const std::string errors = refusal_of([&] { published_of(scratch, text); });
  EXPECT_TRUE(holds(errors, "gone.json"));
}

Published collectives(const Scratch& scratch, const std::string& rows, const std::string& options = "") {
  scratch.write("v/coll.json", std::string(kHead) + R"("kind": "collectives", "clusters": {"f": {
    "schema": "accosim.cluster/1", "nodes": [{"count": 2, "gpus": 4, "device": "A100-SXM4-80GB",
    "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s"}, "nics": {"bandwidth": "100 Gbit/s"}}]}},
    "tables": [{"file": "t.csv")" + options +
                                   "}]}");
  scratch.write("v/t.csv", "fabric,collective,ranks,nodes,bytes,time_us\n" + rows);
  return load_published(scratch.path("v"));
}

TEST(Published, AClusterWhoseNodesAreNoValueIsNotAsked) {
  // A word that JSON does not have is told while parsing; what it stands for must not be taken for a list without
  // nodes.
  const Scratch scratch;
  scratch.write("v/coll.json", std::string(kHead) + R"("kind": "collectives", "clusters": {"f": {
    "schema": "accosim.cluster/1", "nodes": inf}}, "tables": [{"file": "t.csv"}]})");
  scratch.write("v/t.csv", "fabric,collective,ranks,nodes,bytes,time_us\nf,all_reduce,8,2,1024,30\n");
  const std::string errors = refusal_of([&] { load_published(scratch.path("v")); });
  EXPECT_TRUE(holds(errors, "/clusters/f/nodes: inf is not JSON"));
}

TEST(Published, RowsOfATableAreCasesOfTheirSize) {
  const Scratch scratch;
  const Published published = collectives(scratch,
                                          "f,all_reduce,8,2,1048575,10\nf,all_reduce,8,2,1048576,20\n"
                                          "f,all_to_all,4,1,4096,5\n",
                                          R"(, "offset": "3 us")");
  ASSERT_EQ(published.cases.size(), 3u);
  EXPECT_EQ(published.cases[0].group, kSmallBetweenGroup);
  EXPECT_EQ(published.cases[1].group, kLargeBetweenGroup);
  EXPECT_EQ(published.cases[2].group, kSmallGroup);
  EXPECT_DOUBLE_EQ(published.cases[1].measured, 20e-6);
  EXPECT_EQ(published.cases[1].collective.ranks, 8);
  EXPECT_EQ(published.cases[1].collective.offset, Seconds{3e-6});
  EXPECT_EQ(published.cases[1].series, published.cases[0].series);
  EXPECT_FALSE(published.cases[2].series == published.cases[0].series);
}

TEST(Published, ASizeThatIsSlowerPerByteThanASmallerOneIsLeftOut) {
  // MB/s by row: 105k, 42k, 140k, 137k (2 % less than the row before: noise), 168k.
  const Scratch scratch;
  const std::string rows =
      "f,all_reduce,8,2,1048576,10\nf,all_reduce,8,2,2097152,50\nf,all_reduce,8,2,4194304,30\n"
      "f,all_reduce,8,2,8388608,61\nf,all_reduce,8,2,16777216,100\n";
  const Published with = collectives(scratch, rows, R"(, "leave_out_misaligned": true)");
  ASSERT_EQ(with.cases.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(with.cases[i].scored(), i != 1) << i;
  for (const PublishedCase& one : collectives(scratch, rows).cases) EXPECT_TRUE(one.scored());
}

TEST(Published, ASourceMayTimeMoreThanTheCollective) {
  // Lists are copied: 2 x 4096 B through the memory, beside 5 us of its own.
  const Scratch scratch;
  const Published published = collectives(scratch, "f,all_reduce,8,2,4096,10\nf,all_gather,8,2,4096,10\n",
                                          R"(, "offset": {"all_gather": "5 us"}, "copied": ["all_gather"])");
  const Device& device = published.cases[0].collective.cluster->nodes[0].devices[0];
  const Seconds copies = Bytes{8192} / (device.memory_efficiency * device.memory_bandwidth);
  EXPECT_EQ(published.cases[0].collective.offset, Seconds{0});
  EXPECT_DOUBLE_EQ(published.cases[1].collective.offset.value, 5e-6 + copies.value);
}

TEST(Published, WrongRowsAreRefusedAtTheirPlace) {
  const Scratch scratch;
  const auto wrong = [&](const std::string& rows) { return refusal_of([&] { collectives(scratch, rows); }); };
  EXPECT_TRUE(holds(wrong("g,all_reduce,8,2,1024,10\n"), "t.csv:2:1: fabric: \"g\" is none of"));
  EXPECT_TRUE(holds(wrong("f,all_reduces,8,2,1024,10\n"), "t.csv:2:3: collective: "));
  EXPECT_TRUE(holds(wrong("f,all_reduce,9,2,1024,10\n"), "t.csv:2:14: ranks: 9 ranks on 2 nodes"));
  EXPECT_TRUE(holds(wrong("f,all_reduce,8,1,1024,10\n"), "ranks: 8 ranks on 1 nodes"));
  EXPECT_TRUE(holds(wrong("f,all_reduce,8,2,1024,-1\n"), "time_us: \"-1\" is no number"));
}

}  // namespace
}  // namespace accosim
