// Does the terminal show what is meant: numbers that read well, columns that line up, nothing over the edge, and every
// warning with its advice?
#include "reports/console.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <tuple>

#include "tests/support/holds.hpp"
#include "tests/support/printed.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/unwrapped.hpp"

namespace accosim {
namespace {

TEST(TerminalText, WidthIsWhatATerminalShows) {
  EXPECT_EQ(display_width("acco"), 4);
  EXPECT_EQ(display_width("caf\u00e9"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("\u6f22\u5b57"), 4);
  EXPECT_EQ(display_width("\xff\xfe"), 2);
}

TEST(TerminalText, TextFromAFileCannotSteerTheTerminal) {
  EXPECT_EQ(printable(std::string("a\x1b[31mb\r\n")), "a?[31mb??");
  EXPECT_EQ(printable(std::string("\u202egnp")), "?gnp");
  EXPECT_EQ(printable(std::string("\xc0\xaf")), "??");       // "/" in two bytes
  EXPECT_EQ(printable(std::string("\xed\xa0\x80")), "???");  // half of a surrogate pair
}

TEST(TerminalText, LongLabelsEndInAnEllipsis) {
  EXPECT_EQ(cut_to_width("DDP as released", 15), "DDP as released");
  EXPECT_EQ(cut_to_width("DDP as released", 8), "DDP as \u2026");
  EXPECT_EQ(cut_to_width("\u6f22\u5b57\u6f22", 4), "\u6f22\u2026");  // the second would need a fifth column
}

std::string printed(const Table& table, int width = 80) {
  return written([&](std::ostream& out) { write_table(out, table, {.width = width}); });
}

TEST(Table, NumbersGoRightNamesGoLeft) {
  Table table({left("schedule"), right("update", "time")});
  table.add({"ddp", "412 ms"});
  table.add({"caf\u00e9", "1 s"});
  EXPECT_EQ(printed(table),
            "schedule  update\n"
            "            time\n"
            "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\n"
            "ddp       412 ms\n"
            "caf\u00e9         1 s\n");
}

TEST(Table, GoesOnInAnotherBlockWhereTheTerminalIsNarrow) {
  Table table({left("name"), right("first"), right("second")});
  table.add({"a", "1", "2"});
  const auto lines = lines_of(printed(table, 12));  // name, a gap of 2 and "first" take 11
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[0], "name  first");
  EXPECT_EQ(lines[2], "a         1");
  EXPECT_EQ(lines[4], "name  second");
  EXPECT_EQ(lines[6], "a          2");
}

TEST(Table, BlocksShareTheColumnsEvenly) {
  // The row's name and six figures, each with its gap 3 wide: 1 + 18. Of 16 columns five would fit, leaving one alone.
  Table table({left("n"), right("f"), right("f"), right("f"), right("f"), right("f"), right("f")});
  table.add({"a", "1", "1", "1", "1", "1", "1"});
  const auto lines = lines_of(printed(table, 16));
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[0], "n  f  f  f");
  EXPECT_EQ(lines[4], "n  f  f  f");
}

// ---- comparisons ----

/// 2 nodes of 4 GPUs, 4 samples a micro-batch, 4 micro-batches: 128 samples of 512 tokens, 65,536 tokens.
Scenario paper_like() {
  Scenario scenario = sample_scenario(2, 4);
  scenario.name = "finetune";
  scenario.model.name = "gpt-neo-2.7b";
  scenario.cluster.name = "two nodes";
  for (Device& device : scenario.cluster.nodes[0].devices) device.name = "A100-SXM4-80GB";
  scenario.training.train_tokens = 80e6;
  scenario.baseline = "ZeRO-1";
  scenario.schedules = {sample_schedule("zero1", "ZeRO-1"), sample_schedule("acco", "ACCO")};
  return scenario;
}

RankResult rank_of(int rank, double per_round) {
  RankResult result;
  result.ranks = {{rank, rank}};
  result.device = "A100-SXM4-80GB";
  result.micro_batches_per_round = per_round;
  result.micro_batches_per_round_min = static_cast<int>(std::floor(per_round));
  result.micro_batches_per_round_max = static_cast<int>(std::ceil(per_round));
  result.micro_batches_per_update = 2 * per_round;
  return result;
}

RunResult result_of(const char* schedule, const char* label, double speedup) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  RunResult result;
  result.schedule = schedule;
  result.label = label;
  result.update_time = Seconds{1.724};
  result.total_time = Seconds{5 * 3600 + 23 * 60 + 41};
  result.tokens_per_second = 98304;
  result.tokens_per_second_per_gpu = 12288;
  result.speedup = speedup;
  result.speedup_same_batch = speedup;
  result.memory_resident = Bytes{31.4 * kGib};
  result.memory_capacity = Bytes{80 * kGib};
  result.memory_parts.parts = {{MemoryUse::kParameters, Bytes{31.4 * kGib}}};
  for (int rank = 0; rank < 8; ++rank) result.ranks.push_back(rank_of(rank, 4));
  return result;
}

