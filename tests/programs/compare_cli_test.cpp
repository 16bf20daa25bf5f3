// compare, run, explain, resolve and traces as a user starts them: what they print, and that predictions have not
// moved.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/programs/measured_machine.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

TEST(Explain, GrowthIsAPageInWhichNamesAreNoMarkup) {
  const ProgramRun run = accosim_done({"explain", "llama-2-7b_fsdp_hsdp", "--growth", "--set",
                                       R"(/cluster/nodes/0/device={"inherits": "A100-SXM4-80GB", "name": "<b>|x"})"});
  EXPECT_TRUE(holds(run.out, "\\<b>\\|x"));
}

TEST(Compare, AnUpdateOfAMillionYearsIsPredictedLikeAnyOther) {
  const Json document = results_of({"compare", "straggler_4x8_a100", "--schedule", "ddp", "--no-tuned", "--set",
                                    R"(/cluster/nodes/0/device={"inherits": "A100-SXM4-80GB", "name": "slow",
                                     "adamw_time_per_parameter": "2000 s"})"});
  EXPECT_GT(document["results"][0]["update_time_s"].number(), 1e12);
}

// Nothing that a run says can end in a bug of accosim: it is refused with its place.
TEST(Compare, ARunThatCannotBeIsRefusedWithItsPlace) {
  const TemporaryFolder folder;
  const std::string machine = folder.write("machine.json", kMeasuredMachine).string();
  const auto compared = [&](const std::string& options, const std::string& updates, const std::string& spans) {
    return accosim({"compare",
                    folder
                        .write("run.json", R"({"schema": "accosim.run/1", "algorithm": "acco", "ranks": 1,
      "parameters": 1000, "options": {"slow": {}, "micro_batches_per_round": )" +
                                               options + R"(},
      "updates_left_out": 1, "updates": [)" + updates +
                                               R"(], "spans": [)" + spans + "]}")
                        .string(),
                    "--machine", machine, "--trace", (folder.path / "both.json").string()});
  };
  const std::string two = R"({"seconds": 1, "samples": 4}, {"seconds": 1, "samples": 4})";
  const ProgramRun good = compared(
      "2", two,
      micro_batch_span("1", "1.5") + "," + micro_batch_span("1.5", "2") + "," + micro_batch_span("900000", "900001"));
  EXPECT_EQ(good.exit_code, 0) << good.err;
  // A look every 10^9 micro-batches: so many are predicted, and would be drawn.
  expect_told(compared("2, \"poll_every\": 1000000000", two, ""), 1, "more than 2000000 parts");
  for (const ProgramRun& bad :
       {compared("2000000000", two, ""), compared("2", "", ""), compared("2", two, micro_batch_span("1", "0.5")),
        compared("2", two, micro_batch_span("1", "2") + "," + micro_batch_span("1.5", "1.6")),
        compared("2", two, micro_batch_span("1", "1e300"))}) {
    expect_told(bad, 1, "run.json:");
    EXPECT_EQ(bad.err.find("a bug"), std::string::npos) << bad.err;
  }
}

TEST(Compare, ShardedSchedulesTradeTimeForMemory) {
  // The more is sharded, and the wider, the less memory; what is gathered again costs time.
  const Json document = results_of({"compare", "scenarios/llama-2-7b_fsdp_hsdp.json", "--no-tuned"});
  const auto memory = [&](const char* label) { return result(document, label)["memory_resident_bytes"].number(); };
  EXPECT_GT(memory("ZeRO-1"), memory("ZeRO-2"));
  EXPECT_GT(memory("ZeRO-2"), memory("FSDP"));
  EXPECT_GT(memory("FSDP, kept"), memory("FSDP"));
  EXPECT_GT(memory("HSDP"), memory("FSDP"));
  const auto time = [&](const char* label) { return result(document, label)["update_time_s"].number(); };
  EXPECT_LT(time("FSDP, kept"), time("FSDP"));
}

