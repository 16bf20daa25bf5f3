// Do rows survive: read back as they were, whole after every kind of stop, and never mixed with another sweep's?
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "sim/sweep/rows.hpp"
#include "sim/sweep/summary.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/program.hpp"
#include "tests/support/random.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

Heading heading_of_two_axes() {
  return {.version = "1.0",
          .scenario = "a \"name\"",
          .id = "0123456789abcdef",
          .points = 6,
          .grid = true,
          .axes = {{"/a/rate", {"10 Gbit/s", "20 Gbit/s", "40 Gbit/s"}}, {"/b", {"x, y", "\"z\""}}},
          .schedules = {"ddp", "acco"},
          .baseline = "ddp"};
}

Metrics figures_of(double tokens_per_second, double speedup) {
  return Metrics{.update_time = Seconds{1 / tokens_per_second},
                 .tokens_per_second = tokens_per_second,
                 .speedup = speedup,
                 .speedup_same_batch = speedup};
}

Row row_of(std::size_t index, double ddp, double acco) {
  return {index, {index / 2, index % 2}, {}, {figures_of(ddp, 1), figures_of(acco, acco / ddp)}};
}

std::string wrong(const std::function<void()>& what) { return thrown_by<std::exception>(what); }

TEST(SweepRows, ReadBackAsTheyWere) {
  const Heading heading = heading_of_two_axes();
  EXPECT_EQ(read_heading(line_of(heading), "f"), heading);
  Random random(3);
  for (std::size_t i = 0; i < heading.points; ++i) {
    Row row = row_of(i, random.uniform(1e-9, 1e9), random.uniform(1e-9, 1e9));
    row.schedules[1].speedup_interval = Interval{random.uniform(0, 1), random.uniform(1, 2)};
    row.schedules[0].fit.verdict = FitVerdict::kDoesNotFit;
    const std::string line = line_of(heading, row);
    EXPECT_EQ(line_of(heading, read_row(heading, line, "f", 2)), line);
    EXPECT_FALSE(holds(line, "\n"));
  }
  Row late = row_of(0, 1, 2);
  EXPECT_FALSE(holds(line_of(heading, late), "updates_late")) << "rows are as they were";
  late.schedules[1].updates_late = 3;
  EXPECT_EQ(read_row(heading, line_of(heading, late), "f", 2).schedules[1].updates_late, 3);
  const Row failed{4, {2, 0}, "a reason, \"in quotes\"", {}, {}};
  EXPECT_EQ(read_row(heading, line_of(heading, failed), "f", 2).failure, failed.failure);
}

TEST(SweepRows, WhatIsFairlyComparedReadsBackToo) {
  Heading heading = heading_of_two_axes();
  EXPECT_FALSE(holds(line_of(heading), "fair")) << "rows from before there was this are as they were";
  heading.fair = true;
  EXPECT_EQ(read_heading(line_of(heading), "f"), heading);
  heading.trains = {"llama-3-8b", 1e9, 0};  // sequences of several lengths
  EXPECT_EQ(read_heading(line_of(heading), "f"), heading);
  Row row = row_of(0, 10, 20);
  row.alone = Alone{"32 A100", "64 V100", 1, 96, 12.5};
  row.schedules[1].over_alone = 1.6;
  row.schedules[1].over_alone_interval = Interval{1.4, 1.9};
  row.cautions = {"looks_wrong: links are faster than any"};
  row.way_to_fit = FittingWay{1, "implementation fused", 7200};
  const std::string line = line_of(heading, row);
  const Row back = read_row(heading, line, "f", 2);
  EXPECT_EQ(line_of(heading, back), line);
  ASSERT_TRUE(back.alone);
  EXPECT_EQ(back.alone->part, "32 A100");
  EXPECT_EQ(back.alone->schedule, 1U);
  EXPECT_EQ(back.schedules[1].over_alone, 1.6);
  EXPECT_EQ(back.cautions, row.cautions);
  ASSERT_TRUE(back.way_to_fit);
  EXPECT_EQ(back.way_to_fit->schedule, 1U);
  EXPECT_EQ(back.way_to_fit->change, "implementation fused");
  EXPECT_EQ(back.way_to_fit->total_time, 7200);
  EXPECT_EQ(back.schedules[0].over_alone, std::nullopt);
  row.alone = Alone{"", "", 0, 96, 12.5};  // all GPUs, which are alike
  EXPECT_EQ(line_of(heading, read_row(heading, line_of(heading, row), "f", 2)), line_of(heading, row));
  std::string other = line;
  other.replace(other.find(R"("schedule":"acco")"), 17, R"("schedule":"accu")");
  EXPECT_TRUE(holds(wrong([&] { read_row(heading, other, "f", 2); }), "/alone/schedule: is none of the heading"));
}

