// Are the points of a sweep those that its axes say, each a function of its index alone?
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "sim/sweep/space.hpp"
#include "sim/sweep/summary.hpp"
#include "tests/support/random.hpp"

namespace accosim {
namespace {

using Values = std::vector<std::string>;

Space axis(const std::string& text) { return {.kind = Space::Kind::kAxis, .axis = parse_axis(text)}; }

std::string refusal(const std::string& text) {
  try {
    check_distinct(parse_axis(text));
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
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
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Coordinates& point) { return point[0] != point[1]; }))
      << "the parts are not in step";
}

}  // namespace
}  // namespace accosim
