// advise as a user starts it: it finds what `compare` alone finds when every point is tried by hand, says the same each
// time, and what it gives can be run again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <regex>

#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/unwrapped.hpp"

namespace accosim {
namespace {

/// A cluster of few GPUs and a small model: what a test can try as a whole.
std::string scenario_text(const std::string& model, int nodes, int gpus, const std::string& rate,
                          const std::string& memory, const std::string& schedules) {
  return R"({"schema": "accosim.scenario/1", "model": ")" + model + R"(", "cluster": {"nodes": [{"count": )" +
         std::to_string(nodes) + R"(, "gpus": )" + std::to_string(gpus) +
         R"(, "device": {"inherits": "A100-SXM4-80GB", "memory": ")" + memory +
         R"("}, "intra": {"kind": "nvlink", "bandwidth": "300 GB/s"}, "nics": {"bandwidth": ")" + rate +
         R"("}, "price_per_gpu_hour": 2}]}, "training": {"sequence_length": 512, "micro_batch_size": 4, "gradient_accumulation_steps": 4,
         "train_tokens": 1e9, "attention": "naive"}, "schedules": [)" +
         schedules + "]}";
}

/// What --over is given, and the settings of each alternative, by hand.
struct TestAxis {
  std::string over;
  std::vector<std::vector<std::string>> alternatives;
};

struct SmallSpace {
  std::string text;
  std::vector<TestAxis> axes;
  bool cost = false;  ///< is what is made least
};

TestAxis pointer_axis(const std::string& pointer, const std::vector<std::string>& values) {
  TestAxis axis{pointer + "=", {}};
  for (const std::string& value : values) {
    axis.over += (axis.over.back() == '=' ? "" : ",") + value;
    axis.alternatives.push_back({pointer + "=" + value});
  }
  return axis;
}

/// A knob whose other alternative is one setting.
TestAxis knob_axis(const std::string& name, const std::string& set) { return {name, {{}, {set}}}; }

const TestAxis kBuckets = pointer_axis("/schedules/0/bucket_cap_mb", {"5", "25", "200"});
const TestAxis kOverlap = pointer_axis("/schedules/1/overlap", {"none", "backward"});
const TestAxis kLate = pointer_axis("/schedules/2/late_communication", {"wait", "accumulate"});
const TestAxis kImplementation = knob_axis("implementation", "/training/implementation=compiled");
const TestAxis kOptimizer = knob_axis("optimizer_implementation", "/training/optimizer_implementation=fused");
const TestAxis kAttention = knob_axis("attention", "/training/attention=flash");
const TestAxis kRecompute{"activation_recompute",
                          {{},
                           {"/training/activation_recompute=selective"},
                           {"/training/activation_recompute=full_early_stop", "/training/recompute_every=2"},
                           {"/training/activation_recompute=full_early_stop"}}};

/// 4 micro-batches of 4, on `nodes` nodes: larger ones and fewer, smaller ones and more. ACCO, the third schedule,
/// begins with one of two rounds where there is one.
TestAxis work_axis(bool acco) {
  const auto way = [](const char* size, const char* steps) {
    return std::vector<std::string>{std::string("/training/micro_batch_size=") + size,
                                    std::string("/training/gradient_accumulation_steps=") + steps};
  };
  TestAxis axis{"micro_batch", {{}, way("1", "16"), way("2", "8"), way("8", "2"), way("16", "1")}};
  if (acco) axis.alternatives.back().emplace_back("/schedules/2/micro_batches_per_round=1");
  return axis;
}

/// Half of the nodes, and for four a quarter and three quarters, on which 4 micro-batches would be 16/3.
TestAxis nodes_axis(int nodes) {
  TestAxis axis{"nodes", {{}}};
  for (int n = nodes - 1; n > 0; --n)
    if (4 * nodes % n == 0)
      axis.alternatives.push_back({"/training/micro_batch_size=4",
                                   "/training/gradient_accumulation_steps=" + std::to_string(4 * nodes / n),
                                   "/cluster/nodes/0/count=" + std::to_string(n)});
  return axis;
}