TEST(Compare, FastGpusOfThePaperAccumulateWhileTheSlowOneFinishes) {
  // One of four GPUs is 4 times slower. In the time in which DDP does a micro-batch on each (4), ACCO's fast GPUs do 4
  // each and the slow one 1: 13, so 13/4 = 3.25 times the tokens per second. The count of micro-batches waits for the
  // slow GPU on one of their 108 multiprocessors, so four micro-batches take them a little longer than the slow one
  // takes for its one: in a few rounds of a hundred they do 3.
  const Json document = results_of({"compare", "hetero_4xa100_one_slow", "--no-tuned"});
  const Json acco = result(document, "acco");
  EXPECT_NEAR(acco["speedup"].number(), 3.25, 0.03 * 3.25);
  double micro_batches = 0;
  for (const Json& alike : acco["rank_classes"].elements()) {
    const Json counts = alike["micro_batches_per_round"];
    const bool slow = alike["ranks"] == "3";
    EXPECT_NEAR(counts["mean"].number(), slow ? 1 : 4, slow ? 0 : 0.05);
    EXPECT_EQ(counts["least"], slow ? 1 : 3);
    EXPECT_EQ(counts["most"], slow ? 1 : 4);
    micro_batches += alike["count"].number() * counts["mean"].number();
  }
  EXPECT_NEAR(micro_batches, 13, 3 * 0.05);
  EXPECT_FALSE(acco.contains("ranks"));
  const Json all = result(results_of({"compare", "hetero_4xa100_one_slow", "--all-ranks", "--no-tuned"}), "acco");
  ASSERT_EQ(all["ranks"].size(), 4u);
  EXPECT_EQ(all["ranks"][3]["micro_batches_per_round"]["mean"], 1);
  const auto neither = accosim({"compare", "finetune_2x4_a100", "--all-ranks"});
  expect_told(neither, 2, "--json");
}

TEST(Compare, AStragglerCostsAccoOnlyItsOwnShare) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  // One of 32 GPUs takes x times as long. ZeRO-1 waits for it: an update of A micro-batches of time t takes x A t + R,
  // R being what is not computation (its exposed communication, the optimizer); so A t = T(2) - T(1), and with e = R /
  // (A t) it takes (x + e) A t. ACCO hides R and nobody waits: in a time A t, 31 GPUs do A micro-batches each and the
  // slow one A / x, (31 + 1/x) A instead of 32 A. Per token the gain is (x + e) (31 + 1/x) / 32. Collectives hold
  // multiprocessors meanwhile; the count of micro-batches, which waits for the slow GPU most of the time, only one.
  const std::vector<std::string> network = {"/nics/count=8", "/nics/bandwidth=200 Gbit/s"};
  for (const bool dgx : {false, true}) {
    const auto run = [&](double x, const char* label) {
      std::vector<std::string> words = {"compare", "straggler_4x8_a100", "--schedule", "zero1", "--schedule",
                                        "acco",    "--no-tuned"};
      const auto set = [&](const std::string& value) {
        words.insert(words.end(), {"--set", "/cluster/nodes/" + value});
      };
      set("1/device/0/slowdown=" + std::to_string(x));
      for (const char* group : {"0", "1"})
        if (dgx) set(group + network[0]), set(group + network[1]);
      return result(results_of(words), label);
    };
    const double update = run(1, "zero1")["update_time_s"].number();
    const double computing = run(2, "zero1")["update_time_s"].number() - update;
    const double e = update / computing - 1;
    EXPECT_GT(e, dgx ? 0.003 : 0.02);
    for (const double x : {1.0, 1.1, 1.3, 1.5, 2.0}) {
      const double law = (x + e) * (31 + 1 / x) / 32;
      EXPECT_NEAR(run(x, "acco")["speedup"].number(), law, 0.01 * law) << x << (dgx ? " on a DGX's network" : "");
    }
  }
}