std::string compared(const Scenario& scenario, const std::vector<RunResult>& results, int width, bool wide = false,
                     bool color = false) {
  return on_terminal(
      comparison_document(scenario, {results, standing_of(contenders_of(results, scenario.baseline), {})}),
      {.color = color, .width = width, .wide = wide});
}

TEST(Comparison, SaysWhatWasSimulated) {
  const std::string text = unwrapped(compared(paper_like(), {result_of("zero1", "ZeRO-1", 1)}, 120));
  EXPECT_TRUE(holds(text, "model gpt-neo-2.7b,"));
  EXPECT_TRUE(holds(text, "two nodes: 8 GPUs, 2 nodes x 4 A100-SXM4-80GB"));
  EXPECT_TRUE(holds(text, "65.5k tokens asked for: 128 samples of 512 tokens, 4 micro-batches a GPU"));
  EXPECT_TRUE(holds(text, "baseline ZeRO-1"));
}

TEST(Comparison, WhatScattersIsAnUpdateOrARoundBetweenMeetings) {
  RunResult zero1 = result_of("zero1", "ZeRO-1", 1), local = result_of("local_sgd", "ACCO", 1);
  zero1.drawn = local.drawn = DrawnUpdates{};
  zero1.drawn->played = local.drawn->played = 30;
  std::string text = unwrapped(compared(paper_like(), {zero1, local}, 100));
  EXPECT_TRUE(holds(text, "Single updates scatter; their mean"));
  EXPECT_TRUE(holds(text, "single update"));
  local.drawn->updates_each = 7;
  text = unwrapped(compared(paper_like(), {zero1, local}, 100));
  EXPECT_TRUE(holds(text, "of replicas that make updates by themselves the means of rounds between meetings"));
  EXPECT_FALSE(holds(text, "single update")) << text;
  EXPECT_TRUE(holds(text, "210")) << "7 x 30 updates were played" << text;
}