/// Twenty: five clusters, each with four sets of options. The memory is such that some points do not fit.
std::vector<SmallSpace> small_spaces() {
  const std::string three = R"({"name": "ddp"}, {"name": "zero1"}, {"name": "acco"})";
  const std::string with_dpu =
      R"({"name": "ddp"}, {"name": "zero1"}, {"name": "dpu"}, {"name": "zero2"}, {"name": "zero3"})";
  struct Ground {
    std::string text;
    int nodes;
    bool acco;
  };
  const std::vector<Ground> grounds = {
      {scenario_text("gpt2", 2, 1, "10 Gbit/s", "7 GiB", three), 2, true},
      {scenario_text("gpt2", 1, 4, "100 Gbit/s", "5 GiB", with_dpu), 1, false},
      {scenario_text("gpt2-medium", 2, 2, "25 Gbit/s", "10 GiB", three), 2, true},
      {scenario_text("gpt2-medium", 2, 2, "2 Gbit/s", "8 GiB", with_dpu), 2, false},
      {scenario_text("tinystories-36m", 4, 1, "1 Gbit/s", "2.35 GiB", three), 4, true}};
  std::vector<SmallSpace> spaces;
  for (const auto& [text, nodes, acco] : grounds) {
    spaces.push_back({text, {work_axis(acco), kImplementation}});
    spaces.push_back({text, {kRecompute, kBuckets, kOptimizer}});
    spaces.push_back({text, {kOverlap, kLate, kAttention}});
    spaces.push_back({text, {nodes > 1 ? nodes_axis(nodes) : kRecompute, kLate, kImplementation}, true});
  }
  return spaces;
}

struct Tried {
  double time_per_sample = 0;
  double cost = 0;  ///< of all tokens
  bool may_win = false;
  bool clean = false;  ///< and without a caveat
};

/// Every point by `compare` alone: by the settings and the label.
std::map<std::string, Tried> tried_by_compare(const std::string& file, const SmallSpace& space, double asked) {
  std::map<std::string, Tried> all;
  std::vector<std::vector<std::string>> points{{}};
  for (const TestAxis& axis : space.axes) {
    std::vector<std::vector<std::string>> more;
    for (const std::vector<std::string>& point : points)
      for (const std::vector<std::string>& alternative : axis.alternatives) {
        more.push_back(point);
        more.back().insert(more.back().end(), alternative.begin(), alternative.end());
      }
    points = more;
  }
  for (const std::vector<std::string>& point : points) {
    std::vector<std::string> words{"compare", file, "--json", "--no-tuned"};
    std::string name;
    for (const std::string& set : point) {
      words.insert(words.end(), {"--set", set});
      name += set + " ";
    }
    const ProgramRun run = accosim(words);
    if (run.exit_code != 0) continue;
    for (const Json& each : Json::parse(run.out)["results"].elements()) {
      const double samples = each["samples_per_update"].number();
      const bool may_win = each["fits"].value().boolean && std::abs(samples / asked - 1) <= 0.01;
      const bool clean = each["statistics"].text() == "synchronous" && each["fit_probability"].number() >= 0.9;
      all[name + each["label"].text()] = {each["update_time_s"].number() / samples, each["cost"].number(), may_win,
                                          may_win && clean};
    }
  }
  return all;
}