TEST(Compare, OnUnlikeGpusTheGainIsSetAgainstABalancedBaselineAndTheA100Alone) {
  // Every GPU with 10 micro-batches of 4: the A100 wait for the V100, about 2.2 times slower. In ACCO's time for an
  // update an A100 does about 22, and so it does in a balanced step, whose micro-batches have sizes of their own.
  const std::string scenario = "mixed_16_a100_16_v100";
  const Json document = results_of({"compare", scenario});
  const double asked = 32 * 10 * 4;
  const Json baselines = document["fair_baselines"], gain = document["fair_gains"][0];
  // The best synchronous schedule communicates in every micro-batch, so none is played at ACCO's larger batch.
  ASSERT_EQ(baselines.size(), 3U);
  EXPECT_EQ(document["fair_gains"].size(), 1U);
  EXPECT_EQ(gain["label"], "acco");
  EXPECT_GT(gain["speedup"].number(), 1.5);
  EXPECT_LT(gain["by_hiding"].number(), 1.05);
  EXPECT_NEAR(gain["by_hiding"].number(), result(document, "acco")["speedup_over_best_synchronous"].number(), 1e-9);
  EXPECT_GT(gain["share_of_balance"].number(), 0.9);
  EXPECT_EQ(gain["speedup"], result(document, "acco")["speedup"]);
  // Batches are whole micro-batches of the 16 GPUs of a kind.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(baselines[i]["samples_per_update"].number(), asked, 16 * 4) << i;
  const Json first = baselines[0];
  EXPECT_EQ(first["kind"], "balanced");
  EXPECT_TRUE(first["part"].is_null());
  ASSERT_EQ(first["accumulation"].size(), 2U);
  const double samples = sum_of<double>(first["accumulation"].elements(), [](const Json& share) {
    return share["gpus"].number() * share["micro_batch_size"].number() * share["gradient_accumulation_steps"].number();
  });
  EXPECT_EQ(samples, first["samples_per_update"].number());
  EXPECT_EQ(baselines[1]["kind"], "part");
  EXPECT_EQ(baselines[1]["part"], "16 A100-SXM4-80GB");
  EXPECT_EQ(baselines[2]["part"], "16 V100-SXM2-32GB");
  // The two parts together do what the balanced mix does, but for its slower network: each sends as much.
  EXPECT_NEAR(
      (baselines[1]["tokens_per_s"].number() + baselines[2]["tokens_per_s"].number()) / first["tokens_per_s"].number(),
      1, 0.06);
  std::string text = accosim({"compare", scenario}).out;
  std::replace(text.begin(), text.end(), '\n', ' ');  // lines end where the terminal does
  EXPECT_TRUE(holds(text, "times by balance, which ACCO does by itself (" + first["work"].text() + ")"));
  EXPECT_FALSE(results_of({"compare", "scenarios/paper/finetune_2x4_a100.json"}).contains("fair_baselines"));
}

TEST(Compare, BalancedBySpeedZero1IsAsFastAsItsFairBaselineOrFaster) {
  const std::string scenario = "mixed_16_a100_16_v100";
  const Json written = results_of({"compare", scenario, "--no-tuned"});
  const Json balanced = results_of({"compare", scenario, "--set", "/training/balance=speed"});
  EXPECT_GE(result(balanced, "zero1")["tokens_per_s"].number(),
            0.99 * written["fair_baselines"][0]["tokens_per_s"].number());
  // What is chosen is chosen for each schedule, not when the scenario is read: what was resolved resolves to itself.
  const TemporaryFolder folder;
  const std::string resolved = accosim({"resolve", scenario, "--set", "/training/balance=speed"}).out;
  EXPECT_EQ(resolved.find("\"/cluster/nodes/1/gradient_accumulation_steps\""), std::string::npos);
  EXPECT_EQ(accosim({"resolve", folder.write("resolved.json", resolved).string()}).out, resolved);
}

