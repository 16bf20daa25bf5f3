// Do the figures follow from the spans? Plays made by hand, where every figure can be counted.
#include "sim/evaluation/measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/graph/builder.hpp"
#include "sim/player/player.hpp"
#include "tests/support/one_program.hpp"

namespace accosim {
namespace {

/// `updates` updates on one rank: micro-batches of `t[update % t.size()]` seconds, then a collective of 2 s that
/// nothing hides, then an optimizer of 1 s.
EventGraph serial(int updates, const std::vector<double>& t, int micro_batches) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  for (int update = 0; update < updates; ++update) {
    program.begin_loop(0, micro_batches);
    program.compute(0, "forward", OpClass::kForward, Seconds{t[update % t.size()] / 4});
    program.compute(0, "backward", OpClass::kBackward, Seconds{t[update % t.size()] * 3 / 4}, {}, 1);
    program.end_loop(0);
    const OpRef sent = program.collective(1, "sum", {CollectiveKind::kAllReduce, Bytes{100}}, {program.last(0)});
    program.compute(0, "optimizer", OpClass::kOptimizer, Seconds{1}, {sent});
    program.mark(0, Mark::kUpdate);
  }
  EventGraph graph = graph_of_one(tables, program);
  graph.ranks = {{0, {0}, 1}};
  graph.groups = {{{0}, {{Seconds{0.5}, Seconds{1.5}, {}, Bytes{70}}}}};
  return graph;
}

Measured measured(const EventGraph& graph) {
  std::size_t updates = 0;
  for (const std::vector<Op>& lane : graph.programs[0].lanes)
    updates += static_cast<std::size_t>(std::count_if(
        lane.begin(), lane.end(), [&](const Op& op) { return graph.labels[op.label].mark == Mark::kUpdate; }));
  Recorder recorder(graph, updates, Keep::kAll);
  play(graph, NetworkKind::kReference, [&](const Span& span) { recorder.take(span); });
  return recorder.measured();
}

TEST(Measure, ASerialUpdateIsTheSumOfItsParts) {
  // 3 micro-batches of 4 s, 2 s of communication, 1 s of optimizer: 15 s, of which 2 are idle and exposed.
  const Measured result = measured(serial(8, {4}, 3));
  EXPECT_TRUE(result.periodic);
  EXPECT_DOUBLE_EQ(result.update_time.value, 15);
  EXPECT_DOUBLE_EQ(result.ranks[0].micro_batches_per_update, 3);
  EXPECT_DOUBLE_EQ(result.ranks[0].micro_batches_per_round, 3);
  EXPECT_NEAR(result.ranks[0].idle_fraction, 2.0 / 15, 1e-12);
  EXPECT_NEAR(result.ranks[0].exposed_communication.value, 2, 1e-12);
  EXPECT_DOUBLE_EQ(result.ranks[0].sent.value, 70);
}

TEST(Measure, APeriodOfSeveralUpdatesIsAveragedWhole) {
  // Updates of 3 + t, t = 4, 7, 7 in turn: 7, 10, 10 s, so a period of three and a mean of 9.
  const Measured result = measured(serial(32, {4, 7, 7}, 1));
  EXPECT_TRUE(result.periodic);
  EXPECT_EQ(result.last - result.first, 3);
  EXPECT_DOUBLE_EQ(result.update_time.value, 9);
}

TEST(Measure, APeriodMustShowTwiceOver) {
  // 7 updates of 10, 7, 10, 10, 7, 10, 10 s: the pattern 10, 7, 10 stands there only twice.
  EXPECT_FALSE(measured(serial(7, {7, 4, 7, 7, 4, 7, 7}, 1)).periodic);
  // Three times over.
  EXPECT_TRUE(measured(serial(10, {7, 4, 7}, 1)).periodic);
}

TEST(Measure, WhatDoesNotRepeatIsAveragedOverTheLaterHalfAndSaidSo) {
  // Updates of 3 + k seconds, k = 0..7: the later half (k = 4..7) means 8.5.
  const Measured result = measured(serial(8, {0, 1, 2, 3, 4, 5, 6, 7}, 1));
  EXPECT_FALSE(result.periodic);
  EXPECT_EQ(result.first, 3);
  EXPECT_DOUBLE_EQ(result.update_time.value, 3 + 5.5);
}

TEST(Measure, EqualTimesWithUnequalCountsAreNotAPeriod) {
  // Two micro-batches of 2 s or one of 4 s in turn: every update takes 7 s, and only every second one is alike.
  Tables tables;
  ProgramBuilder program(tables, {"compute"});
  for (int update = 0; update < 16; ++update) {
    program.begin_loop(0, update % 2 == 0 ? 2 : 1);
    program.compute(0, "backward", OpClass::kBackward, Seconds{update % 2 == 0 ? 2.0 : 4.0}, {}, 1);
    program.end_loop(0);
    program.mark(0, Mark::kUpdate);
  }
  EventGraph graph = graph_of_one(tables, program);
  graph.ranks = {{0, {}, 1}};
  const Measured result = measured(graph);
  EXPECT_TRUE(result.periodic);
  EXPECT_DOUBLE_EQ(result.ranks[0].micro_batches_per_update, 1.5);
}

TEST(Measure, CommunicationUnderComputationIsNotExposed) {
  // 10 s of computation; a copy lane whose 4 s collective starts with it, and whose second one starts at 8 s: 2 s of
  // its 4 stand out.
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  OpRef before{1, -1};
  for (int update = 0; update < 8; ++update) {
    const OpRef gate = program.compute(0, "gate", OpClass::kForward, Seconds{0}, {before});
    const OpRef middle = program.compute(0, "forward", OpClass::kForward, Seconds{8});
    program.compute(0, "backward", OpClass::kBackward, Seconds{2}, {}, 1);
    program.collective(1, "early", {CollectiveKind::kAllReduce, Bytes{1}}, {gate});
    before = program.collective(1, "late", {CollectiveKind::kAllReduce, Bytes{1}}, {middle});
    program.compute(0, "wait", OpClass::kCopy, Seconds{0}, {before});
    program.mark(0, Mark::kUpdate);
  }
  EventGraph graph = graph_of_one(tables, program);
  graph.ranks = {{0, {0}, 1}};
  graph.groups = {{{0}, {{Seconds{0}, Seconds{4}, {}, Bytes{1}}}}};
  const Measured result = measured(graph);
  EXPECT_DOUBLE_EQ(result.update_time.value, 12);
  EXPECT_NEAR(result.ranks[0].exposed_communication.value, 2, 1e-12);
  EXPECT_NEAR(result.ranks[0].idle_fraction, 2.0 / 12, 1e-12);
}

TEST(Measure, TooFewUpdatesAreAnError) { EXPECT_THROW(measured(serial(3, {1}, 1)), std::logic_error); }

}  // namespace
}  // namespace accosim
