// Where an axis of a sweep changes nothing: are the ranges as long as they can be, and is what binds there named?
#include <gtest/gtest.h>

#include "build_info/project.hpp"
#include "sim/sweep/summary.hpp"
#include "sim/sweep/sweep.hpp"
#include "tests/support/program.hpp"

namespace accosim {
namespace {

/// One schedule at rates of 1, 2, 4... Gbit/s, an update of so many seconds at each.
SweepRows rows_of(const std::vector<double>& times) {
  SweepRows rows;
  rows.heading.points = times.size();
  rows.heading.axes = {{"/cluster/nodes/0/nics/bandwidth", {}}};
  rows.heading.schedules = {"ddp"};
  for (std::size_t i = 0; i < times.size(); ++i) {
    rows.heading.axes[0].values.push_back(std::to_string(1 << i) + " Gbit/s");
    Metrics figures;
    figures.update_time = figures.total_time = Seconds{times[i]};
    rows.rows.push_back({i, {i}, {}, {figures}});
    rows.rows.back().binds = Binding{"wire"};
  }
  return rows;
}

TEST(FlatRanges, AreAsLongAsCanBeAndOfThreePoints) {
  // 10 s at 4, 8 and 16 Gbit/s to 0.1 %: 10.009 over 10 is 0.09 % more. 9.99 at 32 Gbit/s is 0.19 % below 10.009, and
  // two points are no range.
  const std::vector<FlatRange> ranges = flat_ranges(rows_of({20, 15, 10.009, 10.004, 10, 9.99, 9.99}));
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].low, 4);
  EXPECT_EQ(ranges[0].high, 16);
  EXPECT_EQ(ranges[0].binds->term, "wire");
  EXPECT_TRUE(flat_ranges(rows_of({10, 10, 9, 9})).empty());
  EXPECT_EQ(flat_ranges(rows_of({10, 10, 10, 9, 9, 9})).size(), 2U);
}

TEST(FlatRanges, APriceThatChangesIsAChangeAndSoIsRoom) {
  SweepRows rows = rows_of({10, 10, 10, 10});
  EXPECT_EQ(flat_ranges(rows).size(), 1U);
  rows.rows[1].schedules[0].cost = 2;
  EXPECT_TRUE(flat_ranges(rows).empty());
  rows = rows_of({10, 10, 10, 10});
  rows.rows[0].schedules[0].fit.verdict = FitVerdict::kDoesNotFit;
  EXPECT_EQ(flat_ranges(rows).at(0).low, 2);
  rows.rows[2].failure = "refused";
  EXPECT_TRUE(flat_ranges(rows).empty());
}

TEST(FlatRanges, WhereHostsCopyTheAdaptersChangeNothing) {
  // Two nodes whose hosts copy 21.2 GB/s, sent and received together: 10.6 GB/s each way. Four adapters of B carry
  // 4 x 0.8846 x B, which is more from B = 3.0 GB/s, 24 Gbit/s, on. So 10 Gbit/s is slower, and from 25 on all is
  // alike. On the wire at 10 Gbit/s are 4 x 0.8846 x 1.25 = 4.4 GB/s.
  const std::string pointer = "/cluster/nodes/0/nics/bandwidth";
  Sweep sweep;
  sweep.scenario = std::string(kSourceFolder) + "/scenarios/overlap_2x4_a100.json";
  sweep.schedules = {"zero1"};
  sweep.tuned = false;
  sweep.space = {.kind = Space::Kind::kAxis, .axis = parse_axis(pointer + "=10,25,100,400 Gbit/s")};
  const Heading heading = heading_of(sweep, NetworkKind::kReference);
  SweepRows rows{heading, {}};
  PartCache cache;
  for (std::size_t i = 0; i < heading.points; ++i)
    rows.rows.push_back(play_point(sweep, heading, i, NetworkKind::kReference, cache));
  EXPECT_EQ(rows.rows[0].binds->term, "wire");
  EXPECT_FALSE(rows.rows[0].binds->copied);
  EXPECT_GT(rows.rows[0].schedules[0].update_time, 1.001 * rows.rows[1].schedules[0].update_time);
  const std::vector<FlatRange> ranges = flat_ranges(rows);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].low, 25);
  EXPECT_EQ(ranges[0].high, 400);
  EXPECT_EQ(ranges[0].binds->term, kHostCopies);
  EXPECT_DOUBLE_EQ(ranges[0].binds->copied->value, 10.6e9);
  const std::string line = line_of(heading, rows.rows[3]);
  EXPECT_EQ(line_of(heading, read_row(heading, line, "f", 2)), line);
}

// The four adapters of a node carry 4 x 0.885 x B, and the PCIe 4.0 slots of its four A100 4 x 24 GB/s, which is less
// from B = 27 GB/s, 217 Gbit/s, on.
TEST(FlatRanges, WhereTheSlotsOfTheGpusBindIsNotCalledTheWire) {
  const TemporaryFolder folder;
  Sweep sweep;
  sweep.scenario = folder.write("scenario.json", R"({"schema": "accosim.scenario/1", "model": "gpt2",
      "cluster": {"nodes": [{"count": 2, "gpus": 4, "device": "A100-SXM4-40GB",
                             "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s"},
                             "nics": {"count": 4, "bandwidth": "100 Gbit/s"}}]},
      "training": {"sequence_length": 1024, "micro_batch_size": 2, "gradient_accumulation_steps": 4,
                   "train_tokens": 1e9},
      "schedules": [{"name": "zero1"}]})");
  sweep.tuned = false;
  sweep.space = {.kind = Space::Kind::kAxis,
                 .axis = parse_axis("/cluster/nodes/0/nics/bandwidth=100,200,250,400,800 Gbit/s")};
  const Heading heading = heading_of(sweep, NetworkKind::kReference);
  SweepRows rows{heading, {}};
  PartCache cache;
  for (std::size_t i = 0; i < heading.points; ++i)
    rows.rows.push_back(play_point(sweep, heading, i, NetworkKind::kReference, cache));
  for (const std::size_t i : {0, 1}) EXPECT_EQ(rows.rows[i].binds->term, "wire") << i;
  for (const std::size_t i : {2, 3, 4}) EXPECT_EQ(rows.rows[i].binds->term, "slots") << i;
  const std::vector<FlatRange> ranges = flat_ranges(rows);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].low, 250);
  EXPECT_EQ(ranges[0].high, 800);
}

}  // namespace
}  // namespace accosim