TEST(Compare, AGroupOfNoNodesChangesNothing) {
  const TemporaryFolder folder;
  const std::string scenario = "scenarios/mixed_a100_v100.json", none = "/cluster/nodes/1/count=0";
  const Json absent = results_of({"compare", scenario, "--set", none});
  EXPECT_EQ(absent["gpus"], 16);
  // The A100 alone are also what the comparison of the mix plays beside it, there with 5 micro-batches of 8.
  const Json mix = results_of({"compare", scenario, "--no-tuned"});
  const Json alone = results_of({"compare", scenario, "--set", none, "--set", "/training/gradient_accumulation_steps=5",
                                 "--set", "/schedules/3/micro_batches_per_round=3"});
  const Json part = mix["fair_baselines"][mix["fair_baselines"].size() - 2];
  ASSERT_EQ(part["part"], "16 A100-SXM4-80GB");
  EXPECT_NEAR(part["update_time_s"].number() / result(alone, "ddp")["update_time_s"].number(), 1, 1e-9);
  const auto runs = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--set", none});
    return accosim_done(words).out;
  };
  EXPECT_EQ(runs({"explain", scenario}).find("V100"), std::string::npos);
  EXPECT_EQ(runs({"run", scenario, "--schedule", "acco", "--trace", (folder.path / "t.json").string()}).find("V100"),
            std::string::npos);
  const std::string resolved = runs({"resolve", scenario});
  EXPECT_EQ(accosim({"resolve", folder.write("resolved.json", resolved).string()}).out, resolved);
}

TEST(Compare, PrintsThePapersRatiosAndTimesBesideItsOwn) {
  struct Row {
    double ratio;
    int acco_minutes, ddp_minutes;
  };
  const std::map<std::string, Row> published = {{kPaperRows[0], {1.06, 4 * 60 + 25, 4 * 60 + 41}},
                                                {kPaperRows[1], {1.345, 10 * 60 + 55, 14 * 60 + 41}},
                                                {kPaperRows[2], {1.72, 25, 43}},
                                                {kPaperRows[3], {7.79, 29, 3 * 60 + 46}}};
  for (const auto& [scenario, row] : published) {
    const Json results = results_of({"compare", scenario, "--no-tuned"});
    const Json acco = result(results, "acco"), ddp = results["results"][0];
    EXPECT_EQ(acco["published_speedup"], row.ratio) << scenario;
    EXPECT_EQ(acco["published_time_s"], 60 * row.acco_minutes) << scenario;
    EXPECT_EQ(ddp["label"], "DDP as released");
    EXPECT_EQ(ddp["published_time_s"], 60 * row.ddp_minutes) << scenario;
    for (const Json& one : {acco, ddp})
      EXPECT_NEAR(one["published_time_error"].number(),
                  one["total_time_s"].number() / one["published_time_s"].number() - 1, 1e-9);
    EXPECT_EQ(acco["published_of_another_run"], false);
    EXPECT_GT(acco["speedup"].number(), 1) << scenario;
    const ProgramRun text = accosim({"compare", scenario, "--no-tuned"});
    EXPECT_TRUE(holds(text.out, "published")) << scenario;
  }
}

TEST(Compare, GivesTheSameBytesTwice) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  for (const std::string& scenario : shipped_scenarios()) {
    for (const char* format : {"", "--json"}) {
      std::vector<std::string> arguments{"compare", scenario};
      if (*format != '\0') arguments.push_back(format);
      EXPECT_EQ(accosim(arguments).out, accosim(arguments).out) << scenario;
    }
  }
}

TEST(Compare, TheNetworksAgreeWhereNoLinkIsShared) {
  for (const std::string& scenario : shipped_scenarios()) {
    const Json simgrid = results_of({"compare", scenario, "--network", "simgrid", "--no-tuned"});
    const Json reference = results_of({"compare", scenario, "--network", "reference", "--no-tuned"});
    for (std::size_t i = 0; i < simgrid["results"].size(); ++i) {
      const double a = simgrid["results"][i]["update_time_s"].number(),
                   b = reference["results"][i]["update_time_s"].number();
      EXPECT_NEAR(a / b, 1, 1e-9) << scenario;
    }
  }
}

