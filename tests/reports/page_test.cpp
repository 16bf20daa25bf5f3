// Is the page what it says it is: the figures of the JSON, safe whatever names hold, spans that add up?
#include "reports/page.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "build_info/project.hpp"
#include "reports/answer.hpp"
#include "reports/human.hpp"
#include "reports/result_json.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/json.hpp"
#include "tests/support/printed.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// Two schedules, of which the second is twice as fast.
std::vector<RunResult> two_results() {
  RunResult slow;
  slow.schedule = "zero1";
  slow.label = "zero1";
  slow.samples_per_update = 256;
  slow.update_time = Seconds{2};
  slow.update_time_low = Seconds{1.6};
  slow.update_time_high = Seconds{2.5};
  slow.total_time = Seconds{1200};
  slow.speedup = slow.speedup_same_batch = 1;
  slow.memory_resident = Bytes{30 * 0x1p30};
  slow.memory_capacity = Bytes{80 * 0x1p30};
  RunResult fast = slow;
  fast.schedule = fast.label = "acco";
  fast.update_time = Seconds{1};
  fast.update_time_low = Seconds{0.8};
  fast.update_time_high = Seconds{1.25};
  fast.total_time = Seconds{600};
  fast.speedup = fast.speedup_same_batch = 2;
  fast.speedup_interval = fast.speedup_same_batch_interval = Interval{1.8, 2.2};
  return {slow, fast};
}

std::string text_of_json(const Scenario& scenario, const Page& page) {
  return written([&](std::ostream& out) { write_page_json(out, scenario, page); });
}

TEST(Page, ItsResultIsTheDocumentOfResults) {
  const Scenario scenario = sample_scenario(2, 4);
  Page page;
  page.network = "simgrid";
  page.results = two_results();
  page.standing = standing_of(contenders_of(page.results, scenario.baseline), {});
  std::ostringstream result;
  write_results_json(result, scenario, page.network, page);
  EXPECT_EQ(Json::parse(text_of_json(scenario, page))["result"], Json::parse(result.str()));
}

