// Are the points of a sweep those that its axes say, each a function of its index alone?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "sim/sweep/fair.hpp"
#include "sim/sweep/space.hpp"
#include "sim/sweep/summary.hpp"
#include "sim/sweep/sweep.hpp"
#include "sim/what_if/parts.hpp"
#include "tests/support/fair_rows.hpp"
#include "tests/support/program.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

using Values = std::vector<std::string>;

Space axis(const std::string& text) { return {.kind = Space::Kind::kAxis, .axis = parse_axis(text)}; }

std::string refusal(const std::string& text) {
  return thrown_by<BadInput>([&] { check_distinct(parse_axis(text)); });
}

TEST(AxisLabels, AreWhatAPointerMeansInTheScenario) {
  const JsonValue scenario = parse_json(R"({"cluster": {"nodes": [{"name": "new", "device": {"name": "A100-SXM4-80GB"}},
      {"name": "old", "device": ["V100-SXM2-32GB", "V100-SXM2-16GB"]}]}, "schedules": [{"name": "zero1", "label": "tuned"}]})",
                                        "")
                                 .root;
  const auto label = [&](const std::string& pointer, const JsonValue& of) {
    std::vector<Axis> axes = {{.pointer = pointer, .values = {"1"}}};
    add_labels(axes, of);
    return axis_names(axes).front();
  };
  EXPECT_EQ(label("/cluster/nodes/1/count", scenario), "V100 nodes");
  EXPECT_EQ(label("/cluster/nodes/0/nics/bandwidth", scenario), "adapter of A100 nodes");
  EXPECT_EQ(label("/cluster/nodes/*/nics/bandwidth", scenario), "adapter") << "of all of them";
  EXPECT_EQ(label("/cluster/nodes/1/device/0/slowdown", scenario), "slowdown of V100 nodes");
  EXPECT_EQ(label("/training/gradient_accumulation_steps", scenario), "micro-batches an update");
  EXPECT_EQ(label("/schedules/0/bucket_cap_mb", scenario), "bucket cap mb of tuned");
  EXPECT_EQ(label("/cluster", scenario), "cluster");
  EXPECT_EQ(label("/training/pauses/0/duration", scenario), "duration") << "as the keys say it";
  // Equal GPUs are told apart by the groups' names; one group needs no telling.
  const JsonValue equal = parse_json(R"({"cluster": {"nodes": [{"name": "near", "device": "A100-SXM4-80GB"},
      {"name": "far", "device": "A100-SXM4-80GB"}]}})",
                                     "")
                              .root;
  EXPECT_EQ(label("/cluster/nodes/1/count", equal), "far nodes");
  const JsonValue one = parse_json(R"({"cluster": {"nodes": [{"device": "A100-SXM4-80GB"}]}})", "").root;
  EXPECT_EQ(label("/cluster/nodes/0/count", one), "nodes");
  EXPECT_EQ(label("/cluster/nodes/9/count", one), "nodes");
}

TEST(AxisLabels, TheUsersStandAndTwoAreNeverTheSame) {
  std::vector<Axis> axes = {{.pointer = "/training/a/micro_batch_size", .values = {"1"}},
                            {.pointer = "/training/b/micro_batch_size", .values = {"1"}},
                            {.pointer = "/cluster/nodes/0/count", .values = {"1"}, .label = "how many"}};
  add_labels(axes, json_object({}));
  EXPECT_EQ(axis_names(axes), (Values{"a/micro_batch_size", "b/micro_batch_size", "how many"}));
}

TEST(SweepSpace, AnAxisIsAListOrARange) {
  EXPECT_EQ(parse_axis("/a/b=1,2.5,x").pointer, "/a/b");
  EXPECT_EQ(parse_axis("/a=1,2.5,x").values, (Values{"1", "2.5", "x"}));
  EXPECT_EQ(parse_axis("/a=10, 25,50 Gbit/s").values, (Values{"10 Gbit/s", "25 Gbit/s", "50 Gbit/s"}));
  EXPECT_EQ(parse_axis("/a=500 Mbit/s,1 Gbit/s").values, (Values{"500 Mbit/s", "1 Gbit/s"})) << "each has its own";
  EXPECT_EQ(parse_axis("/a=0..16:5").values, (Values{"0", "4", "8", "12", "16"}));
  EXPECT_EQ(parse_axis("/a=3..1:3").values, (Values{"3", "2", "1"}));
  // Ratio 10 in two steps: sqrt(10).
  EXPECT_EQ(parse_axis("/a=10..100:3:log Gbit/s").values, (Values{"10 Gbit/s", "31.6 Gbit/s", "100 Gbit/s"}));
  EXPECT_EQ(parse_axis("/a=1e-320..1e308:2:log").values.back(), "1e+308") << "smaller than a normal number";
  // 1 to 1.01 in ten steps: neighbours are 0.1 % apart, so three digits are too few.
  EXPECT_EQ(parse_axis("/a=1..1.01:11:log").values[1], "1.001");
  EXPECT_EQ(parse_axis("/a=10..100 Gbit/s:3:log").values, parse_axis("/a=10..100:3:log Gbit/s").values);
}

