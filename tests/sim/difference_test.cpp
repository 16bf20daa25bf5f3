// Does what explains a difference add up to it, and is each moment counted once?
#include "sim/evidence/difference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/random.hpp"

namespace accosim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

RecordedSpan span_of(const std::string& name, RecordedUse use, double begin, double end) {
  return {name, "", use, std::llround(begin * 1e9), std::llround(end * 1e9), 1};
}

RecordedSchedule schedule_of(const std::string& label, std::vector<RecordedSpan> spans, double end, int updates = 1) {
  return {label, false, {{std::move(spans), {{0, 1}, {std::llround(end * 1e9), updates}}}}};
}

const DifferencePart& part_of(const FigureDifference& figure, const std::string& name) {
  const auto found = std::ranges::find_if(figure.parts, [&](const DifferencePart& part) { return part.name == name; });
  if (found == figure.parts.end()) throw std::out_of_range("no part " + name);
  return *found;
}

void expect_adds_up(const FigureDifference& figure) {
  double a = 0, b = 0, difference = 0;
  for (const DifferencePart& part : figure.parts) {
    a += part.value[0];
    b += part.value[1];
    difference += part.difference();
  }
  const double whole = std::max(figure.value[0], figure.value[1]);
  EXPECT_NEAR(a, figure.value[0], 1e-12 * whole);
  EXPECT_NEAR(b, figure.value[1], 1e-12 * whole);
  EXPECT_NEAR(difference, figure.difference(), 1e-12 * whole);
  for (std::size_t i = 1; i < figure.parts.size(); ++i)
    EXPECT_GE(std::fabs(figure.parts[i - 1].difference()), std::fabs(figure.parts[i].difference()));
}

/// 2 s forward, 4 s backward, and from 5 s on an all-reduce, for which the rank waits from 4.5 s on.
std::vector<RecordedSpan> overlapped(double sent) {
  return {span_of("forward", RecordedUse::kComputation, 0, 2), span_of("backward", RecordedUse::kComputation, 2, 6),
          span_of("wait for ranks", RecordedUse::kWaiting, 4.5, 5),
          span_of("all-reduce", RecordedUse::kCommunication, 5, sent)};
}

TEST(Difference, OfTracesByHand) {
  // A sends until 9 s of an update of 10 s: 3 s exposed, 1 s idle. B until 12 s, which is its update: 6 s exposed.
  const Differences differences =
      difference_of({schedule_of("acco", overlapped(9), 10)}, {schedule_of("acco", overlapped(12), 12)});
  ASSERT_EQ(differences.schedules.size(), 1U);
  const FigureDifference& update = differences.schedules[0].update_time;
  EXPECT_EQ(update.value, (std::array<double, 2>{10, 12}));
  ASSERT_EQ(update.parts.size(), 5U);
  EXPECT_EQ(update.parts[0].name, "all-reduce, exposed");
  EXPECT_EQ(update.parts[0].value, (std::array<double, 2>{3, 6}));
  EXPECT_EQ(update.parts[0].count, (std::array<double, 2>{1, 1}));
  EXPECT_EQ(update.parts[0].each, (std::array<double, 2>{4, 7}));  // what the backward pass hides too
  EXPECT_EQ(update.parts[1].name, "idle");
  EXPECT_EQ(update.parts[1].value, (std::array<double, 2>{1, 0}));
  EXPECT_EQ(part_of(update, "forward").value, (std::array<double, 2>{2, 2}));
  EXPECT_EQ(part_of(update, "backward").value, (std::array<double, 2>{4, 4}));
  EXPECT_EQ(part_of(update, "wait for ranks").value, (std::array<double, 2>{0, 0}));  // while it computes
  expect_adds_up(update);
}