// 10,000 characters, an end tag, quotes, what ends a line in JavaScript alone, emoji, right to left: the page's texts
// are these again, and nothing in the document can be taken for a tag.
TEST(Page, NamesThatMeanHarmAreTextsAndNoMore) {
  const std::string hostile =
      "</script><script>alert(1)</script><!-- \"'&\\ \xe2\x80\xa8\xe2\x80\xa9 \xf0\x9f\x9a\x80 "
      "\xd7\xa9\xd7\x9c\xd7\x95 "
      "\xe2\x80\xae\xef\xbf\xbd" +
      std::string(10'000, 'x');
  Scenario scenario = sample_scenario(1, 2);
  scenario.name = scenario.model.name = scenario.cluster.name = scenario.description = hostile;
  scenario.cluster.nodes[0].devices[0].name = hostile;
  Page page;
  page.command = hostile;
  page.results = two_results();
  page.results[1].label = hostile;
  page.results[1].warnings = {{"some", hostile, hostile}};
  PageTimeline timeline{hostile, {}, {{0, hostile}}};
  timeline.timeline.graph.labels = {{hostile, OpClass::kForward}};
  page.timelines = {timeline};
  const std::string text = text_of_json(scenario, page);
  EXPECT_FALSE(holds(text, "<"));
  EXPECT_FALSE(holds(text, "\xe2\x80\xa8"));
  EXPECT_FALSE(holds(text, "\xe2\x80\xa9"));
  const Json document = Json::parse(text);
  EXPECT_EQ(document["result"]["scenario"], hostile);
  EXPECT_EQ(document["result"]["results"][1]["label"], hostile);
  EXPECT_EQ(document["result"]["results"][1]["warnings"][0]["advice"], hostile);
  EXPECT_EQ(document["timelines"][0]["labels"][0]["name"], hostile);
  EXPECT_EQ(document["command"], hostile);
}

// One document in one page, no address to load from, and scripts that the policy names by their hashes.
TEST(Page, HoldsItsDocumentOnceAndLoadsNothing) {
  Page page;
  page.results = two_results();
  std::ostringstream out;
  const Scenario scenario = sample_scenario(2, 4);
  write_page(out, scenario, page);
  const std::string html = out.str();
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = html.find(what); at != std::string::npos; at = html.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(html.rfind(page_kind().begins, 0), 0u);
  EXPECT_TRUE(holds(html.substr(0, 1000), page_kind().holds));
  EXPECT_TRUE(holds(html, text_of_json(scenario, page)));
  EXPECT_EQ(count("</script>"), 3);
  EXPECT_EQ(count("'sha256-"), 2);
  EXPECT_EQ(count("default-src 'none'"), 1);
  for (const char* what : {"<script src", "<link", "<img", "@import", "@STYLE@", "@SCRIPT", "@CHARTS@", "@DOCUMENT@"})
    EXPECT_EQ(count(what), 0) << what;
}

// A lane of two ops, the second a collective that waited 1 us for other ranks: gap, duration and label of forward, of
// the wait and of the collective. Times of sums are rounded to whole nanoseconds and never overlap.
TEST(Page, SpansAreGapsAndDurationsInNanoseconds) {
  PageTimeline one{"zero1", {}, {{0, "rank 0"}}};
  EventGraph& graph = one.timeline.graph;
  const Program program{.lane_names = {"compute"}};
  graph.programs = {program};
  graph.ranks.resize(1);
  graph.labels = {{"forward", OpClass::kForward}, {"all-reduce", OpClass::kCommunication}};
  Span forward, reduce;
  forward.begin = Seconds{1e-6};
  forward.end = Seconds{3e-6 + 1e-15};
  reduce.label = 1;
  reduce.rendezvous = 7;
  reduce.arrived = Seconds{3e-6};
  reduce.begin = Seconds{4e-6};
  reduce.end = Seconds{6e-6};
  one.timeline.spans = {forward, reduce};
  one.timeline.marks = {{Mark::kRound, Seconds{3e-6}}, {Mark::kUpdate, Seconds{6e-6}}};
  one.timeline.left_out = 5;
  std::ostringstream out;
  write_page_timelines(out, {one});
  EXPECT_EQ(Json::parse(out.str())[0], Json::parse(R"({"label": "zero1", "measured": false, "left_out": 5,
    "labels": [{"name": "forward", "class": "forward"}, {"name": "all-reduce", "class": "communication"},
               {"name": "wait for ranks", "class": "wait"}],
    "marks": [[3000, 0], [6000, 1]],
    "rows": [{"name": "rank 0", "lanes": [{"name": "compute", "spans": [1000, 2000, 0, 0, 1000, 2, 0, 2000, 1]}]}]})"));
  graph.updates_per_mark = 50;
  EXPECT_EQ(Json::parse(written([&](std::ostream& to) { write_page_timelines(to, {one}); }))[0]["updates_per_mark"],
            50);
}

TEST(Page, APipelineIsPassesAndWhatTheyLeaveBare) {
  // One stage of two chunks: forward from 0 to 1 s, backward through the second chunk from 2 to 4 s. The optimizer is
  // seen from 4 to 5 s, what is sent from 1 to 4.5 s while neither a pass nor the optimizer runs: from 1 to 2 s.
  PipelineChart chart{"zero1", Seconds{6}, {}, {}, {}};
  chart.parallel.chunks = 2;
  PipelineRow row;
  row.stage = 3;
  row.passes = {{true, 0, 0, 0, 1}, {false, 1, 11, 2, 4}};
  row.others = {{Activity::kExposedCommunication, 0, 1, 4.5, 1}, {Activity::kOptimizer, 0, 3, 5, 1}};
  chart.rows = {row};
  const Json one = Json::parse(written([&](std::ostream& out) { write_page_pipelines(out, {chart}); }))[0];
  EXPECT_EQ(one["label"], "zero1");
  EXPECT_EQ(one["rows"][0]["name"], "stage 3");
  const Json labels = Json::parse(R"([
    {"name": "micro-batch 1, forward, chunk 1 of 2", "class": "forward", "text": "1", "shade": 1},
    {"name": "micro-batch 12, backward, chunk 2 of 2", "class": "backward", "text": "12", "shade": 0.4},
    {"name": "optimizer", "class": "optimizer"},
    {"name": "exposed communication", "class": "communication"}])");
  EXPECT_EQ(one["labels"], labels);
  const Json spans = Json::parse("[0,1000000000,0, 0,1000000000,3, 0,2000000000,1, 0,1000000000,2]");
  EXPECT_EQ(one["rows"][0]["lanes"][0]["spans"], spans);
}