TEST(SweepSpace, CommasInsideJsonPartNothing) {
  EXPECT_EQ(parse_axis(R"(/a={"x": [1, 2], "y": 3},[4, 5],"6, 7")").values,
            (Values{R"({"x": [1, 2], "y": 3})", "[4, 5]", R"("6, 7")"}));
  EXPECT_EQ(parse_axis(R"(/a="a\",b",c)").values, (Values{R"("a\",b")", "c"}));
}

TEST(SweepSpace, WhatIsNoAxisIsRefused) {
  EXPECT_NE(refusal("").find("write /json/pointer=values"), std::string::npos);
  EXPECT_NE(refusal("a=1").find("write /json/pointer=values"), std::string::npos);
  EXPECT_NE(refusal("/a").find("write /json/pointer=values"), std::string::npos);
  EXPECT_NE(refusal("/a=").find("a value is empty"), std::string::npos);
  EXPECT_NE(refusal("/a=1,,2").find("a value is empty"), std::string::npos);
  EXPECT_NE(refusal("/a=1,2,1").find("\"1\" is there twice"), std::string::npos);
  EXPECT_NE(refusal("/a=4..4:3").find("\"4\" is there twice"), std::string::npos);
  EXPECT_NE(refusal("/a=0..16:1").find("write 2 to"), std::string::npos);
  EXPECT_NE(refusal("/a=0..16:2000000").find("write 2 to"), std::string::npos);
  EXPECT_NE(refusal("/a=0..16:3:log").find("has ends above 0"), std::string::npos);
}

TEST(SweepSpace, AProductIsEveryCombinationAndTheLastAxisChangesFastest) {
  const Space space{.kind = Space::Kind::kProduct, .parts = {axis("/a=1,2"), axis("/b=x,y,z")}};
  ASSERT_EQ(size_of(space), 6U);
  EXPECT_EQ(point_of(space, 0), (Coordinates{0, 0}));
  EXPECT_EQ(point_of(space, 1), (Coordinates{0, 1}));
  EXPECT_EQ(point_of(space, 5), (Coordinates{1, 2}));
  EXPECT_EQ(settings_of(axes_of(space), point_of(space, 4)), (Values{"/a=2", "/b=y"}));
}

TEST(SweepSpace, AZipTakesValuesSideBySideAndNeedsAsManyOfEach) {
  const Space space = zip({axis("/a=1,2,3"), axis("/b=x,y,z")});
  ASSERT_EQ(size_of(space), 3U);
  EXPECT_EQ(point_of(space, 2), (Coordinates{2, 2}));
  EXPECT_THROW(zip({axis("/a=1,2,3"), axis("/b=x,y")}), BadInput);
}

// Two clusters may cost the same: what is beside the price tells them apart. By itself an axis has a value once.
TEST(SweepSpace, AValueMayComeTwiceBesideAnotherAxis) {
  const Space priced = zip({axis("/cluster=a,b,c,d"), axis("/price=2,3,2,4")});
  EXPECT_NO_THROW(check_distinct(priced));
  ASSERT_EQ(size_of(priced), 4U);
  EXPECT_EQ(axes_of(priced)[1].values, (Values{"2", "3", "4"}));
  EXPECT_EQ(point_of(priced, 2), (Coordinates{2, 0}));
  EXPECT_EQ(point_of(priced, 3), (Coordinates{3, 2}));
  EXPECT_EQ(settings_of(axes_of(priced), point_of(priced, 2)), (Values{"/cluster=c", "/price=2"}));
  EXPECT_THROW(check_distinct(zip({axis("/price=2,2,3")})), BadInput) << "nothing is beside it";
}

TEST(SweepSpace, MorePointsThanCanBeCountedAreRefused) {
  Space space{.kind = Space::Kind::kProduct};
  for (const char* const pointer : {"/a", "/b", "/c", "/d"})
    space.parts.push_back(axis(std::string(pointer) + "=1..1000:1000"));
  EXPECT_THROW(size_of(space), BadInput);
}

// Of n points and m values each value occurs n / m times, rounded up or down, and in each part on its own.
TEST(SweepSpace, ALatinHypercubeUsesEveryValueEquallyOften) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    const int a = random.integer(2, 9), b = random.integer(2, 9), points = random.integer(1, 40);
    const std::string first = "/a=1.." + std::to_string(a) + ":" + std::to_string(a);
    const std::string second = "/b=1.." + std::to_string(b) + ":" + std::to_string(b);
    const Space space = latin_hypercube({axis(first), axis(second)}, static_cast<std::size_t>(points), 3);
    ASSERT_EQ(size_of(space), static_cast<std::size_t>(points));
    for (const auto& [part, values] : {std::pair(0, a), std::pair(1, b)}) {
      std::map<std::size_t, int> times;
      for (int i = 0; i < points; ++i)
        ++times[point_of(space, static_cast<std::size_t>(i))[static_cast<std::size_t>(part)]];
      for (const auto& [value, count] : times) {
        EXPECT_LT(value, static_cast<std::size_t>(values));
        EXPECT_LE(std::abs(count - 1.0 * points / values), 1) << points << " points of " << values << " values";
      }
    }
  }
}