TEST(SweepRows, WhatIsLeftOutReadsBackWithItsReason) {
  const Heading heading = heading_of_two_axes();
  Row row = row_of(0, 10, 20);
  row.left_out = {"", "cannot be had with 2 stages"};
  row.schedules[1] = no_figures();
  const std::string line = line_of(heading, row);
  EXPECT_TRUE(holds(line, R"({"label":"acco","left_out":"cannot be had with 2 stages"})"));
  const Row back = read_row(heading, line, "f", 2);
  EXPECT_EQ(line_of(heading, back), line);
  EXPECT_TRUE(back.done() && back.has(0) && !back.has(1));
  EXPECT_EQ(winner_of(back, {Score::kTokens, {}}), 0U);
  EXPECT_EQ(back.schedules[0].tokens_per_second, 10);
}

TEST(SweepRows, TheCommandMayBeWrittenOtherwise) {
  Heading heading = heading_of_two_axes(), other = heading;
  heading.command = "accosim sweep mine.json --over /a=1,2";
  EXPECT_EQ(read_heading(line_of(heading), "f"), heading);
  other.command = "accosim sweep ./mine.json --over /a=1,2";
  EXPECT_TRUE(same_sweep(heading, other));
  other.id = "another";
  EXPECT_FALSE(same_sweep(heading, other));
}

TEST(SweepRows, ALineThatIsNoneIsToldByItsNumber) {
  const Heading heading = heading_of_two_axes();
  EXPECT_TRUE(holds(wrong([&] { read_row(heading, "{]", "rows.jsonl", 7); }), "rows.jsonl, line 7"));
  std::string other = line_of(heading, row_of(1, 1, 2));
  other.replace(other.find("10 Gbit/s"), 2, "11");
  EXPECT_TRUE(holds(wrong([&] { read_row(heading, other, "f", 2); }), "is no value of the axis"));
}

TEST(SweepRows, AFileHoldsWhatWasAppendedInOrder) {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "rows.jsonl").string();
  const Heading heading = heading_of_two_axes();
  {
    RowFile file(path, heading, RowFile::Existing::kRefuse, false);
    for (const std::size_t i : {3U, 0U, 5U}) file.append(row_of(i, 1, 2));
    EXPECT_TRUE(file.has(3));
    EXPECT_FALSE(file.has(1));
    file.sort();
    file.append(row_of(1, 1, 2));
    file.sort();
  }
  const SweepRows rows = read_rows(path);
  ASSERT_EQ(rows.rows.size(), 4U);
  EXPECT_EQ(rows.rows[1].index, 1U);
  std::string expected = line_of(heading) + "\n";
  for (const std::size_t i : {0U, 1U, 3U, 5U}) expected += line_of(heading, row_of(i, 1, 2)) + "\n";
  EXPECT_EQ(text_of(path), expected) << "sorted, whatever the order in which rows came";
}

// A process that is killed leaves any beginning of its file. Whatever that is, what is resumed ends with the same
// bytes.
TEST(SweepRows, CutAnywhereAndResumedItIsTheSameFile) {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "rows.jsonl").string();
  const Heading heading = heading_of_two_axes();
  const auto fill = [&](RowFile& file) {
    for (const std::size_t i : {2U, 0U, 1U, 4U, 3U, 5U})
      if (!file.has(i)) file.append(row_of(i, 1, 2));
    file.sort();
  };
  std::string unsorted = line_of(heading) + "\n";
  for (const std::size_t i : {2U, 0U, 1U, 4U, 3U, 5U}) unsorted += line_of(heading, row_of(i, 1, 2)) + "\n";
  {
    RowFile file(path, heading, RowFile::Existing::kRefuse, false);
    fill(file);
  }
  const std::string whole = text_of(path);
  for (std::size_t cut = 0; cut <= unsorted.size(); cut += 13) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << unsorted.substr(0, cut);
    RowFile file(path, heading, RowFile::Existing::kResume, false);
    fill(file);
    ASSERT_EQ(text_of(path), whole) << "cut after " << cut << " bytes";
  }
}

TEST(SweepRows, FailedPointsArePlayedAgainOnlyWhenAsked) {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "rows.jsonl").string();
  const Heading heading = heading_of_two_axes();
  {
    RowFile file(path, heading, RowFile::Existing::kRefuse, false);
    file.append({2, {1, 0}, "took too long", {}, {}});
    file.append(row_of(0, 1, 2));
  }
  EXPECT_TRUE(RowFile(path, heading, RowFile::Existing::kResume, false).has(2));
  RowFile again(path, heading, RowFile::Existing::kResume, true);
  EXPECT_FALSE(again.has(2));
  EXPECT_TRUE(again.has(0));
  again.append(row_of(2, 1, 2));
  again.sort();
  EXPECT_EQ(read_rows(path).rows.size(), 2U);
}