TEST(Page, MemoryHasABarForEachKindOfRank) {
  Page page;
  page.results = two_results();
  KindMemory kind{"H100-SXM", 4, {}, Bytes{80}, {}};
  kind.parts.parts = {{MemoryUse::kParameters, Bytes{30}, true}};
  page.results[0].memory_by_kind = {kind};
  page.results[1].memory_by_kind = {kind, kind};
  page.results[1].memory_by_kind[0].stages = {0, 1, 3};
  page.results[1].memory_by_kind[1].device = "A100-SXM4-80GB";
  const Json bars = Json::parse(text_of_json(sample_scenario(2, 4), page))["memory"];
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(bars[0]["label"], page.results[0].label);
  EXPECT_EQ(bars[1]["label"], "stages 0-1,3, acco");
  EXPECT_EQ(bars[2]["label"], "A100-SXM4-80GB, acco");
  EXPECT_EQ(bars[2]["schedule"], 1);
  EXPECT_EQ(bars[2]["memory_parts_bytes"]["parameters"], 30);
  EXPECT_EQ(bars[2]["memory_capacity_bytes"], 80);
}

TEST(Page, TheBreakdownIsWhatThePictureOfItHas) {
  UpdateBreakdown breakdown{.label = "zero1", .update_time = Seconds{4}};
  breakdown.parts[static_cast<std::size_t>(TimeUse::kComputation)] = Seconds{3};
  breakdown.parts[static_cast<std::size_t>(TimeUse::kBubble)] = Seconds{1};
  Page page;
  page.breakdowns = {breakdown};
  const Json drawn = Json::parse(text_of_json(sample_scenario(1, 2), page))["breakdown"][0];
  EXPECT_EQ(drawn["update_s"], 4);
  EXPECT_EQ(drawn["uses"],
            Json::parse(R"([{"name": "forward and backward", "s": 3.0}, {"name": "pipeline bubble", "s": 1.0}])"));
}

/// Of two_results() on 2 nodes of 4 GPUs, but for what a test changes.
class Answer : public testing::Test {
 protected:
  std::string said(const FairComparison& fair = {}) const {
    Standing standing = standing_of(contenders_of(results, scenario.baseline), {});
    standing.alike = alike_of(scenario, results, standing, tuned);
    return answer_in_words(scenario, {results, standing, fair, tuned});
  }
  /// The best synchronous schedule has a row of its own, as fast as the first.
  void add_best_synchronous() {
    tuned.synchronous = AddedSchedule{scenario.schedules.size(), "best", "zero3, hybrid", "{}", {}};
    scenario.schedules.push_back(sample_schedule("zero3", "best"));
    results.push_back(results[0]);
    results[2].label = "best";
  }
  void set_speedup(std::size_t of, double speedup) { results[of].speedup = results[of].speedup_same_batch = speedup; }

  Scenario scenario = sample_scenario(2, 4);
  Tuned tuned;
  std::vector<RunResult> results = two_results();
};