TEST(SweepSpace, ALatinHypercubeIsItsSeeds) {
  const std::vector<Space> axes{axis("/a=1..20:20"), axis("/b=1..20:20")};
  const auto points = [&](std::uint64_t seed) {
    const Space space = latin_hypercube(axes, 20, seed);
    std::vector<Coordinates> all;
    for (std::size_t i = 0; i < 20; ++i) all.push_back(point_of(space, i));
    return all;
  };
  EXPECT_EQ(points(1), points(1));
  EXPECT_NE(points(1), points(2));
  const std::vector<Coordinates> all = points(1);
  EXPECT_TRUE(std::ranges::any_of(all, [](const Coordinates& point) { return point[0] != point[1]; }))
      << "the parts are not in step";
}

// Where an axis of a sweep changes nothing: are the ranges as long as they can be, and is what binds there named?

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

/// Of all points, played here.
std::vector<Row> all_rows(const Sweep& sweep, const Heading& heading, PartCache& cache) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < heading.points; ++i)
    rows.push_back(play_point(sweep, heading, i, NetworkKind::kReference, cache));
  return rows;
}

std::vector<Row> all_rows(const Sweep& sweep, const Heading& heading) {
  PartCache cache;
  return all_rows(sweep, heading, cache);
}

TEST(FlatRanges, WhereHostsCopyTheAdaptersChangeNothing) {
  // Two nodes whose hosts copy 21.2 GB/s, sent and received together: 10.6 GB/s each way. Four adapters of B carry
  // 4 x 0.8846 x B, which is more from B = 3.0 GB/s, 24 Gbit/s, on. So 10 Gbit/s is slower, and from 25 on all is
  // alike. On the wire at 10 Gbit/s are 4 x 0.8846 x 1.25 = 4.4 GB/s.
  const std::string pointer = "/cluster/nodes/0/nics/bandwidth";
  Sweep sweep{.scenario = std::string(kSourceFolder) + "/scenarios/overlap_2x4_a100.json",
              .schedules = {"zero1"},
              .space = {.kind = Space::Kind::kAxis, .axis = parse_axis(pointer + "=10,25,100,400 Gbit/s")},
              .tuned = false};
  const Heading heading = heading_of(sweep, NetworkKind::kReference);
  const SweepRows rows{heading, all_rows(sweep, heading)};
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
  const SweepRows rows{heading, all_rows(sweep, heading)};
  for (const std::size_t i : {0, 1}) EXPECT_EQ(rows.rows[i].binds->term, "wire") << i;
  for (const std::size_t i : {2, 3, 4}) EXPECT_EQ(rows.rows[i].binds->term, "slots") << i;
  const std::vector<FlatRange> ranges = flat_ranges(rows);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].low, 250);
  EXPECT_EQ(ranges[0].high, 800);
}

// Does a sweep of unlike clusters say rightly where the slower part is worth adding?