/// Returns how many points do not fit.
double expect_the_known_best(const std::vector<SmallSpace>& spaces, std::size_t from, std::size_t to) {
  double do_not_fit = 0;
  for (std::size_t s = from; s < to; ++s) {
    const TemporaryFolder folder;
    const std::string file = folder.write("small.json", spaces[s].text).string();
    const bool cost = spaces[s].cost;
    std::vector<std::string> words{"advise", file, "-j", "2", "--objective", cost ? "cost" : "time"};
    for (const TestAxis& axis : spaces[s].axes) words.insert(words.end(), {"--over", axis.over});
    const Json advice = results_of(words);
    const std::map<std::string, Tried> tried = tried_by_compare(file, spaces[s], advice["samples_per_update"].number());
    double least = std::numeric_limits<double>::infinity();
    std::size_t may_win = 0;
    for (const auto& [name, each] : tried) {
      if (each.clean) least = std::min(least, cost ? each.cost : each.time_per_sample);
      may_win += each.may_win ? 1 : 0;
    }
    EXPECT_TRUE(advice["exhaustive"].value().boolean);
    EXPECT_EQ(advice["played"].number() + advice["cannot_win"].number(), static_cast<double>(may_win)) << s;
    do_not_fit += advice["does_not_fit"].number();
    const Json winner = advice["winner"];
    std::string name;
    for (const Json& set : winner["set"].elements()) {
      const std::string text = set.text();  // what leaves the winner alone is no point of the space
      if (text.rfind("/baseline=", 0) != 0 && !text.ends_with("=null")) name += text + " ";
    }
    EXPECT_TRUE(tried.contains(name + winner["label"].text())) << s << ": " << name;
    if (!tried.contains(name + winner["label"].text())) continue;
    const Tried& known = tried.at(name + winner["label"].text());
    EXPECT_TRUE(known.clean) << s << ": " << name;
    EXPECT_EQ(known.time_per_sample, winner["time_per_sample_s"].number()) << s << ": " << name;
    EXPECT_EQ(known.cost, winner["cost"].number()) << s << ": " << name;
    EXPECT_LE(cost ? known.cost : known.time_per_sample, least * (1 + 1.01e-4)) << s << ": " << name;
  }
  return do_not_fit;
}

// Parts, so that they run side by side.
void expect_part(std::size_t part) {
  const std::vector<SmallSpace> spaces = small_spaces();
  ASSERT_EQ(spaces.size(), 20U);
  const double do_not_fit = expect_the_known_best(spaces, 4 * part, 4 * part + (thorough() ? 4 : 1));
  EXPECT_TRUE(do_not_fit > 0 || !thorough()) << "some do not fit";
}
TEST(Advise, FindsTheKnownBestOnTwoSingleGpus) { expect_part(0); }
TEST(Advise, FindsTheKnownBestOnANode) { expect_part(1); }
TEST(Advise, FindsTheKnownBestOnTwoNodes) { expect_part(2); }
TEST(Advise, FindsTheKnownBestOnASlowNetwork) { expect_part(3); }
TEST(Advise, FindsTheKnownBestOnFourSingleGpus) { expect_part(4); }

TEST(Advise, WhatIsNotPlayedForItsManyCollectivesWouldNotHaveWon) {
  // ZeRO-3 on 12 blocks gathers and reduces 42 units a micro-batch: from 36 of them on they are more than 1500.
  std::string text = scenario_text("gpt2", 2, 1, "10 Gbit/s", "60 GiB", R"({"name": "zero3"}, {"name": "zero1"})");
  const std::string steps = "\"gradient_accumulation_steps\": ";
  text.replace(text.find(steps + "4"), steps.size() + 1, steps + "16");
  const SmallSpace space{text,
                         {pointer_axis("/training/micro_batch_size", {"1", "4", "8"}),
                          pointer_axis("/training/gradient_accumulation_steps", {"8", "16", "64"}),
                          pointer_axis("/training/activation_recompute", {"none", "full"})}};
  expect_the_known_best({space}, 0, 1);
  const TemporaryFolder folder;
  const Json advice =
      results_of({"advise", folder.write("small.json", text).string(), "--over", "/training/micro_batch_size=1,4,8",
                  "--over", "/training/gradient_accumulation_steps=8,16,64"});
  EXPECT_EQ(advice["cannot_win"].number(), 1) << "ZeRO-3 with 64 micro-batches";
}

const std::vector<std::string> kAdvise{"advise", "finetune_1x8_a100", "--schedule", "zero1", "--schedule", "acco"};