// The faster one; the slower where the faster does not fit; both where the interval of their ratio holds 1.
TEST_F(Answer, NamesTheFastestThatFits) {
  EXPECT_EQ(said(), "acco takes 0:10:00 (80 %: 0:08:00 to 0:12:30), 2.00 times as fast as zero1 (1.80 to 2.20).");
  results[1].total_time = Seconds{1190};
  set_speedup(1, 1.01);
  EXPECT_EQ(
      said(),
      "zero1 and acco cannot be told apart: 0:20:00 (80 %: 0:16:00 to 0:25:00) and 0:19:50, 1 % apart, less than the "
      "error of a prediction.");
  // 1 % is of an equal batch, and the times are of the batches that each has.
  results[1].samples_per_update = 1.1 * results[0].samples_per_update;
  EXPECT_TRUE(holds(said(), "0:19:50, 1 % apart at equal global batch, less than the error of a prediction."));
  results[1].samples_per_update = results[0].samples_per_update;
  scenario.baseline = "ddp";  // which is not played
  EXPECT_TRUE(holds(said(), "zero1 and acco cannot be told apart: "));
  scenario.baseline = "zero1";
  results[1].fit = {FitVerdict::kDoesNotFit, 0.02};
  EXPECT_EQ(said(),
            "zero1 takes 0:20:00 (80 %: 0:16:00 to 0:25:00) for 1.00B tokens. acco is 1.01 times as fast, without "
            "fitting into memory.");
  results[0].fit = {FitVerdict::kDoesNotFit, 0.05};
  // Of all the ways to fit the fastest: of zero1 1.5 times 0:20:00, of acco two changes, 1.2 times 0:19:50.
  results[0].ways_to_fit.alone = {{"activation_recompute full", {}, {}, {}, {}, {FitVerdict::kFits, 1}, 1.5}};
  results[1].ways_to_fit.alone = {{"implementation compiled", {}, {}, {}, {}, {FitVerdict::kDoesNotFit, 0}, 0.9}};
  results[1].ways_to_fit.together = {{"implementation compiled", {}, {}, {}, {}, {FitVerdict::kDoesNotFit, 0}, 0.9},
                                     {"micro_batch_size 1", {}, {}, {}, {}, {FitVerdict::kFits, 1}, 1.2}};
  EXPECT_EQ(said().find("No schedule fits: zero1, which comes nearest, needs "), 0U) << said();
  EXPECT_TRUE(holds(said(),
                    " a GPU. The fastest way to fit that was found is acco with implementation compiled, "
                    "micro_batch_size 1: about 0:23:48. Times below are as if memory were no limit."));
  results[0].ways_to_fit = results[1].ways_to_fit = {};
  EXPECT_TRUE(holds(said(), "No change that was tried makes one fit: take more GPUs"));
  EXPECT_EQ(question_in_words(scenario, {results[0]}),
            "How long does zero1 take to train sample on 1.00B tokens, with 8 GPUs, 2 nodes x 4 sample GPU?");
}

TEST_F(Answer, SaysOfAMixSecondWhetherTheSlowerPartIsWorthAdding) {
  const FairComparison fair{.adding = Adding{"zero1",
                                             "4 A100-SXM4-80GB",
                                             {"4 V100-SXM2-32GB"},
                                             {1.4, {1.2, 1.6}, "11 and 5 micro-batches"},
                                             {0.8, {0.7, 0.9}, "8 micro-batches"}}};
  EXPECT_EQ(said(fair),
            said() +
                " Adding the V100s to the homogeneous subset of A100s, under the same schedule: 1.40x (1.20 to 1.60) "
                "with load-balanced micro-batches (11 and 5), 0.80x (0.70 to 0.90) with even ones.");
}

TEST_F(Answer, ABaselineThatReducesInAnotherTypeIsSaidTo) {
  // Megatron-LM's ZeRO-1 reduces in fp32 by itself, twice the bytes of the bf16 that the others have.
  scenario.schedules[0].gradient_dtype = Dtype::kFp32;
  EXPECT_EQ(said(),
            "acco takes 0:10:00 (80 %: 0:08:00 to 0:12:30), 2.00 times as fast as zero1 (1.80 to 2.20). Gradients of "
            "zero1 are reduced in fp32, and here in bf16.");
  scenario.schedules[3].gradient_dtype = Dtype::kFp32;
  EXPECT_FALSE(holds(said(), "Gradients of"));
}