TEST(SweepWorth, IsCountedUnderEachScheduleAndTheFastest) {
  const SweepRows rows = fair_rows({0.5, 0.95, 1.9});
  const Worth ddp = worth_of(rows, 0, {});
  EXPECT_EQ(ddp.over_alone.points, 3U);
  EXPECT_EQ(ddp.over_alone.faster, 1U);
  EXPECT_EQ(ddp.open, 1U) << "0.95 lies between 0.855 and 1.045";
  EXPECT_EQ(ddp.over_alone.median, 0.95);
  EXPECT_EQ(ddp.over_best_synchronous, 0.475);
  EXPECT_EQ(worth_of(rows, std::nullopt, {}).over_alone.faster, 3U) << "acco is the fastest everywhere";
}

TEST(SweepWorth, OfAlikeGpusNothingIsSaid) {
  SweepRows rows = fair_rows({1, 1, 1});
  for (Row& row : rows.rows) row.alone->part.clear();
  EXPECT_EQ(worth_of(rows, 0, {}).over_alone.points, 0U);
  rows.heading.fair = false;
  EXPECT_THROW(check_score(rows.heading, Score::kAlone), BadInput);
  EXPECT_NO_THROW(check_score(rows.heading, Score::kSameBatch));
}

TEST(SweepWorth, APartThatHasNoRoomIsTold) {
  SweepRows rows = fair_rows({1, 1, 1});
  rows.rows[1].alone.reset();
  EXPECT_EQ(only_together(rows), 1U);
}

TEST(Parts, AreKindsAndNodeGroupsThatAreNoKind) {
  Scenario scenario = sample_scenario(2, 4);
  EXPECT_TRUE(uniform_parts(scenario.cluster).empty());
  // Three groups: two of one device, the third of another twice as slow, in which one GPU is of the first.
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  for (std::size_t g = 0; g < 3; ++g) scenario.cluster.nodes[g].name = std::string(1, static_cast<char>('a' + g));
  for (std::size_t gpu = 1; gpu < 4; ++gpu) scenario.cluster.nodes[2].devices[gpu].slowdown = 2;
  const std::vector<Part> parts = uniform_parts(scenario.cluster);
  EXPECT_EQ(mapped<std::string>(parts, &Part::name),
            (std::vector<std::string>{"18 sample GPU", "8 sample GPU of \"a\"", "8 sample GPU of \"b\"",
                                      "6 sample GPU (2 times slower)"}));
  EXPECT_EQ(parts[0].others, "6 sample GPU (2 times slower)");
  EXPECT_EQ(parts[1].others, "other 10 sample GPU and 6 sample GPU (2 times slower)");
  const Scenario slow = part_of(scenario, parts[3].kept);
  ASSERT_EQ(slow.cluster.nodes.size(), 1U);
  EXPECT_EQ(slow.cluster.nodes[0].gpus, 3);
}

/// The rows of a sweep of the shipped mix of H100 and A100 nodes.
std::vector<Row> played(const std::string& axis, PartCache& cache, bool tuned) {
  Sweep sweep{"h100_a100", {}, {"zero1", "acco"}, {}, true};
  sweep.tuned = tuned;
  sweep.space.parts.push_back({.kind = Space::Kind::kAxis, .axis = parse_axis(axis)});
  return all_rows(sweep, heading_of(sweep, NetworkKind::kReference), cache);
}

// The A100s' adapters are nothing to the H100s alone, so two rates of those are one part; the number of A100 nodes is,
// as the H100s then do as many samples as are asked of both.
TEST(SweepFair, APartIsPlayedOnceForAllPointsAtWhichItIsTheSame) {
  PartCache cache;
  const std::vector<Row> rows = played("/cluster/nodes/1/nics/bandwidth=50,200 Gbit/s", cache, false);
  EXPECT_EQ(cache.size(), 3U) << "the H100 once, the A100 at either rate";
  played("/cluster/nodes/1/count=1,2", cache, false);
  EXPECT_EQ(cache.size(), 7U) << "both kinds at either number";
  for (const Row& row : rows) {
    ASSERT_TRUE(row.done()) << row.failure;
    ASSERT_TRUE(row.alone);
    EXPECT_EQ(row.alone->samples_per_update, (16 + 32) * 8 * 4) << "as many as are asked of the whole";
    EXPECT_NEAR(*row.schedules[1].over_alone, row.schedules[1].tokens_per_second / row.alone->tokens_per_second, 1e-12);
    EXPECT_LT(row.schedules[1].over_alone_interval->low, *row.schedules[1].over_alone);
  }
  EXPECT_EQ(rows[0].alone->part, rows[1].alone->part);
}