TEST(Compare, ScheduleChoosesAndSetReplacesThroughFiles) {
  const std::string scenario = "scenarios/paper/finetune_2x4_a100.json";
  const Json one = results_of({"compare", scenario, "--schedule", "acco", "--no-tuned"});
  ASSERT_EQ(one["results"].size(), 1u);
  const double slow = one["results"][0]["update_time_s"].number();
  // More of what the host copies, in a file that the scenario names, with and without quotes around the text.
  const Json plain =
      results_of({"compare", scenario, "--schedule", "acco", "--set", "/cluster/nodes/0/nics/staging=80 GB/s"});
  const Json quoted =
      results_of({"compare", scenario, "--schedule", "acco", "--set", "/cluster/nodes/0/nics/staging=\"80 GB/s\""});
  EXPECT_LT(plain["results"][0]["update_time_s"].number(), slow);
  EXPECT_EQ(plain["results"], quoted["results"]);
}

TEST(Compare, ASlowNetworkCostsNoTimeNorMemory) {
  // At 10 Mbit/s a round lasts tens of thousands of micro-batches, and the baseline at that batch as many all-reduces
  // of hundreds of buckets.
  const ProgramRun run = accosim_done({"compare", "scenarios/paper/finetune_2x4_a100.json", "--json", "--set",
                                       "/cluster/nodes/0/nics/bandwidth=10 Mbit/s"});
  EXPECT_LT(run.peak_kib, 512 * 1024);
  const Json acco = result(Json::parse(run.out), "acco");
  EXPECT_GT(acco["batch_inflation"].number(), 1000);
  // The published figure is of another run than this one, and says so.
  EXPECT_EQ(acco["published_speedup"], 7.79);
  EXPECT_EQ(acco["published_of_another_run"], true);
  EXPECT_TRUE(holds(run.err, "this is another run than the published one"));
}

TEST(Compare, HugeNumbersAreRefusedOrPlayed) {
  const std::string scenario = "scenarios/paper/finetune_2x4_a100.json";
  expect_told(accosim({"compare", scenario, "--set", "/training/gradient_accumulation_steps=1000000"}), 1,
              "raise its bucket_cap_mb");
  for (const char* set : {"/schedules/3/poll_every=1000000000", "/schedules/3/micro_batches_per_round=1000000000"}) {
    const ProgramRun run = accosim_done({"compare", scenario, "--schedule", "acco", "--set", set});
    EXPECT_LT(run.peak_kib, 512 * 1024);
  }
  const TemporaryFolder folder;
  const ProgramRun trace = accosim({"run", scenario, "--set", "/cluster/nodes/0/nics/bandwidth=1 kB/s", "--set",
                                    "/cluster/nodes/0/nics/latency=200 h", "--trace-updates", "9", "--trace",
                                    (folder.path / "trace.json").string()});
  expect_told(trace, 1, "285 years");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path)) << "a trace that failed leaves nothing behind";
}

TEST(Run, GivesNoComparison) {
  const Json document = results_of({"run", "scenarios/paper/finetune_2x4_a100.json", "--schedule", "zero1"});
  EXPECT_TRUE(document["results"][0]["speedup"].is_null());
}

TEST(Resolve, IsAScenarioThatGivesTheSameResults) {
  const TemporaryFolder folder;
  for (const std::string& scenario : shipped_scenarios()) {
    const ProgramRun resolved = accosim_done({"resolve", scenario});
    const std::string copy = folder.write("resolved.json", resolved.out).string();
    EXPECT_EQ(accosim({"resolve", copy}).out, resolved.out) << scenario;
    std::vector<std::string> compare{"compare", scenario}, again{"compare", copy};
    if (!thorough())  // half of the time is the tuned rows'
      for (std::vector<std::string>* words : {&compare, &again}) words->emplace_back("--no-tuned");
    EXPECT_EQ(results_of(again), results_of(compare)) << scenario;
  }
}

TEST(Explain, AccountsForTheUpdate) {
  for (const std::string& scenario : shipped_scenarios()) {
    const ProgramRun run = accosim_done({"explain", scenario});
    EXPECT_TRUE(holds(run.out, "forward and backward")) << scenario;
    EXPECT_EQ(run.out.find("nothing to do"), std::string::npos) << scenario;
  }
}