TEST_F(Answer, WhoIsFasterAtAPriceIsNamedWithIt) {
  results[1].batch_inflation = 1.5;
  EXPECT_EQ(said(),
            "zero1 takes 0:20:00 (80 %: 0:16:00 to 0:25:00) for 1.00B tokens. acco is 2.00 times as fast, at 1.5 times "
            "the batch.");
  results.push_back(results[1]);
  results[2].label = "dpu";
  set_speedup(2, 1.08);
  results[2].statistics = Statistics::kStaleGradients;
  results[2].batch_inflation = 1;
  EXPECT_TRUE(holds(said(),
                    "acco is 2.00 times as fast, at 1.5 times the batch; dpu 1.08 times, with gradients one update "
                    "late."));
  results[0].to_loss = TimeToLoss{true, false, 1, 1, 1, 1};
  results[1].to_loss = TimeToLoss{true, false, 33, 0.53, 0.5, 0.6};
  EXPECT_TRUE(holds(said(),
                    "at 1.5 times the batch (to the same loss 0.53 times); dpu 1.08 times, with gradients one "
                    "update late; losses are by curves of another model, batch or options."));
  results[1].to_loss->far = true;  // of a model that is much smaller
  EXPECT_FALSE(holds(said(), "to the same loss"));
}

TEST_F(Answer, ComparesTheTwoSidesAndNotOneWithItself) {
  // zero1 as it is written is near the best synchronous one, and ACCO far: the answer is not about the first two.
  add_best_synchronous();
  set_speedup(2, 1.01);
  set_speedup(1, 0.5);
  EXPECT_FALSE(holds(said(), "cannot be told apart"));
  set_speedup(1, 1);
  EXPECT_TRUE(holds(said(), "(zero3, hybrid) and acco cannot be told apart"));
}

TEST_F(Answer, TheBestDelayedOneIsNamedOnce) {
  // As it is written it is its own row; at a better micro-batch that row stands for it.
  tuned.delayed = AddedSchedule{scenario.schedules.size(), "acco", "acco", {}, {}};
  scenario.schedules.push_back(sample_schedule("acco", "acco"));
  results[1].batch_inflation = 1.5;
  EXPECT_TRUE(holds(said(), "acco is 2.00 times as fast, at 1.5 times the batch."));
  tuned.delayed->index = scenario.schedules.size();
  tuned.delayed->label = "best";
  tuned.delayed->micro_batch_size = 8;
  tuned.delayed->set = {"/schedules/1/micro_batch_size=8"};
  scenario.schedules.push_back(sample_schedule("acco", "best"));
  results.push_back(results[1]);
  results[2].label = "best";
  EXPECT_TRUE(holds(said(), "acco, micro-batch 8 is 2.00 times as fast, at 1.5 times the batch."));
}

TEST_F(Answer, WhatIsLeftOverTheBestSynchronousScheduleIsSaidOnce) {
  add_best_synchronous();
  const auto with = [&](double over_zero1) {
    set_speedup(2, over_zero1);
    for (RunResult& each : results) each.over_best_synchronous = *each.speedup_same_batch / over_zero1;
    return said();
  };
  // 2 / 1.25.
  EXPECT_TRUE(holds(with(1.25),
                    "2.00 times as fast as zero1 (1.80 to 2.20) and 1.60 times as fast as the best synchronous "
                    "schedule (zero3, hybrid)."));
  EXPECT_EQ(with(1.98),
            "The best synchronous schedule (zero3, hybrid) and acco cannot be told apart: 0:20:00 (80 %: 0:16:00 to "
            "0:25:00) and 0:10:00, 1 % apart, less than the error of a prediction. The first is 1.98 times as fast as "
            "zero1.");
  EXPECT_FALSE(holds(with(1), "best synchronous")) << "which the baseline is as good as: " << with(1);
}

TEST_F(Answer, WhereLossesDecideTheSpeedupIsToTheLossAndItsPriceIsSaid) {
  results[1].batch_inflation = 12;
  results[1].speedup = 54.4;
  results[0].to_loss = TimeToLoss{true, true, 1, 1, 1, 1};
  results[1].to_loss = TimeToLoss{true, true, 12, 1.3, 1.2, 1.5};
  EXPECT_EQ(said(),
            "acco takes 0:10:00 (80 %: 0:08:00 to 0:12:30), 1.30 times as fast to the same loss as zero1 (1.20 to "
            "1.50), at 12 times the batch, for which the measured losses charge it.");
}