TEST(SweepRows, AFileOfSomethingElseIsNotTouched) {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "notes.jsonl").string();
  const Heading heading = heading_of_two_axes();
  std::ofstream(path) << "my notes\n";
  EXPECT_TRUE(holds(wrong([&] { RowFile(path, heading, RowFile::Existing::kRefuse, false); }), "--resume"));
  EXPECT_TRUE(
      holds(wrong([&] { RowFile(path, heading, RowFile::Existing::kResume, false); }), "is no file of a sweep"));
  EXPECT_EQ(text_of(path), "my notes\n");
  // Nor is it where its only line has no end, as that of rows that were cut has none: only a beginning of our own
  // heading is one.
  const std::string heading_line = line_of(heading);
  for (const std::string& text :
       {std::string("my notes"), std::string(R"({"my":"notes"})"), std::string("\nmy notes"),
        std::string(kRowsBegin) + "9", heading_line + "}", heading_line.substr(0, heading_line.size() / 2) + "?"}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    EXPECT_TRUE(holds(wrong([&] { RowFile(path, heading, RowFile::Existing::kResume, false); }), "--force")) << text;
    EXPECT_EQ(text_of(path), text);
  }
  Heading other = heading;
  other.id = "fedcba9876543210";
  const std::string rows = (folder.path / "rows.jsonl").string();
  { RowFile file(rows, heading, RowFile::Existing::kRefuse, false); }
  EXPECT_TRUE(holds(wrong([&] { RowFile(rows, other, RowFile::Existing::kResume, false); }), "of another sweep"));
}

TEST(SweepRows, OnlyOneProcessWritesAFile) {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "rows.jsonl").string();
  const RowFile first(path, heading_of_two_axes(), RowFile::Existing::kRefuse, false);
  EXPECT_TRUE(holds(wrong([&] { RowFile(path, heading_of_two_axes(), RowFile::Existing::kResume, false); }),
                    "is being written by another process"));
}

// Who waits has opened the file before; when its turn comes, the rows in order are in another.
TEST(SweepRows, WhoWaitedWritesToTheFileThatIsThereThen) {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "rows.jsonl").string();
  auto first = std::make_unique<RowFile>(path, heading_of_two_axes(), RowFile::Existing::kRefuse, false);
  first->append(row_of(1, 10, 20));
  first->append(row_of(0, 10, 20));
  std::thread waiting([&] {
    RowFile second(path, heading_of_two_axes(), RowFile::Existing::kResume, false);
    EXPECT_TRUE(second.has(0) && second.has(1));
    second.append(row_of(2, 10, 20));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  first->sort();
  first.reset();
  waiting.join();
  const SweepRows rows = read_rows(path);
  ASSERT_EQ(rows.rows.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rows.rows[i].index, i);
}

// ddp does 10, 20 and 40 at the three rates, acco 20 at each: equal at 20 Gbit/s. Between 20 and 40 the logarithm of
// the ratio goes from 0 to log 2; at x = 0 both are equal, so with acco 25 they meet where (x/20)^1 = 25/20: 25 Gbit/s.
TEST(SweepSummary, ACrossoverIsWhereTheScoresAreEqual) {
  SweepRows rows{heading_of_two_axes(), {}};
  for (std::size_t i = 0; i < 6; ++i) {
    const double rate = std::array{10.0, 20.0, 40.0}[i / 2];
    rows.rows.push_back(row_of(i, rate, i % 2 == 0 ? 25 : 15));
  }
  const std::vector<Crossover> all = crossovers(rows, {Score::kTokens, {}});
  ASSERT_EQ(all.size(), 1U) << "the second axis has no numbers";
  EXPECT_EQ(all[0].axis, 0U);
  EXPECT_EQ(all[0].below, 1U) << "acco";
  EXPECT_EQ(all[0].above, 0U) << "ddp";
  EXPECT_EQ(all[0].lines, 2U);
  EXPECT_NEAR(all[0].low, 15, 1e-9);
  EXPECT_NEAR(all[0].high, 25, 1e-9);
}

// ddp does 10 at 10 Gbit/s and 40 at 40, acco 20 at both, and nothing is known of 20: equal where they were.
TEST(SweepSummary, ACrossoverMayLieOnAPointThatFailed) {
  SweepRows rows{heading_of_two_axes(), {}};
  for (std::size_t i = 0; i < 6; ++i)
    rows.rows.push_back(i / 2 == 1 ? Row{i, {1, i % 2}, "it failed", {}, {}} : row_of(i, i < 2 ? 10 : 40, 20));
  const std::vector<Crossover> all = crossovers(rows, {Score::kTokens, {}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].lines, 2U);
  EXPECT_NEAR(all[0].low, 20, 1e-9);
}

TEST(SweepSummary, WhatDoesNotFitOrFailedWinsNothing) {
  Row row = row_of(0, 1, 2);
  EXPECT_EQ(winner_of(row, {Score::kTokens, {}}), 1U);
  row.schedules[1].fit.verdict = FitVerdict::kDoesNotFit;
  EXPECT_EQ(winner_of(row, {Score::kTokens, {}}), 0U);
  row.schedules[0].fit.verdict = FitVerdict::kDoesNotFit;
  EXPECT_EQ(winner_of(row, {Score::kTokens, {}}), std::nullopt);
  EXPECT_EQ(winner_of({0, {0, 0}, "failed", {}, {}}, {Score::kTokens, {}}), std::nullopt);
}

// acco is twice as fast at all rates; its batch is 1.1 times as large at 40 Gbit/s, and larger below. So ddp wins below
// and acco above, and where between 20 and 40 that changes is not known from the speeds.
TEST(SweepSummary, WhereACaveatGoesTheWinnerChangesBetweenTheTwoPoints) {
  SweepRows rows{heading_of_two_axes(), {}};
  for (std::size_t i = 0; i < 6; ++i) {
    rows.rows.push_back(row_of(i, 10, 20));
    rows.rows.back().schedules[1].batch_inflation = i < 4 ? 2.0 - 0.1 * static_cast<double>(i) : 1.1;
  }
  EXPECT_EQ(winner_of(rows.rows[3], {}), 0U);
  EXPECT_EQ(winner_of(rows.rows[4], {}), 1U);
  const std::vector<Crossover> all = crossovers(rows, {});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].below, 0U);
  EXPECT_EQ(all[0].above, 1U);
  EXPECT_EQ(all[0].low, 20);
  EXPECT_EQ(all[0].high, 40);
  const std::vector<Faster> faster = faster_ones(rows, {});
  ASSERT_EQ(faster.size(), 1U);
  EXPECT_EQ(faster[0].schedule, 1U);
  EXPECT_EQ(faster[0].points, 4U);
  EXPECT_EQ(faster[0].caveats.batch_growth, 2);
}