TEST(Difference, IsOfAnUpdateAndTheMeanOfTheRanks) {
  // Two updates in 12 s, on ranks that compute 6 s and 10 s of them: 4 s an update on average, and 2 s idle.
  RecordedSchedule two = schedule_of("a", {span_of("forward", RecordedUse::kComputation, 0, 6)}, 12, 2);
  two.ranks.push_back({{span_of("forward", RecordedUse::kComputation, 1, 11)}, two.ranks[0].marks});
  const Differences differences = difference_of({two}, {two});
  const FigureDifference& update = differences.schedules[0].update_time;
  EXPECT_EQ(update.value, (std::array<double, 2>{6, 6}));
  EXPECT_EQ(part_of(update, "forward").value[0], 4);
  EXPECT_EQ(part_of(update, "idle").value[1], 2);
  EXPECT_EQ(part_of(update, "forward").count[0], 0.5);
  EXPECT_EQ(part_of(update, "forward").each[0], 8);
}

TEST(Difference, WhatLiesOutsideTheUpdatesDoesNotCount) {
  // The first update ends at 10 s and the second at 20 s. Of what spans 5 to 15 s only the second half counts.
  RecordedSchedule a = schedule_of(
      "a",
      {span_of("forward", RecordedUse::kComputation, 5, 15), span_of("forward", RecordedUse::kComputation, 19, 30)},
      20);
  a.ranks[0].marks[0].time = 10 * kSecond;
  const FigureDifference update = difference_of({a}, {a}).schedules[0].update_time;
  EXPECT_EQ(update.value[0], 10);
  EXPECT_EQ(part_of(update, "forward").value[0], 6);
  EXPECT_EQ(part_of(update, "forward").count[0], 1);
  EXPECT_EQ(part_of(update, "forward").each[0], 10);
}

TEST(Difference, OfAMeasuredRunGoesByItsNames) {
  RecordedSchedule measured = schedule_of("acco",
                                          {span_of("micro-batch", RecordedUse::kComputation, 0, 6),
                                           span_of("all-reduce", RecordedUse::kCommunication, 6, 10)},
                                          10);
  measured.measured = true;
  RecordedSpan wait = span_of("wait for ranks", RecordedUse::kWaiting, 5, 6);
  wait.waits_for = "all-reduce";
  const RecordedSchedule predicted = schedule_of(
      "acco",
      {span_of("forward", RecordedUse::kComputation, 0, 2), span_of("backward", RecordedUse::kComputation, 2, 5), wait,
       span_of("all-reduce", RecordedUse::kCommunication, 6, 9)},
      9);
  const Differences differences = difference_of({measured}, {predicted});
  const FigureDifference& update = differences.schedules.at(0).update_time;
  EXPECT_EQ(differences.schedules[0].label[0], "acco, measured");
  ASSERT_EQ(update.parts.size(), 2U);
  EXPECT_EQ(update.parts[0].name, "micro-batch");
  EXPECT_EQ(update.parts[0].value, (std::array<double, 2>{6, 5}));
  EXPECT_EQ(update.parts[0].count, (std::array<double, 2>{1, 1}));
  EXPECT_EQ(update.parts[0].each, (std::array<double, 2>{6, 5}));
  // What the predicted rank waits for the others is a part of the collective, as the measured rank sees it.
  EXPECT_EQ(update.parts[1].name, "all-reduce, exposed");
  EXPECT_EQ(update.parts[1].value, (std::array<double, 2>{4, 4}));
  EXPECT_EQ(update.parts[1].each, (std::array<double, 2>{4, 4}));
  expect_adds_up(update);
}

TEST(Difference, OnRandomSpansPartsAddUpToTheWhole) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const auto some = [&](const std::string& label) {
      RecordedSchedule schedule{label, seed % 3 == 0 && label == "a", {}};
      for (int rank = 0; rank < 3; ++rank) {
        RecordedRank one;
        for (int i = 0; i < 60; ++i) {
          const double begin = 100 * random.uniform(0, 1), lasts = 10 * random.uniform(0, 1);
          const auto use = static_cast<RecordedUse>(i % 5);
          one.spans.push_back(span_of("op " + std::to_string(i % 7), use, begin, begin + lasts));
        }
        one.marks = {{7 * kSecond, 1}, {50 * kSecond, 2}, {(90 + rank) * kSecond, 1}};
        schedule.ranks.push_back(one);
      }
      return schedule;
    };
    const Differences differences = difference_of({some("a")}, {some("b")});
    ASSERT_EQ(differences.schedules.size(), 1U);  // one is left over on each side, so they are a pair
    const FigureDifference& update = differences.schedules[0].update_time;
    // 83, 84 and 85 s of three updates each.
    EXPECT_NEAR(update.value[0], 28, 1e-12);
    expect_adds_up(update);
  }
}