std::vector<std::string> advise_with(const std::vector<std::string>& more) { return with(kAdvise, more); }

TEST(Advise, SaysTheSameHoweverManyProcessesPlay) {
  const ProgramRun one = accosim(advise_with({"-j", "1", "--budget", "60 points"}));
  const ProgramRun three = accosim(advise_with({"-j", "3", "--budget", "60"}));
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.out, three.out);
  EXPECT_NE(one.out.find(" 60 were simulated"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("cannot be told apart"), std::string::npos) << one.out;
}

TEST(Advise, TheWinnerCanBeRunAgain) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "winner.json").string();
  const Json advice = results_of(advise_with({"-o", file}));
  const Json winner = advice["winner"];
  const Json saved = results_of({"compare", file})["results"][0];
  EXPECT_EQ(saved["update_time_s"].number(), winner["update_time_s"].number());
  std::vector<std::string> words{"compare", "finetune_1x8_a100"};
  for (const Json& set : winner["set"].elements()) words.insert(words.end(), {"--set", set.text()});
  const Json again = results_of(words)["results"][0];
  for (const char* const key : {"update_time_s", "update_time_s_low", "update_time_s_high", "memory_resident_bytes",
                                "bytes_sent_per_rank_per_update", "exposed_communication_s"})
    EXPECT_EQ(again[key].number(), winner[key].number()) << key;
  // What was searched among the scenario's own schedules leaves the winner alone too.
  const Json narrow = results_of({"advise", "finetune_1x8_a100", "--over", "micro_batch", "-o", file, "--force"});
  const Json alone = results_of({"compare", file, "--no-tuned"})["results"];
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0]["label"], narrow["winner"]["label"]);
  EXPECT_EQ(alone[0]["update_time_s"].number(), narrow["winner"]["update_time_s"].number());
  // The same verb may write it again; another's file it leaves alone.
  EXPECT_EQ(accosim(advise_with({"-o", file, "--budget", "20"})).exit_code, 0);
  const std::string mine = folder.write("mine.json", R"({"schema": "accosim.scenario/1"})").string();
  expect_told(accosim(advise_with({"-o", mine})), 1, "--force");
}

TEST(Advise, EveryPointIsCountedAndTheFrontIsOne) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const Json advice = results_of(advise_with({"--budget", "4000"}));
  EXPECT_EQ(advice["schema"].text(), "accosim.advice/2");
  EXPECT_TRUE(advice["exhaustive"].value().boolean);
  double counted = 0;
  for (const char* const key : {"played", "cannot_win", "does_not_fit", "other_batch", "refused"})
    counted += advice[key].number();
  EXPECT_EQ(counted, advice["points"].number());
  EXPECT_EQ(advice["points"].number(), advice["candidates"].number());
  const std::vector<Json> front = advice["front"].elements();
  ASSERT_FALSE(front.empty());
  EXPECT_EQ(front[0]["set"], advice["winner"]["set"]);
  for (const Json& a : front)
    for (const Json& b : front) {
      const auto less = [&](const char* key) { return a[key].number() < b[key].number(); };
      if (a["set"] == b["set"]) continue;
      EXPECT_TRUE(less("time_per_sample_s") || less("memory_resident_bytes") || less("bytes_sent_per_rank_per_update"));
    }
}

TEST(Advise, WhereNothingFitsItSaysSo) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const ProgramRun run = accosim(advise_with({"--budget", "4000", "--set", "/cluster/nodes/0/device/memory=2 GiB"}));
  EXPECT_EQ(run.exit_code, 1);
  // Whatever is looked at, the model split too, which nobody asked for: what cannot be had is all that was tried.
  std::smatch tried;
  ASSERT_TRUE(
      std::regex_match(run.err, tried, std::regex("none of (\\d+) points fits at the batch that was asked for\n")))
      << run.err;
  EXPECT_EQ(run.out.rfind("None of ", 0), 0U) << run.out;
  const std::string text = unwrapped(run.out);
  EXPECT_NE(text.find(tried[1].str() + " do not fit into memory"), std::string::npos) << run.out;
  EXPECT_NE(text.find("varied 2 schedules, parallel, "), std::string::npos) << run.out;
}