TEST(SweepSummary, AMapSaysWhatItsCellsAre) {
  Row row = row_of(0, 10, 20);
  EXPECT_STREQ(map_cell(row, {}).mark, "") << "twice as fast is sure: no spread here but that of the operators";
  row.schedules[0] = figures_of(19, 1.9);
  EXPECT_STREQ(map_cell(row, {}).mark, "~") << "1.05 lies within exp(1.2816 x 0.109) = 1.15";
  for (Metrics& each : row.schedules) each.statistics = Statistics::kStaleGradients;
  EXPECT_STREQ(map_cell(row, {}).mark, "*");
  EXPECT_EQ(map_cell(row, {}).schedule, 1U);
  for (Metrics& each : row.schedules) each.fit.verdict = FitVerdict::kDoesNotFit;
  EXPECT_STREQ(map_cell(row, {}).mark, "x");
  row.failure = "why";
  EXPECT_STREQ(map_cell(row, {}).mark, "!");
}

TEST(SweepRows, OfAnOlderVersionAreRefusedWithWhatToDo) {
  for (const char* const older : {"sweep_rows/1", "sweep_rows/2"}) {
    std::string line = line_of(heading_of_two_axes());
    line.replace(line.find("sweep_rows/3"), 12, older);
    EXPECT_TRUE(holds(wrong([&] { read_heading(line, "f"); }), "play it anew")) << older;
  }
}

TEST(SweepSummary, AxesAreShortWhereTheyCanBeToldApart) {
  EXPECT_EQ(short_names({{"/cluster/nodes/0/count", {}}, {"/training/micro_batch_size", {}}}),
            (std::vector<std::string>{"count", "micro_batch_size"}));
  EXPECT_EQ(short_names({{"/cluster/nodes/0/count", {}}, {"/cluster/nodes/1/count", {}}}),
            (std::vector<std::string>{"0/count", "1/count"}));
}

TEST(SweepSummary, ValuesOfOneDimensionAreNumbersInTheFirstOnesUnit) {
  EXPECT_EQ(numbers_of({"/a", {"500 Mbit/s", "1 Gbit/s"}})->values, (std::vector<double>{500, 1000}));
  EXPECT_EQ(numbers_of({"/a", {"8", "16"}})->values, (std::vector<double>{8, 16}));
  EXPECT_EQ(numbers_of({"/a", {"8", "x"}}), std::nullopt);
}

}  // namespace
}  // namespace accosim