RecordedResult result_of(const std::string& label, double time, double idle, double exposed, double parameters,
                         double activations) {
  return {label,
          Seconds{time},
          64,
          idle,
          Seconds{exposed},
          Bytes{parameters + activations},
          {{"parameters", Bytes{parameters}}, {"activations", Bytes{activations}}}};
}

TEST(Difference, OfResultsByHand) {
  // 10 s, of which 3 s idle and 2 s of that exposed; 8 s, of which 1 s idle and half a second exposed.
  const Differences differences =
      difference_of({result_of("acco", 10, 0.3, 2, 100, 50)}, {result_of("acco", 8, 0.125, 0.5, 100, 70)});
  const FigureDifference &update = differences.schedules[0].update_time, &memory = differences.schedules[0].memory;
  ASSERT_EQ(update.parts.size(), 3U);
  EXPECT_EQ(update.parts[0].name, "exposed communication");
  EXPECT_DOUBLE_EQ(update.parts[0].difference(), -1.5);
  EXPECT_EQ(update.parts[1].name, "otherwise idle");
  EXPECT_DOUBLE_EQ(update.parts[1].difference(), -0.5);
  EXPECT_DOUBLE_EQ(update.parts[2].value[0], 7);
  expect_adds_up(update);
  EXPECT_EQ(memory.parts[0].name, "activations");
  EXPECT_EQ(memory.parts[0].difference(), 20);
  expect_adds_up(memory);
}

TEST(Difference, WhatRoundingLeavesIsNone) {
  // 0.1 + 0.2 is 4e-17 more than 0.3.
  EXPECT_EQ((DifferencePart{"sum", {0.3, 0.1 + 0.2}}).difference(), 0);
  EXPECT_EQ((FigureDifference{{0.1 + 0.2, 0.3}, {}}).difference(), 0);
  EXPECT_NEAR((DifferencePart{"other", {1, 1 + 1e-9}}).difference(), 1e-9, 1e-15);
}

TEST(Difference, MemoryThatIsInNoPartIsNamed) {
  RecordedResult less = result_of("acco", 1, 0, 0, 100, 50);
  less.memory_parts.pop_back();
  const Differences differences = difference_of({less}, {result_of("acco", 1, 0, 0, 100, 50)});
  const FigureDifference& memory = differences.schedules[0].memory;
  EXPECT_EQ(part_of(memory, "in no part").value, (std::array<double, 2>{50, 0}));
  EXPECT_EQ(memory.difference(), 0);
  expect_adds_up(memory);
}

TEST(Difference, SchedulesArePairedByLabelsAndTheRestIsNamed) {
  const auto labelled = [](const std::string& label) { return result_of(label, 1, 0, 0, 1, 1); };
  const Differences differences =
      difference_of({labelled("ddp"), labelled("zero1"), labelled("acco")}, {labelled("acco"), labelled("dpu")});
  ASSERT_EQ(differences.schedules.size(), 1U);
  EXPECT_EQ(differences.schedules[0].label[0], "acco");
  EXPECT_EQ(differences.alone[0], (std::vector<std::string>{"ddp", "zero1"}));
  EXPECT_EQ(differences.alone[1], std::vector<std::string>{"dpu"});
  EXPECT_EQ(difference_of({labelled("ddp"), labelled("acco")}, {labelled("acco"), labelled("dpu")}).schedules.size(),
            2U);
}

}  // namespace
}  // namespace accosim