TEST(Advise, SamplesOfAnotherLengthCountPerToken) {
  // Half of the tokens take more than half of the time, so that shorter samples win by the sample and lose by the
  // token.
  const std::vector<std::string> scenario{"slow_network_4x8_a100", "--schedule", "zero1"};
  std::vector<double> updates, totals;
  for (const char* const length : {"512", "1024"}) {
    const Json one = result(results_of({"compare", scenario[0], scenario[1], scenario[2], "--set",
                                        std::string("/training/sequence_length=") + length}),
                            "zero1");
    updates.push_back(one["update_time_s"].number());
    totals.push_back(one["total_time_s"].number());
  }
  ASSERT_LT(updates[0], updates[1]);
  ASSERT_GT(totals[0], totals[1]);
  const Json winner = results_of(
      {"advise", scenario[0], scenario[1], scenario[2], "--over", "/training/sequence_length=512,1024"})["winner"];
  EXPECT_EQ(winner["set"][0].text(), "/training/sequence_length=1024");
}

TEST(Advise, APointIsJudgedForEachScheduleByItself) {
  // FSDP does not run in a pipeline, and ZeRO-1 does: 2 replicas of 2 stages do 8 micro-batches of 4, the 64 samples
  // that 4 replicas do with 4.
  const TemporaryFolder folder;
  const std::string file = folder
                               .write("two.json", scenario_text("gpt2", 1, 4, "100 Gbit/s", "60 GiB",
                                                                R"({"name": "zero3"}, {"name": "zero1"})"))
                               .string();
  const Json advice = results_of({"advise", file, "--over", R"(/training/parallel={"pipeline_parallel_size": 2})",
                                  "--over", "/training/gradient_accumulation_steps=8"});
  EXPECT_EQ(advice["played"].number(), 1);
  EXPECT_EQ(advice["refused"].number(), 1);
  EXPECT_EQ(advice["winner"]["label"].text(), "zero1");
  std::vector<std::string> words{"compare", "--no-tuned", file};
  for (const Json& set : advice["winner"]["set"].elements()) words.insert(words.end(), {"--set", set.text()});
  const Json again = results_of(words)["results"];
  ASSERT_EQ(again.size(), 1U) << "the other entry is left out";
  EXPECT_EQ(again[0]["update_time_s"].number(), advice["winner"]["update_time_s"].number());
}

TEST(Advise, WhoReducesInAnotherTypeIsSaidTo) {
  const TemporaryFolder folder;
  const auto text_of = [&](const std::string& zero1) {
    const std::string text = scenario_text("gpt2", 2, 2, "25 Gbit/s", "60 GiB",
                                           zero1 + R"(, {"name": "acco", "late_communication": "wait"})");
    const std::string file = folder.write("types.json", text).string();
    std::string out = accosim({"advise", file, "--over", "micro_batch", "--set", "/training/framework=megatron",
                               "--set", "/training/precision=bf16"})
                          .out;
    std::replace(out.begin(), out.end(), '\n', ' ');
    return out;
  };
  // What Megatron-LM does by itself is said of the schedule as it is written alone.
  const std::string usual = text_of(R"({"name": "zero1"})");
  EXPECT_NE(usual.find("zero1 as written (gradients reduced in fp32, not in bf16)"), std::string::npos) << usual;
  EXPECT_EQ(usual.find("more (gradients reduced"), std::string::npos) << usual;
  EXPECT_NE(text_of(R"({"name": "zero1", "gradient_dtype": "fp32"})").find("gradients reduced in"), std::string::npos);
}