TEST_F(Answer, WithoutAWinnerTheNearestIsNamed) {
  results[0].statistics = results[1].statistics = Statistics::kReplicasDrift;
  results[1].batch_inflation = 4;
  EXPECT_EQ(said(),
            "No schedule is the fastest without a caveat. zero1 comes nearest: it takes 0:20:00 (80 %: 0:16:00 to "
            "0:25:00) for 1.00B tokens, with replicas that drift apart. acco is 2.00 times as fast, with replicas that "
            "drift apart and at 4 times the batch.");
}

TEST_F(Answer, WhereABatchHasGrownTheSynchronousScheduleThatIsBestThereIsNamed) {
  results[1].batch_inflation = 1.5;
  tuned.synchronous = AddedSchedule{0, "zero1", "zero1", {}, {}};
  const double asked = samples_asked(scenario);
  tuned.by_batch = {{asked, 0.1, "zero1"}, {1.5 * asked, 0.09, "zero1, micro-batch 6"}};
  const std::string best = fmt::format(
      "; at {:.0f} samples a step the best synchronous schedule is zero1, "
      "micro-batch 6.",
      1.5 * asked);
  EXPECT_TRUE(holds(said(), best));
  tuned.by_batch.pop_back();
  EXPECT_FALSE(holds(said(), "samples a step the best"));
}

TEST_F(Answer, ABaselineThatDoesNotFitIsSaidToBeSuch) {
  results[1].baseline_fits = false;
  EXPECT_TRUE(holds(said(), "2.00 times as fast as zero1, which does not fit (1.80 to 2.20)."));
}

TEST(KnownErrors, AreTheRowsOfTheCommittedPage) {
  const std::string page =
      "| group | cases | mean, left out | fitted | bias |\n|---|---|---|---|---|\n| training step | 88 | 6.4 % | 5.6 % "
      "| - |\n"
      "| memory | 9 | - | 3.4 % | - |\n\n## Training step\n\n| device | cases | mean, left out | fitted | bias |\n"
      "|---|---|---|---|---|\n| A100 | 19 | 7.2 % | 6.2 % | - |\n| H100 | 2 | 1 % | 2 % | - |\n\n"
      "| source | cases | mean, left out | fitted |\n|---|---|---|---|\n| A100 | 1 | 9 % | 9 % |\n";
  const std::vector<KnownError> errors = known_errors(page, {"A100"});
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].group + errors[0].device, "training step");
  EXPECT_EQ(errors[1].device + errors[1].cases + errors[1].without_source + errors[1].fitted, "A100197.2 %6.2 %");
  EXPECT_EQ(errors[2].group + errors[2].without_source, "memory-");
  EXPECT_TRUE(known_errors("no such page", {"A100"}).empty());
  // The one that is shipped has all groups, and figures for the device that most cases are of.
  const std::vector<KnownError> shipped = shipped_known_errors({"A100-SXM4-80GB"});
  EXPECT_TRUE(std::ranges::any_of(shipped, [](const KnownError& error) {
    return error.group == "training step" && error.device == "A100-SXM4-80GB" && error.without_source.ends_with(" %");
  }));
}

// The table that the page's own formatting is held to as well (tests/page/format_test.mjs).
TEST(Human, WritesNumbersAsTheTableSays) {
  std::ifstream file(std::string(kSourceFolder) + "/tests/page/numbers.json");
  std::ostringstream text;
  text << file.rdbuf();
  const Json table = Json::parse(text.str());
  const auto written = [](const std::string& kind, double value) {
    if (kind == "time") return human_time(Seconds{value});
    if (kind == "clock") return human_clock(Seconds{value});
    if (kind == "count") return human_count(value);
    if (kind == "bytes") return human_bytes(Bytes{value});
    if (kind == "memory") return human_memory(Bytes{value});
    if (kind == "percent") return human_percent(value);
    if (kind == "error") return human_error(value);
    return human_factor(value);
  };
  ASSERT_GE(table.size(), 40u);
  for (const Json& row : table.elements())
    EXPECT_EQ(written(row[0].text(), row[1].number()), row[2].text()) << row[0].text() << ' ' << row[1].number();
}

}  // namespace
}  // namespace accosim