TEST(Trace, HoldsOneOfManyRanksThatDoTheSameOrThoseThatAreAskedFor) {
  // 128 equal GPUs: to draw them all would take as many times as long as one.
  const TemporaryFolder folder;
  const std::string path = (folder.path / "trace.json").string();
  const auto slices = [&](const std::vector<std::string>& more) {
    const ProgramRun run =
        accosim_done(with({"run", "pretrain_4x8_a100", "--set", "/cluster/nodes/0/count=16", "--schedule", "zero1",
                           "--network", "reference", "--trace", path, "--trace-updates", "1"},
                          more));
    EXPECT_EQ(run.err.find("--trace-ranks") != std::string::npos, more.empty()) << run.err;
    std::map<std::int64_t, std::vector<std::string>> of;  // by process
    for (const Json& event : Json::parse(text_of(path))["traceEvents"].elements())
      if (event["ph"].text() == "X")
        of[event["pid"].integer()].push_back(event["name"].text() + " " + std::to_string(event["ts"].number()));
    return of;
  };
  const auto one = slices({}), two = slices({"--trace-ranks", "3,100"});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one.begin()->first, 1) << "rank 0";
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two.at(4), two.at(101));
  EXPECT_EQ(two.at(4), one.at(1));
  for (const char* const option : {"--trace-updates", "--trace-ranks"})  // of no trace
    EXPECT_EQ(accosim({"run", "pretrain_4x8_a100", option, "1"}).exit_code, 2) << option;
}