TEST(Advise, WhatFewerNodesCostComesFirst) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("nodes.json", scenario_text("gpt2", 2, 2, "25 Gbit/s", "60 GiB", R"({"name": "zero1"})")).string();
  const std::vector<std::string> words{"advise", file,    "--objective", "cost",
                                       "--over", "nodes", "--over",      "micro_batch"};
  EXPECT_NE(accosim(words).exit_code, 0) << "both set the accumulation";
  const ProgramRun run = accosim_done({"advise", file, "--objective", "cost", "--over", "nodes"});
  const std::size_t table = run.out.find("cheapest schedule"), rest = run.out.find("asked for");
  ASSERT_NE(table, std::string::npos) << run.out;
  EXPECT_LT(table, rest);
  const Json advice = results_of({"advise", file, "--objective", "cost", "--over", "nodes"});
  ASSERT_EQ(advice["by_nodes"].size(), 2U);
  for (const std::size_t i : {0U, 1U}) {
    const Json row = advice["by_nodes"][i];
    EXPECT_EQ(row["nodes"].number(), static_cast<double>(i + 1));
    // 2 GPUs a node at 2 an hour.
    EXPECT_NEAR(row["cost"].number(), row["total_time_s"].number() / 3600 * 4 * row["nodes"].number(),
                1e-9 * row["cost"].number());
  }
  const std::vector<std::string> in_euros{"advise", file, "--objective", "cost", "--set", "/cluster/currency=EUR"};
  EXPECT_TRUE(holds(accosim_done(in_euros).out, " EUR for all tokens"));
  EXPECT_EQ(results_of(in_euros)["currency"].text(), "EUR");
}

TEST(Advise, WrongOptionsAreToldWithWhatToWrite) {
  expect_told(accosim(advise_with({"--budget", "many"})), 1, "\"2000 points\"");
  const ProgramRun price = accosim({"advise", "finetune_1x8_a100", "--objective", "cost"});
  expect_told(price, 1, "price_per_gpu_hour");
  // A cluster without a price is refused, and is not for nothing.
  const ProgramRun free =
      accosim({"advise", "finetune_1x8_a100", "--schedule", "zero1", "--objective", "cost", "--set",
               "/cluster/nodes/0/price_per_gpu_hour=2", "--over", "/cluster/nodes/0/price_per_gpu_hour=0,2"});
  EXPECT_EQ(free.exit_code, 0);
  EXPECT_NE(free.out.find("has no price_per_gpu_hour above 0"), std::string::npos) << free.out;
  expect_told(accosim({"advise", "finetune_1x8_a100", "--schedule", "zero9"}), 1, "zero9");
}

TEST(Advise, SaysThatAMixWasSeldomMeasured) {
  const auto node = [](const char* device, const char* precision) {
    return std::string(R"({"device": ")") + device + R"(", "gpus": 1, "precision": ")" + precision +
           R"(", "nics": {"bandwidth": "10 Gbit/s"}})";
  };
  const TemporaryFolder folder;
  const std::string path =
      folder
          .write("mix.json", R"({"schema": "accosim.scenario/1", "model": "gpt2", "cluster": {"nodes": [)" +
                                 node("A100-SXM4-80GB", "bf16") + ", " + node("V100-SXM2-32GB", "fp16") +
                                 R"(]}, "training": {"sequence_length": 512, "micro_batch_size": 4,
    "gradient_accumulation_steps": 4, "train_tokens": 1e9, "attention": "naive"}, "schedules": [{"name": "ddp"}]})")
          .string();
  const std::vector<std::string> line = {"advise", path,     "--schedule",
                                         "ddp",    "--over", "/schedules/0/bucket_cap_mb=5,25"};
  const std::string caution = "of GPUs of several kinds in one job accosim knows only 4 published training steps";
  EXPECT_NE(unwrapped(accosim(line).out).find("Caution: " + caution), std::string::npos);
  std::vector<std::string> json = line;
  EXPECT_EQ(results_of(json)["cautions"][0]["code"].text(), "few_mixed_steps");
  json.insert(json.end(), {"--set", "/cluster/nodes/1/count=0"});
  EXPECT_EQ(results_of(json)["cautions"].size(), 0U);
}

}  // namespace
}  // namespace accosim