TEST(Comparison, NoLineIsWiderThanTheTerminal) {
  Scenario scenario = paper_like();
  scenario.name =
      "a name of a scenario that goes on and on, \u6f22\u5b57 included, until it needs more than a line of text";
  RunResult acco =
      result_of("acco", "ACCO with a label that no table on earth has room for \u6f22\u5b57\u6f22\u5b57", 1.7);
  acco.published_speedup = 1.72;
  acco.batch_inflation = 2;
  acco.fit = {FitVerdict::kDoesNotFit, 0.01};
  acco.warnings = {{"out_of_memory", "needs 92 GiB where 80 GiB are, which is quite a bit too much for this device",
                    "shard more, recompute activations, or take a smaller micro-batch and accumulate more of them"}};
  acco.ranks[3] = rank_of(3, 1);
  for (const int width : {60, 80, 100, 120, 160}) {
    const std::string text = compared(scenario, {result_of("zero1", "ZeRO-1", 1), acco}, width);
    for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(Comparison, WideTerminalHasOneRowAScheduleAndAnEightyColumnOneTheSameFigures) {
  const std::vector<RunResult> results{result_of("zero1", "ZeRO-1", 1), result_of("acco", "ACCO", 1.4)};
  const auto rows_of = [](const std::string& text) {
    return sum_of<int>(lines_of(text), [](const std::string& line) { return line.rfind("ACCO  ", 0) == 0 ? 1 : 0; });
  };
  EXPECT_EQ(rows_of(compared(paper_like(), results, 160)), 1);
  EXPECT_GT(rows_of(compared(paper_like(), results, 80, true)), 1);
  for (const char* figure : {"1.72", "5:23:41", "98.3k", "12.3k", "1.40x", "31.4 / 80.0"})
    for (const bool wide : {false, true})
      EXPECT_TRUE(holds(compared(paper_like(), results, wide ? 80 : 160, wide), figure));
  // One screen: what decides is there, the rest is named.
  const std::string screen = compared(paper_like(), results, 80);
  EXPECT_EQ(rows_of(screen), 1) << screen;
  for (const char* figure : {"1.72", "5:23:41", "1.40x", "31.4 / 80.0"}) EXPECT_TRUE(holds(screen, figure));
  EXPECT_TRUE(holds(unwrapped(screen), "--wide also shows: tokens per s, per s and GPU,")) << screen;
  EXPECT_FALSE(holds(compared(paper_like(), results, 160), "--wide"));
}

TEST(Comparison, TheFirstLineAnswers) {
  RunResult acco = result_of("acco", "ACCO", 1.7);
  acco.total_time = Seconds{1 * 3600 + 2 * 60 + 3};
  acco.spread = {0.1, 0};
  const auto first = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  const RunResult zero1 = result_of("zero1", "ZeRO-1", 1);  // 5:23:41
  EXPECT_EQ(first(compared(paper_like(), {zero1, acco}, 80)), "ACCO takes 1:02:03, 1.70 times as fast as ZeRO-1.");
  acco.batch_inflation = 1.1;
  acco.speedup_same_batch = 1.4;
  EXPECT_EQ(first(compared(paper_like(), {zero1, acco}, 80)),
            "ACCO takes 1:02:03, 1.40 times as fast as ZeRO-1 at the same batch, 1.70 times");
  EXPECT_EQ(first(compared(paper_like(), {zero1}, 80)), "ZeRO-1 takes 5:23:41 for 80.0M tokens.");
  acco.batch_inflation = 1.5;  // then what is slower, at the batch that was asked for, is the answer
  EXPECT_EQ(first(compared(paper_like(), {zero1, acco}, 90)),
            "ZeRO-1 takes 5:23:41 for 80.0M tokens. ACCO is 1.40 times as fast, at 1.5 times the batch.");
  acco.fit = {FitVerdict::kDoesNotFit, 0.01};
  EXPECT_EQ(
      unwrapped(compared(paper_like(), {acco}, 80))
          .find("ACCO does not fit: it needs 31.4 GiB of 80.0 GiB a GPU. No change that was tried makes one fit: take "
                "more GPUs, or GPUs with more memory. If memory were no limit, ACCO would take 1:02:03, 1.40 times as "
                "fast as ZeRO-1 at the same batch, 1.70 times per token, at 1.5 times the batch."),
      0U)
      << compared(paper_like(), {acco}, 80);
}

TEST(Comparison, IntervalsStandBesideTheTimeAndThoseThatExtrapolateLookSo) {
  RunResult acco = result_of("acco", "ACCO", 1.7);
  EXPECT_FALSE(holds(compared(paper_like(), {acco}, 80), "interval"));
  acco.update_time_low = Seconds{1.5};
  acco.update_time_high = Seconds{2};
  RunResult zero1 = result_of("zero1", "ZeRO-1", 1);
  zero1.update_time_low = Seconds{1.6};
  zero1.update_time_high = Seconds{1.9};
  std::string text = compared(paper_like(), {zero1, acco}, 80);
  EXPECT_TRUE(holds(text, " 1.50 - 2.00 "));
  EXPECT_FALSE(holds(text, "~")) << text;
  acco.warnings = {{"extrapolated", "far away", "measure"}};
  text = compared(paper_like(), {zero1, acco}, 80);
  EXPECT_TRUE(holds(text, "~1.50 - 2.00 "));
  EXPECT_TRUE(holds(text, " 1.60 - 1.90 "));
  EXPECT_TRUE(holds(text, "\n~ extrapolated: "));
}

TEST(Comparison, GpuHoursRatesAndWhatTheyCost) {
  RunResult acco = result_of("acco", "ACCO", 1.7);
  acco.gpu_hours = 43.2;
  acco.model_flops_per_gpu = FlopsPerSecond{86.4e12};
  std::string text = compared(paper_like(), {acco}, 160);
  for (const char* const part : {" 43.2 ", " 86.4 ", "TFLOP/s"}) EXPECT_TRUE(holds(text, part));
  EXPECT_FALSE(holds(text, "cost"));
  acco.cost = 108;  // 43.2 hours at 2.5
  text = compared(paper_like(), {acco}, 160);
  for (const char* const part : {" 108 ", "cost"}) EXPECT_TRUE(holds(text, part));
}

TEST(Comparison, TheNarrowestTerminalKeepsTheVerdictOfMemory) {
  RunResult best = result_of("zero1", "best synchronous: zero3, HSDP, no reshard, one gradient sync", 1.7);
  best.fit.verdict = FitVerdict::kDoesNotFit;
  const std::string text = compared(paper_like(), {best}, 40);
  for (const char* const part : {" update", " memory", " / "}) EXPECT_TRUE(holds(text, part)) << text;
}

TEST(Comparison, WideDropsNoColumnForWantOfRoom) {
  // The rule of write_table(): blocks, as few as fit, with every column once and in one order. Without `wide` one
  // block, whose columns are some of these in the same order, and the more the wider.
  RunResult acco = result_of("acco", "ACCO", 1.4);
  acco.published_speedup = 1.72;
  acco.published_time = Seconds{6000};
  acco.update_time_low = Seconds{1.5};
  acco.update_time_high = Seconds{2};
  acco.cost = 108;
  const auto heads_at = [&](int width, bool wide) {
    std::vector<std::string> heads;
    int blocks = 0;
    const std::vector<std::string> lines = lines_of(compared(paper_like(), {acco}, width, wide));
    for (std::size_t i = 0; i + 2 < lines.size(); ++i) {
      if (lines[i].rfind("schedule", 0) != 0 || lines[i + 2].rfind("\u2500", 0) != 0) continue;
      ++blocks;
      std::istringstream words(lines[i].substr(8));
      for (std::string word; words >> word;) heads.push_back(word);
    }
    return std::pair(heads, blocks);
  };
  const auto [all, one] = heads_at(250, false);
  EXPECT_EQ(one, 1);
  EXPECT_EQ(all,
            (std::vector<std::string>{"update", "80",   "%",       "all",       "tokens",  "speedup",   "speedup",
                                      "batch",  "GPU-", "cost",    "published", "h:mm:ss", "published", "tokens",
                                      "per",    "s",    "MFLOP/s", "MFU",       "GPU",     "exposed",   "memory"}));
  int before = 1000;
  std::size_t shown_before = 0;
  for (int width = 40; width <= 250; width += 7) {
    const auto [heads, blocks] = heads_at(width, true);
    EXPECT_EQ(heads, all) << width;
    EXPECT_LE(blocks, before) << width;
    before = blocks;
    const auto [shown, screens] = heads_at(width, false);
    EXPECT_EQ(screens, 1) << width;
    EXPECT_GE(shown.size(), shown_before) << width;
    auto next = all.begin();
    for (const std::string& head : shown) {
      next = std::find(next, all.end(), head);
      ASSERT_NE(next, all.end()) << head << " at " << width;
    }
    shown_before = shown.size();
  }
}

TEST(Comparison, PublishedSpeedupStandsBesideOursWithTheError) {
  RunResult acco = result_of("acco", "ACCO", 1.634);
  EXPECT_FALSE(holds(compared(paper_like(), {acco}, 160), "published"));
  acco.published_speedup = 1.72;  // 1.634 / 1.72 - 1 = -0.05
  EXPECT_TRUE(holds(compared(paper_like(), {acco}, 160), "1.72x (-5.0 %)"));
}

TEST(Comparison, PublishedTimesStandBesideOursAndAnotherRunIsCalledSo) {
  RunResult acco = result_of("acco", "ACCO", 1.634);
  acco.total_time = Seconds{5400};
  acco.published_time = Seconds{6000};  // 5400 / 6000 - 1 = -0.1
  EXPECT_TRUE(holds(compared(paper_like(), {acco}, 160), "1:40:00 (-10.0 %)"));
  EXPECT_TRUE(holds(compared(paper_like(), {acco}, 160), "(our error)"));
  acco.published_of_another_run = true;
  EXPECT_TRUE(holds(compared(paper_like(), {acco}, 160), "1:40:00 (-10.0 %)"));
  EXPECT_TRUE(holds(compared(paper_like(), {acco}, 160), "of another run"));
  EXPECT_FALSE(holds(compared(paper_like(), {acco}, 160), "(our error)"));
}

TEST(Comparison, WhatDoesNotFitIsMarkedAndColourIsTheCallersChoice) {
  RunResult ddp = result_of("ddp", "DDP", 1);
  EXPECT_FALSE(holds(compared(paper_like(), {ddp}, 160), "OOM"));
  ddp.fit = {FitVerdict::kTight, 0.5};
  EXPECT_TRUE(holds(compared(paper_like(), {ddp}, 160), "31.4 / 80.0 tight"));
  ddp.fit = {FitVerdict::kDoesNotFit, 0.01};
  EXPECT_TRUE(holds(compared(paper_like(), {ddp}, 160), "31.4 / 80.0 OOM"));
  EXPECT_FALSE(holds(compared(paper_like(), {ddp}, 160), "\033["));
  EXPECT_TRUE(holds(compared(paper_like(), {ddp}, 160, false, true), "\033[31m"));
}

TEST(Comparison, KindsOfRanksThatHoldDifferentAmountsAreListedWhereOneMayNotFit) {
  RunResult ddp = result_of("ddp", "DDP", 1);
  const auto kind = [](const char* device, double gib, double capacity, Fit fit) {
    return KindMemory{device, 4, {{{MemoryUse::kParameters, Bytes{gib * 0x1p30}}}}, Bytes{capacity * 0x1p30}, fit};
  };
  ddp.memory_by_kind = {kind("A100", 30, 80, {FitVerdict::kFits, 1}), kind("V100", 33, 32, {FitVerdict::kTight, 0.25})};
  EXPECT_FALSE(holds(compared(paper_like(), {ddp}, 100), "V100")) << "all fit";
  ddp.fit = {FitVerdict::kTight, 0.25};
  const std::string text = unwrapped(compared(paper_like(), {ddp}, 100));
  EXPECT_TRUE(holds(text, "4 V100 33.0 GiB 32.0 GiB 25 %"));
  EXPECT_TRUE(holds(text, "4 A100 30.0 GiB 80.0 GiB above 99.9 %"));
  ddp.memory_by_kind.pop_back();
  EXPECT_FALSE(holds(compared(paper_like(), {ddp}, 100), "V100")) << "the table above says it";
}

TEST(Comparison, WarningsStandUnderTheirScheduleWithAdvice) {
  RunResult acco = result_of("acco", "ACCO", 1.4);
  acco.warnings = {{"batch_grown", "the batch doubled", "accumulate less"}};
  const std::string text = compared(paper_like(), {acco}, 100);
  EXPECT_TRUE(holds(text, "\nACCO\n  ! the batch doubled [batch_grown]\n    -> accumulate less\n"));
}

TEST(Comparison, WhatAllSchedulesShareIsSaidOnce) {
  RunResult zero1 = result_of("zero1", "ZeRO-1", 1), acco = result_of("acco", "ACCO", 1.4);
  const Warning shared{"inherited", "the constants are another part's", "measure"}, own{"grown", "it grew", "wait"};
  zero1.warnings = {shared};
  acco.warnings = {own, shared};
  const std::string text = compared(paper_like(), {zero1, acco}, 100);
  EXPECT_TRUE(holds(text, "\nall schedules\n  ! the constants are another part's [inherited]\n    -> measure\n"));
  EXPECT_EQ(text.find("[inherited]"), text.rfind("[inherited]")) << text;
  EXPECT_TRUE(holds(text, "\nACCO\n  ! it grew [grown]\n"));
  EXPECT_FALSE(holds(text, "\nZeRO-1\n")) << "nothing is left to say under it";
  acco.warnings[1].message = "other constants";  // another warning
  EXPECT_FALSE(holds(compared(paper_like(), {zero1, acco}, 100), "all schedules"));
  EXPECT_FALSE(holds(compared(paper_like(), {zero1}, 100), "all schedules")) << "alone it shares nothing";
}

TEST(Comparison, WarningsThatDifferInFiguresAloneAreSaidOnceWithTheirRange) {
  RunResult zero1 = result_of("zero1", "ZeRO-1", 1), dpu = result_of("dpu", "DPU", 1.2),
            acco = result_of("acco", "ACCO", 1.4);
  const auto inherited = [](const std::string& share, const std::string& device) {
    return Warning{"inherited", share + " % of the time on " + device + " (about " + share + ")", "measure"};
  };
  zero1.warnings = {inherited("54", "V100-SXM2-32GB"), inherited("53", "V100-SXM2-32GB")};  // of two stages
  dpu.warnings = {inherited("52", "V100-SXM2-32GB"), inherited("9", "A100-SXM4-40GB")};
  acco.warnings = {inherited("54", "V100-SXM2-32GB"), inherited("9.5", "A100-SXM4-40GB"),
                   inherited("7", "A100-SXM4-80GB")};
  const std::string text = compared(paper_like(), {zero1, dpu, acco}, 100);
  EXPECT_TRUE(
      holds(text, "\nall schedules\n  ! 52 to 54 % of the time on V100-SXM2-32GB (about 52 to 54) [inherited]\n"));
  EXPECT_TRUE(
      holds(text, "\nDPU and ACCO\n  ! 9 to 9.5 % of the time on A100-SXM4-40GB (about 9 to 9.5) [inherited]\n"));
  EXPECT_TRUE(holds(text, "\nACCO\n  ! 7 % of the time on A100-SXM4-80GB (about 7) [inherited]\n")) << "another part";
}

TEST(TerminalText, ProseFollowsTheTerminalUpToALineThatCanBeRead) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "word ";
  for (const auto& [terminal, least, most] :
       {std::tuple{60, 55, 60}, std::tuple{105, 100, 105}, std::tuple{300, 105, 110}}) {
    std::ostringstream out;
    write_wrapped(out, "  ", text, terminal);
    const int widest = largest<int>(lines_of(out.str()), display_width);
    EXPECT_GE(widest, least);
    EXPECT_LE(widest, most);
  }
}

TEST(Comparison, RanksOfDifferentSpeedAreSummedUpByDevice) {
  Scenario scenario = paper_like();
  scenario.cluster.nodes[0].count = 1;
  scenario.cluster.nodes[0].devices[3].slowdown = 4;
  RunResult acco = result_of("acco", "ACCO", 3.25);
  acco.ranks = {rank_of(0, 4), rank_of(1, 4.5), rank_of(2, 4), rank_of(3, 1)};
  const std::string text = unwrapped(compared(scenario, {result_of("ddp", "DDP", 1), acco}, 160));
  // (4 + 4.5 + 4) / 3 = 4.17 a round, 8.33 an update.
  EXPECT_TRUE(holds(text, "3 A100-SXM4-80GB 4.17 (4 to 5) 8.33 0.0 %"));
  EXPECT_TRUE(holds(text, "1 A100-SXM4-80GB (4 times slower) 1 2 0.0 %"));
  scenario.cluster.nodes[0].devices[3].name = "slow A100";
  EXPECT_TRUE(holds(unwrapped(compared(scenario, {acco}, 160)), "1 slow A100 1 2")) << "the name says enough";
  EXPECT_FALSE(holds(text, "DDP: each rank")) << "its ranks do the same";
  EXPECT_FALSE(holds(compared(paper_like(), {result_of("acco", "ACCO", 1.4)}, 160), "each rank"));
}

TEST(Comparison, ClosingWordsSpeakOfTheLawOnlyWhereItHolds) {
  RunResult acco = result_of("acco", "ACCO", 2.5);
  const auto closing = [&](const Scenario& scenario) { return unwrapped(compared(scenario, {acco}, 100)); };
  EXPECT_FALSE(holds(closing(paper_like()), "brings nothing")) << "no batch has grown";
  acco.batch_inflation = 2;
  EXPECT_TRUE(holds(closing(paper_like()), "never exceed 1.5 for ACCO."));
  Scenario unequal = paper_like();
  unequal.cluster.nodes[0].devices[1].slowdown = 2;
  EXPECT_TRUE(holds(closing(unequal), "brings nothing"));
  EXPECT_FALSE(holds(closing(unequal), "never exceed"));
  Scenario overlapped = paper_like();
  overlapped.schedules[0].overlap = Overlap::kBackward;
  EXPECT_FALSE(holds(closing(overlapped), "never exceed"));
}

TEST(Comparison, WithoutABaselineThereAreNoSpeedups) {
  Scenario scenario = paper_like();
  scenario.baseline.clear();
  RunResult alone = result_of("ddp", "DDP", 1);
  alone.speedup.reset();
  alone.speedup_same_batch.reset();
  const std::string text = compared(scenario, {alone}, 120);
  EXPECT_FALSE(holds(text, "speedup"));
  EXPECT_FALSE(holds(text, "baseline"));
}

std::string run_text(const RunResult& result, int width) {
  return on_terminal(run_document(paper_like(), result, standing_of(contenders_of({result}, ""), {})),
                     {.width = width});
}

TEST(Run, EveryMetricHasALineAndEqualRanksOneRow) {
  RunResult result = result_of("acco", "ACCO", 1.4);
  result.ranks[7] = rank_of(7, 1);
  const std::string text = run_text(result, 100);
  for (const char* name : {"update time", "total time", "tokens per second", "speedup per token", "batch growth", "MFU",
                           "HFU", "GPU idle", "exposed communication", "sent per rank", "memory by formula",
                           "memory resident", "memory capacity", "parameters"}) {
    EXPECT_TRUE(holds(text, std::string("\n") + name)) << name;
  }
  EXPECT_TRUE(holds(unwrapped(text), "0-6 A100-SXM4-80GB 4 8 0.0 %"));
  EXPECT_TRUE(holds(unwrapped(text), "7 A100-SXM4-80GB 1 2 0.0 %"));
  for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), 100) << line;
}

TEST(Run, AsManyRanksAsAClusterHasStayReadable) {
  RunResult result = result_of("acco", "ACCO", 1.4);
  result.ranks.clear();
  for (int rank = 0; rank < 1000; ++rank) result.ranks.push_back(rank_of(rank, 1 + rank % 2));
  const std::string text = run_text(result, 80);
  EXPECT_LT(lines_of(text).size(), 120U);
  EXPECT_TRUE(holds(text, "more rows"));
}

}  // namespace
}  // namespace accosim
