// Does each metric stand where its row of the table says, and nowhere else of what loops over it?
#include "sim/result/metric_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "build_info/project.hpp"
#include "reports/console.hpp"
#include "reports/metric_text.hpp"
#include "reports/result_json.hpp"
#include "reports/sweep/sweep_report.hpp"
#include "sim/sweep/rows.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/json.hpp"
#include "tests/support/printed.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/unwrapped.hpp"

namespace accosim {
namespace {

/// Known in every metric, each with a figure of its own.
template <typename All>
All with_every_metric() {
  All all;
  double figure = 2;
  for (const Metric& metric : metrics()) {
    figure += 0.0625;  // exact, so that it reads back the same
    if (metric.figure.set != nullptr) metric.figure.set(all, std::min(figure, metric.most));
    if (metric.interval.set != nullptr) metric.interval.set(all, {figure / 2, 2 * figure});
  }
  return all;
}

RunResult full_result() {
  RunResult result = with_every_metric<RunResult>();
  result.schedule = result.label = "zero1";
  result.tokens_per_second = result.tokens_padded_per_second / 2;
  return result;
}

Scenario two_gpus() {
  Scenario scenario = sample_scenario(1, 2);
  scenario.baseline = "zero1";
  return scenario;
}

TEST(MetricTable, EachIsKeptInAMemberOfItsOwn) {
  for (const Metric& metric : metrics()) {
    if (metric.figure.set == nullptr) continue;
    const Metrics none;
    Metrics some;
    metric.figure.set(some, 1);
    metric.figure.set(some, 0.5);
    const double kept = metric.format == Format::kYesNo ? 1 : 0.5;
    EXPECT_EQ(metric.figure.of(some), kept) << metric.key;
    for (const Metric& other : metrics())
      if (&other != &metric && other.figure.set != nullptr) {
        EXPECT_EQ(other.figure.of(some), other.figure.of(none)) << metric.key << " moves " << other.key;
      }
    EXPECT_EQ(metric.figure.of(none).has_value(), metric.figure.always) << metric.key;
  }
}

TEST(MetricTable, KeysAreDistinctAndNameTheirUnit) {
  std::set<std::string> keys;
  for (const Metric& metric : metrics()) {
    const std::string key = metric.key;
    EXPECT_TRUE(keys.insert(key).second) << key;
    if (metric.format == Format::kTime || metric.format == Format::kClock) {
      EXPECT_TRUE(key.ends_with("_s")) << key;
    }
    if (metric.format == Format::kBytes || metric.format == Format::kMemory) {
      EXPECT_NE(key.find("bytes"), std::string::npos) << key;
    }
    EXPECT_EQ(&metric_named(key), &metric);
  }
  EXPECT_THROW(metric_named("nothing"), std::logic_error);
}

TEST(MetricTable, NoTwoHaveOnePlace) {
  for (const auto shown : {&Metric::run, &Metric::column, &Metric::page}) {
    std::set<int> places;
    for (const Metric* const metric : metrics_by(shown))
      EXPECT_TRUE(places.insert((metric->*shown).place).second) << metric->key;
  }
  std::set<int> places;
  for (const Metric* const metric : metrics_by(&Metric::in_rows))
    EXPECT_TRUE(places.insert(metric->in_rows).second) << metric->key;
}

TEST(MetricTable, DocumentsHaveThoseThatSaySo) {
  const RunResult result = full_result();
  const Json document =
      Json::parse(written([&](std::ostream& out) { write_results_json(out, two_gpus(), "simgrid", {{result}}); }));
  const Json& one = document["results"][0];
  for (const Metric& metric : metrics()) {
    if (!metric.in_json) continue;
    const std::optional<double> figure = metric.figure.of(result);
    ASSERT_TRUE(one.contains(metric.key)) << metric.key;
    if (metric.format == Format::kYesNo)
      EXPECT_EQ(one[metric.key], *figure != 0) << metric.key;
    else
      EXPECT_EQ(one[metric.key], *figure) << metric.key;
    EXPECT_EQ(one.contains(std::string(metric.key) + "_low"), metric.interval.of != nullptr) << metric.key;
  }
}

TEST(MetricTable, RowsOfASweepAndTheirCsvHaveThoseThatSaySo) {
  Heading heading{.version = "1",
                  .scenario = "one",
                  .id = "0",
                  .points = 1,
                  .grid = true,
                  .axes = {},
                  .schedules = {"ddp"},
                  .baseline = "ddp"};
  const Metrics all = with_every_metric<Metrics>();
  const Row row{0, {}, {}, {all}, {}};
  const std::string line = line_of(heading, row);
  const Json document = Json::parse(line);
  const Metrics back = read_row(heading, line, "rows", 2).schedules[0];
  const std::string csv = written([&](std::ostream& out) { write_sweep_csv(out, {heading, {row}}, {}); });
  const std::string head = "," + csv.substr(0, csv.find('\n')) + ",";
  for (const Metric& metric : metrics()) {
    const std::string key = metric.key;
    for (const std::string& each : {key, key + "_low"}) {
      const bool there = metric.in_rows > 0 && (each == key || metric.interval_in_rows());
      EXPECT_EQ(document["schedules"][0].contains(each), there) << each;
      EXPECT_EQ(head.find("," + each + ",") != std::string::npos, there) << each;
    }
    if (metric.in_rows > 0) {
      EXPECT_EQ(metric.figure.of(back), metric.figure.of(all)) << key;
    }
  }
}

TEST(SweepCsv, WhatASpreadsheetWouldCalculateIsAText) {
  Heading heading{.version = "1",
                  .scenario = "one",
                  .id = "0",
                  .points = 1,
                  .grid = true,
                  .axes = {{"/a", {"-1"}}},
                  .schedules = {"=1+1", "-1+1", "+1", "@a"},
                  .baseline = "=1+1"};
  const Row row{0, {0}, {}, std::vector<Metrics>(4, with_every_metric<Metrics>()), {}};
  const std::string csv = written([&](std::ostream& out) { write_sweep_csv(out, {heading, {row}}, {}); });
  EXPECT_NE(csv.find("\n0,-1,done,,'=1+1,"), std::string::npos) << csv;  // a number stays one
  for (const char* const cell : {",'-1+1,", ",'+1,", ",'@a,"}) EXPECT_NE(csv.find(cell), std::string::npos) << csv;
}

TEST(MetricTable, RunAndCompareShowThoseThatSaySo) {
  const RunResult result = full_result();
  const ConsoleOptions wide{.width = 400};
  const std::string run = unwrapped(on_terminal(run_document(two_gpus(), result, {}), wide));
  for (const Metric* const metric : metrics_by(&Metric::run))
    EXPECT_TRUE(holds(run, unwrapped(metric->run.name + (" " + in_words(metric->format, *metric->figure.of(result))))))
        << metric->key;
  const std::string table = on_terminal(comparison_document(two_gpus(), {{result}}), wide);
  for (const Metric* const metric : metrics_by(&Metric::column)) {
    const ColumnText text = column_text(metric->format, {*metric->figure.of(result)});
    EXPECT_NE(table.find(" " + text.text_of(*metric->figure.of(result))), std::string::npos) << metric->key;
  }
}

// The page has the figures of the document of results, and writes them by functions of its script.
TEST(MetricTable, ThePageCanShowThoseThatSaySo) {
  std::ifstream in(std::string(kSourceFolder) + "/reports/page/src/format.js");
  const std::string script((std::istreambuf_iterator<char>(in)), {});
  for (const Metric* const metric : metrics_by(&Metric::page)) {
    EXPECT_TRUE(metric->in_json) << metric->key;
    const std::string name = name_of(metric->format);
    EXPECT_TRUE(script.find("\n  " + name + "(") != std::string::npos ||
                script.find("\n  " + name + ":") != std::string::npos)
        << name;
  }
}

// Does the page of a comparison say what each schedule takes, and why one of them may not win?

RunResult result(const std::string& label, double seconds, Statistics statistics) {
  RunResult result;
  result.schedule = result.label = label;
  result.update_time = Seconds{seconds};
  result.total_time = Seconds{1000 * seconds};
  result.tokens_per_second = 1e6 / seconds;
  result.samples_per_update = 64;
  result.memory_formula = Bytes{0x1p30};
  result.memory_resident = Bytes{3 * 0x1p30};
  result.memory_capacity = Bytes{80 * 0x1p30};
  result.bytes_sent_per_rank_per_update = Bytes{2e9};
  result.statistics = statistics;
  result.speedup = result.speedup_same_batch = 4 / seconds;
  return result;
}

std::vector<std::string> page_lines_of(const std::vector<RunResult>& results) {
  Scenario scenario = sample_scenario(2, 4);
  scenario.baseline = "zero1";
  return lines_of(
      on_page(comparison_page(scenario, {results, standing_of(contenders_of(results, "zero1"), {})}, "a command")));
}

TEST(ComparisonMarkdown, HasARowAScheduleTheFastestFirst) {
  const std::vector<std::string> lines =
      page_lines_of({result("zero1", 4, Statistics::kSynchronous), result("diloco", 2, Statistics::kReplicasDrift)});
  ASSERT_GE(lines.size(), 9u);
  EXPECT_EQ(lines[2], "Written by `a command`; not to be edited by hand.");
  EXPECT_EQ(lines[8],
            "| diloco | 0:33:20 | 2.00 s | 2.00x | 64 | 1.00 GiB | 3.00 GiB | yes | 2.00 GB | of replicas that drift | "
            "no: with replicas that drift apart |");
  EXPECT_EQ(
      lines[9],
      "| zero1 | 1:06:40 | 4.00 s | 1.00x | 64 | 1.00 GiB | 3.00 GiB | yes | 2.00 GB | synchronous, or corrected | "
      "yes |");
}

TEST(ComparisonMarkdown, MakesNoLinkOfWhatAScenarioSays) {
  // A viewer makes a link of [text](address) and of <address>; escaped they are text.
  const std::string link = "[x](javascript:alert(1)) <javascript:alert(2)>";
  Scenario scenario = sample_scenario(2, 4);
  scenario.name = scenario.description = scenario.baseline = link;
  const std::vector<RunResult> results = {result(link, 4, Statistics::kSynchronous)};
  const std::string page =
      on_page(comparison_page(scenario, {results, standing_of(contenders_of(results, link), {})}, "a command"));
  EXPECT_TRUE(holds(page, "# [x\\](javascript:alert(1)) \\<javascript:alert(2)>\n"));
  EXPECT_FALSE(holds(page, "x](javascript"));
  EXPECT_FALSE(holds(page, " <javascript"));
}

TEST(ComparisonMarkdown, HasMeasuredSamplesWithTheirInterval) {
  // Twice as fast with 1.25 times the samples: 1.6; an interval of the speedup from 1.28 to 2 is one of the samples
  // from 1 to 1.5625.
  RunResult late = result("diloco", 2, Statistics::kReplicasDrift);
  late.to_loss = TimeToLoss{true, false, 1.25, 1.6, 1.28, 2};
  const std::vector<std::string> lines = page_lines_of({result("zero1", 4, Statistics::kSynchronous), late});
  ASSERT_GE(lines.size(), 9u);
  EXPECT_TRUE(holds(lines[8], "| 1.25 [1.00, 1.56] | 1.60x |"));
  EXPECT_TRUE(holds(lines[9], "| not measured | - |"));
}

}  // namespace
}  // namespace accosim