TEST(Trace, IsValidWithoutOverlapAndInMicroseconds) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const TemporaryFolder folder;
  for (const std::string& scenario : shipped_scenarios()) {
    const std::string path = (folder.path / "trace.json").string();
    const ProgramRun run =
        accosim({"compare", scenario, "--trace", path, "--trace-updates", "2", "--trace-ranks", "0-3"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const Json trace = Json::parse(text_of(path));
    std::map<std::pair<std::int64_t, std::int64_t>, double> busy_until;
    std::map<std::int64_t, int> flows;
    double end = 0;
    int slices = 0;
    for (const Json& event : trace["traceEvents"].elements()) {
      const std::string phase = event["ph"].text();
      if (phase == "s") ++flows[event["id"].integer()];
      if (phase == "f") --flows[event["id"].integer()];
      if (phase != "X") continue;
      ++slices;
      double& until = busy_until[{event["pid"].integer(), event["tid"].integer()}];
      EXPECT_GE(event["ts"].number(), until - 1e-6) << scenario;
      until = event["ts"].number() + event["dur"].number();
      end = std::max(end, until);
    }
    EXPECT_GT(slices, 100) << scenario;
    for (const auto& [id, open] : flows) EXPECT_EQ(open, 0) << "flow " << id;
    // Microseconds: two updates of the slowest schedule and what comes before them last seconds, not hours.
    const Json document = results_of({"compare", scenario});
    const double longest = largest<double>(document["results"].elements(),
                                           [](const Json& entry) { return entry["update_time_s"].number(); });
    EXPECT_GT(end, 1e6 * longest) << scenario;
    EXPECT_LT(end, 5e6 * longest) << scenario;
  }
}

/// Every number of a golden document against today's, to 1e-9; everything else exactly.
void expect_same(const Json& golden, const Json& today, const std::string& where) {
  const JsonKind kind = golden.value().kind;
  ASSERT_EQ(kind, today.value().kind) << where;
  if (kind == JsonKind::kNumber) {
    const double a = golden.number(), b = today.number();
    EXPECT_NEAR(a, b, 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-12) << where;
    return;
  }
  if (kind == JsonKind::kObject) {
    ASSERT_EQ(golden.size(), today.size()) << where;
    for (const auto& [key, value] : golden.members()) {
      ASSERT_TRUE(today.contains(key)) << where << "/" << key;
      expect_same(value, today[key], where + "/" + key);
    }
  } else if (kind == JsonKind::kArray) {
    ASSERT_EQ(golden.size(), today.size()) << where;
    for (std::size_t i = 0; i < golden.size(); ++i) expect_same(golden[i], today[i], where + "/" + std::to_string(i));
  } else {
    EXPECT_EQ(golden, today) << where;
  }
}

TEST(Explain, PlaysEveryMessageWhereItIsAsked) {
  const std::string scenario = "finetune_2x4_a100";
  const Json document = results_of({"explain", scenario, "--schedule", "zero1", "--messages"});
  EXPECT_EQ(document["schema"], "accosim.messages/1");
  ASSERT_EQ(document["schedules"].size(), 1u);
  const Json rows = document["schedules"][0]["collectives"];
  ASSERT_EQ(rows.size(), 2u);  // gradients are reduce-scattered, parameters gathered
  for (const Json& row : rows.elements()) {
    EXPECT_EQ(row["nodes"].number(), 2);
    EXPECT_GT(row["messages"].number(), 1000);
    const double form = row["closed_form_s"].number(), played = row["every_message_s"].number();
    EXPECT_NEAR(form / played, 1, 0.01);  // 5.3 GB over two nodes: the wire is what counts
    EXPECT_NEAR(row["closed_form_error"].number(), form / played - 1, 1e-12);
  }
  const ProgramRun text = accosim({"explain", scenario, "--schedule", "zero1", "--messages"});
  EXPECT_TRUE(holds(text.out, "reduce_scatter"));
  EXPECT_EQ(accosim({"explain", scenario, "--messages", "--network", "reference"}).exit_code, 1);
}

TEST(Explain, TheDocumentHasThePathAndItsCauses) {
  const Json document = results_of({"explain", "pretrain_4x8_a100", "--schedule", "zero1"});
  EXPECT_EQ(document["schema"].text(), "accosim.explanation/1");
  ASSERT_EQ(document["schedules"].size(), 1u);
  const Json one = document["schedules"][0];
  double path = 0, causes = 0;
  for (const Json& step : one["path"].elements()) path += step["s"].number();
  for (const Json& cause : one["causes"].elements()) causes += cause["s"].number();
  EXPECT_NEAR(path / one["update_time_s"].number(), 1, 1e-9);
  EXPECT_NEAR(causes / one["update_time_s"].number(), 1, 1e-3);
}

/// With members by their keys, so that only what has moved differs.
JsonValue sorted(JsonValue value) {
  std::ranges::sort(value.members, [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
  for (JsonMember& member : value.members) member.value = sorted(member.value);
  for (JsonValue& element : value.elements) element = sorted(element);
  return value;
}

/// The document without what says which accosim made it, of which settings: what is predicted.
JsonValue predictions_of(JsonValue document) {
  document.erase("version");
  document.erase("settings");
  return document;
}

// What interference costs a phase of 100 inner updates is a part of that phase, not all of it but one update.
TEST(Explain, WhatInterferenceCostsIsOfTheSamePhase) {
  const ProgramRun run = accosim_done({"explain", "two_sites_2x16_a100", "--schedule", "diloco"});
  const std::size_t costs = run.out.find("Interference costs ");
  ASSERT_NE(costs, std::string::npos) << run.out;
  const std::string share = run.out.substr(run.out.find('(', costs) + 1, 5);
  EXPECT_LT(std::stod(share), 10) << run.out.substr(0, 400);
}

TEST(Golden, PredictionsHaveNotMoved) {
  // UPDATE_GOLDEN=1 writes them anew and fails, so that nobody does it by accident.
  for (const std::string& scenario : all_golden_scenarios()) {
    const std::filesystem::path file = kRoot / "tests/golden" / std::filesystem::path(scenario).filename();
    const Json today(predictions_of(results_of({"compare", scenario}).value()));
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
      std::ofstream(file) << dump_json(sorted(today.value()), 1) << '\n';
      ADD_FAILURE() << file << " written; run again without UPDATE_GOLDEN";
      continue;
    }
    ASSERT_TRUE(std::filesystem::exists(file)) << file << " is missing; write it with UPDATE_GOLDEN=1";
    expect_same(Json::parse(text_of(file)), today, scenario);
  }
}

}  // namespace
}  // namespace accosim