// Without an A100 all GPUs are alike: the whole is its own part.
TEST(SweepFair, AlikeGpusAreTheirOwnPart) {
  PartCache cache;
  const std::vector<Row> rows = played("/cluster/nodes/1/count=0,1", cache, true);
  ASSERT_TRUE(rows[0].alone);
  EXPECT_EQ(rows[0].alone->part, "");
  EXPECT_EQ(*rows[0].schedules[rows[0].alone->schedule].over_alone, 1);
  EXPECT_EQ(rows[1].alone->part, "16 H100-SXM");
  EXPECT_EQ(rows[1].alone->others, "8 A100-SXM4-80GB");
}

/// Rows of 8 A100 with a ddp that reduces every micro-batch, zero1, zero3 and acco, of which 2 stages can have two.
std::pair<Heading, std::vector<Row>> over_stages(const std::string& stages, const std::vector<std::string>& schedules) {
  Sweep sweep{"finetune_1x8_a100",
              {R"(/schedules=[{"name": "ddp", "sync": "every_micro_batch"}, {"name": "zero1"}, {"name": "zero3"},
                              {"name": "acco"}])",
               "/baseline=ddp", "/published={}", "/training/gradient_accumulation_steps=8"},
              schedules,
              {}};
  sweep.space.parts.push_back(
      {.kind = Space::Kind::kAxis, .axis = parse_axis("/training/parallel/pipeline_parallel_size=" + stages)});
  const Heading heading = heading_of(sweep, NetworkKind::kReference);
  return {heading, all_rows(sweep, heading)};
}

TEST(SweepLeftOut, ARowKeepsTheSchedulesThatCanBeHad) {
  const auto [heading, rows] = over_stages("1,2", {});
  EXPECT_EQ(heading.schedules,
            (std::vector<std::string>{"ddp", "zero1", "zero3", "acco", "best delayed or local", "best synchronous"}));
  ASSERT_TRUE(rows[0].done() && rows[1].done()) << rows[0].failure << rows[1].failure;
  EXPECT_TRUE(rows[0].left_out.empty());
  EXPECT_TRUE(rows[1].has(1) && rows[1].has(3) && rows[1].has(4) && rows[1].has(5));
  EXPECT_NE(rows[1].left_out[0].find("sync is \"every_micro_batch\""), std::string::npos) << rows[1].left_out[0];
  EXPECT_NE(rows[1].left_out[2].find("gathers the parameters of every micro-batch anew"), std::string::npos);
  EXPECT_TRUE(rows[0].schedules[1].speedup) << "over ddp";
  EXPECT_FALSE(rows[1].schedules[1].speedup) << "ddp, which all speedups are over, is not there";
  EXPECT_GT(rows[1].schedules[1].tokens_per_second, 0);
  EXPECT_FALSE(rows[1].schedules[2].fits());
  // Read back they are the same.
  EXPECT_EQ(line_of(heading, read_row(heading, line_of(heading, rows[1]), "f", 2)), line_of(heading, rows[1]));
}

TEST(SweepLeftOut, TheFirstPointMayLackOnesThatOthersHave) {
  const auto [heading, rows] = over_stages("2,1", {});
  EXPECT_EQ(heading.schedules,
            (std::vector<std::string>{"zero1", "acco", "ddp", "zero3", "best delayed or local", "best synchronous"}));
  ASSERT_TRUE(rows[0].done() && rows[1].done()) << rows[0].failure << rows[1].failure;
  EXPECT_TRUE(!rows[0].has(2) && !rows[0].has(3) && rows[1].left_out.empty());
  EXPECT_EQ(heading.baseline, "ddp") << "as it is written, wherever it can be had";
  EXPECT_EQ(rows[1].schedules[2].speedup, 1);
  EXPECT_FALSE(rows[0].schedules[0].speedup) << "over what this point lacks";
}

TEST(SweepLeftOut, WhereNothingIsLeftThePointFails) {
  const auto [heading, rows] = over_stages("1,2", {"zero3"});
  EXPECT_EQ(heading.schedules, std::vector<std::string>{"zero3"});
  EXPECT_TRUE(rows[0].done());
  EXPECT_EQ(rows[1].failure.find("zero3: zero3 gathers the parameters"), 0U) << rows[1].failure;
}

}  // namespace
}  // namespace accosim
