// Do lanes that run on meet nobody but those they wait for, and do the ranks of a group repeat a loop as often as the
// first of them decides? Graphs small enough to be played by hand; times in ms.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "sim/graph/builder.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

using test::kDeciders;
using test::kOwn;
using test::ms;
using test::numbered_slots;
using test::two_lanes;
using test::TwoLanes;
using test::without_messages;

using Times = std::vector<std::pair<double, double>>;  // begins and ends

/// Of the ops of one rank and one name, repetitions one by one.
Times times_of(const EventGraph& graph, int rank, const std::string& name) {
  Times times;
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    if (span.rank != rank || graph.labels[span.label].name != name) return;
    EXPECT_EQ(span.iteration, name == "after" ? 0 : static_cast<int>(times.size()));
    times.emplace_back(1e3 * span.begin.value, 1e3 * span.end.value);
  });
  return times;
}

/// So many, each `every` after the one before.
Times in_turn(double begin, double lasts, double every, int number) {
  Times times;
  for (int k = 0; k < number; ++k) times.emplace_back(begin + k * every, begin + k * every + lasts);
  return times;
}

void expect_times(const EventGraph& graph, int rank, const std::string& name, const Times& expected) {
  const Times times = times_of(graph, rank, name);
  ASSERT_EQ(times.size(), expected.size()) << name << " of rank " << rank;
  for (std::size_t k = 0; k < times.size(); ++k) {
    EXPECT_NEAR(times[k].first, expected[k].first, 1e-9) << name << " of rank " << rank << ", round " << k;
    EXPECT_NEAR(times[k].second, expected[k].second, 1e-9) << name << " of rank " << rank << ", round " << k;
  }
}

// ---- lanes that run on ----

TEST(Rounds, LanesThatMeetEndARoundTogetherAndOthersDoNot) {
  // Lane 1 does 3 x 2 ms. Lane 0 waits for it in each round and takes 1 ms, beside lane 1's next round: 2..3, 4..5,
  // 6..7. If they met, a round would take 3 ms.
  TwoLanes of{2, 0, 1, 3};
  expect_times(two_lanes(of), 0, "first", in_turn(0, 2, 2, 3));
  expect_times(two_lanes(of), 0, "after it", in_turn(2, 1, 2, 3));
  expect_times(two_lanes(of), 0, "after", {{7, 8}});
  of.runs_on = false;
  expect_times(two_lanes(of), 0, "after it", in_turn(2, 1, 3, 3));
  expect_times(two_lanes(of), 0, "after", {{9, 10}});
}

TEST(Rounds, ALaneInALaterRoundIsPastTheOp) {
  // Lane 1: 0..1, ..., 4..5. Lane 0 from 1 on 5 x 2.5 ms without a wait: at 3.5, when its second round begins, lane 1
  // is in the op of its own fourth.
  expect_times(two_lanes({1, 0, 2.5, 5}), 0, "after it", in_turn(1, 2.5, 2.5, 5));
}

TEST(Rounds, ALaneInAnEarlierRoundIsNotPastTheOp) {
  // Lane 1's rounds take 1 + 3 ms. At 1.5 lane 0 is in its second round, and lane 1 past its first op, but of the first
  // round: the next is at 4..5.
  expect_times(two_lanes({1, 3, 0.5, 3}), 0, "after it", in_turn(1, 0.5, 4, 3));
}

TEST(Rounds, WhatIsPostedAheadWaitsForARoundBefore) {
  // One room: first 0..1, after it 1..4, the next first 4..5, and so on: a round takes 4.
  expect_times(two_lanes({1, 0, 3, 3, 1}), 0, "first", in_turn(0, 1, 4, 3));
  expect_times(two_lanes({1, 0, 3, 3, 1}), 0, "after it", in_turn(1, 3, 4, 3));
  // Two rooms: the second first at once, 1..2; the third when the first room is free, 4..5; the fourth at 7.
  expect_times(two_lanes({1, 0, 3, 4, 2}), 0, "first", {{0, 1}, {1, 2}, {4, 5}, {7, 8}});
  expect_times(two_lanes({1, 0, 3, 4, 2}), 0, "after it", in_turn(1, 3, 3, 4));
}

TEST(Rounds, LoopsInsideAreOfTheirLanesOwnRound) {
  // Two rounds. Lane 1: two times 1 ms, then 1 ms that lane 0 waits for with two times 2 ms: lane 1 0..3, 3..6; lane 0
  // 3..7, 7..11 (the second could begin at 6).
  Tables tables = numbered_slots();
  ProgramBuilder program(tables, {"zero", "one"});
  program.begin_loop({.lanes = {0, 1}, .min = 2, .runs_on = true});
  program.begin_loop(1, 2);
  program.compute(1, "twice", OpClass::kForward, ms(1));
  program.end_loop(1);
  const OpRef last = program.compute(1, "last", OpClass::kForward, ms(1));
  program.begin_loop(0, 2);
  // It waits, so that the loop is played body by body.
  program.compute(0, "waits", OpClass::kForward, ms(2), {last});
  program.end_loop(0);
  program.compute(0, "ends", OpClass::kCopy, ms(0));
  program.end_loop({0, 1});
  const EventGraph graph = test::graph_of(tables, {program.take(1)}, 1);
  std::vector<std::tuple<std::string, int, double>> seen;
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    if (span.lane == 0) seen.emplace_back(graph.labels[span.label].name, span.iteration, 1e3 * span.begin.value);
  });
  ASSERT_EQ(seen.size(), 6u);
  const std::vector<std::tuple<std::string, int, double>> expected = {
      {"waits", 0, 3}, {"waits", 1, 5}, {"ends", 0, 7}, {"waits", 0, 7}, {"waits", 1, 9}, {"ends", 1, 11}};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(std::get<0>(seen[i]), std::get<0>(expected[i]));
    EXPECT_EQ(std::get<1>(seen[i]), std::get<1>(expected[i]));
    EXPECT_NEAR(std::get<2>(seen[i]), std::get<2>(expected[i]), 1e-9);
  }
}

TEST(Rounds, ALoopThatRunsOnBeginsAnewInARepetitionAroundIt) {
  // Two times: three rounds of 2 ms on lane 1, lane 0 behind it with 1 ms each, which ends at 7; the lanes meet there.
  Tables tables = numbered_slots();
  ProgramBuilder program(tables, {"zero", "one"});
  program.begin_loop(std::vector<int>{0, 1}, 2, {});
  program.begin_loop({.lanes = {0, 1}, .min = 3, .runs_on = true});
  const OpRef first = program.compute(1, "first", OpClass::kForward, ms(2));
  program.compute(0, "then", OpClass::kForward, ms(1), {first});
  program.end_loop({0, 1});
  program.end_loop({0, 1});
  const EventGraph graph = test::graph_of(tables, {program.take(1)}, 1);
  std::vector<double> begins;
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    EXPECT_EQ(span.iteration, static_cast<int>(std::lround(1e3 * span.begin.value) % 7) / 2 - (span.lane == 0 ? 1 : 0));
    if (span.lane == 0) begins.push_back(1e3 * span.begin.value);
  });
  ASSERT_EQ(begins.size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(begins[i], (i < 3 ? 2 : 3) + 2.0 * i, 1e-9);
}

// ---- the first of a group decides ----

TEST(Rounds, TheFirstOfAGroupDecidesAndNobodyWaitsForMoreThanTheNumber) {
  // Bodies of 3 ms on the first, whose communication takes 7: it looks at 3, 6 and 9, so three bodies. Bodies of 2 ms:
  // at 2 the look of 3 is awaited, 3..5, that of 6, 6..8, and at 9 it is known that this was the last. Bodies of 4 ms
  // are always late enough. When the others' own communications end says nothing.
  for (const double other : {0.5, 7.5, 100.0}) {
    const EventGraph graph = without_messages({{3, 2, 4}, {7, other, other}});
    expect_times(graph, 0, "body", in_turn(0, 3, 3, 3));
    expect_times(graph, 0, "after", {{9, 10}});
    expect_times(graph, 1, "body", {{0, 2}, {3, 5}, {6, 8}});
    expect_times(graph, 1, "after", {{9, 10}});
    expect_times(graph, 2, "body", in_turn(0, 4, 4, 3));
    expect_times(graph, 2, "after", {{12, 13}});
  }
}

TEST(Rounds, TheLeastNumberIsKnownFromTheFirst) {
  // At least 2: the first looks at 6 and 9. The others do two bodies at once, then wait for the look of 6.
  const EventGraph graph = without_messages({{3, 2}, {7, 7}, 2});
  expect_times(graph, 1, "body", {{0, 2}, {2, 4}, {6, 8}});
  expect_times(graph, 1, "after", {{9, 10}});
}

TEST(Rounds, BetweenLooksNobodyWaits) {
  // A look after every second body, at 6 and at 12: four bodies.
  const EventGraph graph = without_messages({{3, 2}, {7, 7}, 1, 2});
  expect_times(graph, 0, "after", {{12, 13}});
  expect_times(graph, 1, "body", {{0, 2}, {2, 4}, {6, 8}, {8, 10}});
  expect_times(graph, 1, "after", {{12, 13}});
}

TEST(Rounds, ABodyThatEndsWithinANanosecondOfTheFirstsAwaitedOpIsTheLast) {
  // Half a nanosecond after the look of 6: two bodies, and the others know when the op has ended, or later when they
  // come later. Two nanoseconds: a third body, which the others begin at 6, too, where the look was, though it is known
  // a nanosecond later; who came in between goes on from where it was.
  constexpr double kNanosecond = 1e-6;
  const EventGraph last = without_messages({{3, 2, 4}, {6 + 0.5 * kNanosecond, 0, 0}});
  expect_times(last, 0, "after", {{6 + 0.5 * kNanosecond, 7 + 0.5 * kNanosecond}});
  expect_times(last, 1, "body", {{0, 2}, {3, 5}});
  expect_times(last, 1, "after", {{6 + 0.5 * kNanosecond, 7 + 0.5 * kNanosecond}});
  expect_times(last, 2, "after", {{8, 9}});
  const EventGraph one_more = without_messages({{3, 2, 4, 3 + 0.25 * kNanosecond}, {6 + 2 * kNanosecond, 0, 0, 0}});
  expect_times(one_more, 0, "after", {{9, 10}});
  expect_times(one_more, 1, "body", {{0, 2}, {3, 5}, {6, 8}});
  expect_times(one_more, 2, "body", in_turn(0, 4, 4, 3));
  expect_times(one_more, 3, "body", in_turn(0, 3 + 0.25 * kNanosecond, 3 + 0.25 * kNanosecond, 3));
}

/// Ranks of two lanes, whose bodies take `bodies` and `beside`, until a communication of 7 ms on each has ended.
EventGraph on_two_lanes(const std::vector<double>& bodies, const std::vector<double>& beside, bool runs_on,
                        bool together) {
  Tables tables = numbered_slots();
  std::vector<Program> programs;
  for (std::size_t r = 0; r < bodies.size(); ++r) {
    ProgramBuilder program(tables, {"compute", "beside", "communication"});
    NewLoop loop{.lanes = {0, 1}, .until = program.compute(2, "communication", OpClass::kCommunication, ms(7))};
    if (together) loop.decided_by = kDeciders;
    loop.runs_on = runs_on;
    program.begin_loop(loop);
    program.compute(0, "body", OpClass::kForward, ms(bodies[r]), {}, 1);
    program.compute(1, "beside", OpClass::kForward, ms(beside[r]));
    program.end_loop({0, 1});
    program.compute(0, "after", OpClass::kCopy, ms(1));
    programs.push_back(program.take(1));
  }
  return test::graph_of(tables, programs, bodies.size());
}

TEST(Rounds, TheFirstLaneOfARankDecidesForItsOthers) {
  // The first lane's bodies of 3 ms end at 3, 6 and 9, where the communication of 7 ms has ended. The other's, of 2 ms,
  // wait at 2 for the look of 3 and at 5 for that of 6; bodies of 4 ms are late enough, and make three, too.
  for (const bool together : {false, true}) {
    const EventGraph fast = on_two_lanes({3}, {2}, true, together);
    expect_times(fast, 0, "body", in_turn(0, 3, 3, 3));
    expect_times(fast, 0, "beside", {{0, 2}, {3, 5}, {6, 8}});
    expect_times(fast, 0, "after", {{9, 10}});
    const EventGraph slow = on_two_lanes({3}, {4}, true, together);
    expect_times(slow, 0, "beside", in_turn(0, 4, 4, 3));
    expect_times(slow, 0, "after", {{9, 10}});
  }
}

TEST(Rounds, LanesThatMeetFollowADecisionTogether) {
  // Repetitions of 3 ms on the first rank, beside 1 ms: looks at 3, 6 and 9. On the second 2 ms beside 2.5: both lanes
  // go on at 3 and at 6. On the third, of 4 ms beside 1, at 4 and 8, when it is known.
  const EventGraph graph = on_two_lanes({3, 2, 4}, {1, 2.5, 1}, false, true);
  expect_times(graph, 0, "beside", in_turn(0, 1, 3, 3));
  expect_times(graph, 1, "body", {{0, 2}, {3, 5}, {6, 8}});
  expect_times(graph, 1, "beside", {{0, 2.5}, {3, 5.5}, {6, 8.5}});
  expect_times(graph, 1, "after", {{9, 10}});
  expect_times(graph, 2, "beside", in_turn(0, 1, 4, 3));
  expect_times(graph, 2, "after", {{12, 13}});
}

TEST(Rounds, TheSecondLoopOfARankIsTheSecondOfTheOthers) {
  // Two times the loop, the lanes meet in between; the first looks at 3 (its communication takes 2) and leaves. In the
  // second the communication has ended before: one body again, and the other, of 2 ms, waits at 2 and at 5.
  EventGraph graph = without_messages({{3, 2}, {2, 2}});
  for (Program& program : graph.programs) {
    // All of lane 0 but what follows the loop goes into another loop.
    std::vector<Op>& ops = program.lanes[0];
    Op begin = ops[0], end = ops[2];
    begin.plan = end.plan = 1;
    ops = {begin, ops[0], ops[1], ops[2], end, ops[3]};
    program.loops[0].parts = {{0, 1, 3}};
    program.loops.emplace_back();
    program.loops[1].min = 2;
    program.loops[1].parts = {{0, 0, 4}};
  }
  std::vector<double> begins;
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    if (span.rank == 1 && span.lane == 0) begins.push_back(1e3 * span.begin.value);
  });
  ASSERT_EQ(begins.size(), 3u);
  EXPECT_NEAR(begins[0], 0, 1e-9);
  EXPECT_NEAR(begins[1], 3, 1e-9);
  EXPECT_NEAR(begins[2], 6, 1e-9);
}

// ---- pipelines ----

TEST(Rounds, APipelineIsNotDrainedByTheDecision) {
  // Four stages of 2 ms, messages of 1 ms. The first stage's micro-batches are at 0, 2, 4, 6; its communication ends at
  // 7, so it leaves at 8 after four. Message k from stage s is at 3 s + 2 + 2 k and takes 1; stage s + 1 computes at
  // once. Each stage goes on with what follows as soon as its own four are done.
  const EventGraph graph = test::chain({{2, 2, 2, 2}, {7, 1, 100, 3}, 1});
  for (int s = 0; s < 4; ++s) {
    expect_times(graph, s, "forward", in_turn(3 * s, 2, 2, 4));
    if (s < 3) expect_times(graph, s, "message out", in_turn(3 * s + 2, 1, 2, 4));
    if (s > 0) expect_times(graph, s, "message in", in_turn(3 * s - 1, 1, 2, 4));
    expect_times(graph, s, "after", {{3 * s + 8, 3 * s + 9}});
  }
}

TEST(Rounds, AMessageGoesOnBesideTheNextRound) {
  // Messages of 3 ms behind micro-batches of 2 ms, which do not wait for them: at 2, 5, 8, 11.
  const EventGraph graph = test::chain({{2, 2}, {7, 1}, 3});
  expect_times(graph, 0, "forward", in_turn(0, 2, 2, 4));
  expect_times(graph, 0, "message out", in_turn(2, 3, 3, 4));
  expect_times(graph, 0, "after", {{8, 9}});
  expect_times(graph, 1, "forward", in_turn(5, 2, 3, 4));
  expect_times(graph, 1, "after", {{16, 17}});
}

TEST(Rounds, AReceiveThatNeedsRoomHoldsTheMessageUp) {
  // A second stage of 3 ms. With one room the message waits until the micro-batch before has been computed: 2..3, then
  // 6..7 (sent from 4 on), 10..11, 14..15.
  const EventGraph one = test::chain({{2, 3}, {7, 1}, 1, 1, 1, 1});
  expect_times(one, 0, "forward", in_turn(0, 2, 2, 4));
  expect_times(one, 0, "message out", {{2, 3}, {6, 7}, {10, 11}, {14, 15}});
  expect_times(one, 1, "forward", {{3, 6}, {7, 10}, {11, 14}, {15, 18}});
  // With two, the second message comes at 4, the third when the first room is free at 6, the fourth at 9.
  const EventGraph two = test::chain({{2, 3}, {7, 1}, 1, 1, 1, 2});
  expect_times(two, 0, "message out", {{2, 3}, {4, 5}, {6, 7}, {9, 10}});
  expect_times(two, 1, "forward", in_turn(3, 3, 3, 4));
}

TEST(Rounds, WhatSlowsTheFirstStageDecidesForAll) {
  // Beside its communication, 0..5, which takes half of the memory's bandwidth, the first stage's micro-batch of 2 ms
  // takes 4: 0..4. The second has 1.5 ms left at 5 and ends at 6.5, the first look after 5. The second stage, whose own
  // communication is over in no time, computes at 5..7 and, after the message of 6.5, at 7.5..9.5.
  EventGraph graph = test::chain({{2, 2}, {5, 0}, 1});
  graph.groups[graph.ranks[0].groups[kOwn]].plans[test::plan_of(graph, 0, "communication")].memory_traffic =
      BytesPerSecond{5e11};
  for (Program& program : graph.programs) {
    program.memory_bandwidth = BytesPerSecond{1e12};
    program.works = {Work{0, 1, Work::ones()}};
    for (Op& op : program.lanes[0])
      if (op.kind == OpKind::kCompute) op.work = 0;
  }
  expect_times(graph, 0, "forward", {{0, 4}, {4, 6.5}});
  expect_times(graph, 0, "after", {{6.5, 7.5}});
  expect_times(graph, 1, "forward", {{5, 7}, {7.5, 9.5}});
  expect_times(graph, 1, "after", {{9.5, 10.5}});
}

// ---- folding ----

TEST(Rounds, WhoDecidesIsNotFoldedWithWhoFollows) {
  // Two programs, whose communications take 7 and 2 ms, bodies of 3. A group led by the first does three bodies, one
  // led by the second one; in both there is one rank of each.
  for (const bool in_order : {true, false}) {
    const EventGraph pair = without_messages({{3, 3}, {7, 2}});
    EventGraph graph = pair;
    graph.ranks = {pair.ranks[0], pair.ranks[1], pair.ranks[1], pair.ranks[0]};
    graph.groups[0].members = in_order ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
    graph.groups = {graph.groups[0], graph.groups[0]};
    graph.groups[1].members = {2, 3};
    for (int rank = 0; rank < 4; ++rank) graph.ranks[rank].groups = {rank < 2 ? 0 : 1};
    const Folded folded = fold(graph);
    EXPECT_EQ(folded.graph.ranks.size(), in_order ? 4u : 2u);
    for (int rank = 0; rank < 4; ++rank) {
      const std::size_t bodies = in_order && rank < 2 ? 3 : 1;
      EXPECT_EQ(times_of(graph, rank, "body").size(), bodies);
      EXPECT_EQ(times_of(folded.graph, folded.class_of[rank], "body").size(), bodies);
    }
  }
}

// Is a graph refused whose rounds could not be played, and does the error say why?

void expect_refused(EventGraph graph, const std::function<void(EventGraph&)>& damage, const std::string& why) {
  check_graph(graph);
  damage(graph);
  EXPECT_TRUE(holds(thrown_by<std::logic_error>([&] { check_graph(graph); }), why));
}

TEST(CheckGraph, RoundsThatCannotBePlayedAreRefused) {
  const EventGraph ahead = two_lanes({1, 0, 3, 3, 1});
  const auto wait = [](EventGraph& graph) -> OpRef& { return graph.programs[0].waits.back(); };
  expect_refused(
      ahead, [&](EventGraph& graph) { wait(graph).rounds_back = -1; }, "waits for a round that is to come");
  expect_refused(
      ahead, [&](EventGraph& graph) { wait(graph).rounds_back = 0; }, "waits for something that waits for it");
  expect_refused(
      ahead, [](EventGraph& graph) { graph.programs[0].loops[0].runs_on = false; },
      "waits 1 rounds back for an op that is of no loop whose lanes run on");
  expect_refused(
      ahead,
      [&](EventGraph& graph) {
        wait(graph) = {0, 3};
      },
      "waits in a loop for what comes after it");
  expect_refused(
      ahead, [&](EventGraph& graph) { graph.programs[0].loops[0].counted = 0; }, "is counted, and its lanes run on");
  expect_refused(
      ahead,
      [](EventGraph& graph) {  // what follows the loop waits for its last round
        Program& program = graph.programs[0];
        program.lanes[0][3].waits = static_cast<std::uint32_t>(program.waits.size());
        program.lanes[0][3].wait_count = 1;
        program.waits.push_back({1, 1});
      },
      "waits for one repetition of a loop");
}

TEST(CheckGraph, LoopsInsideThatRunOnOrAreNotFixedAreRefused) {
  const auto nested = [](const std::function<void(EventGraph&)>& damage, const std::string& why) {
    Tables tables = numbered_slots();
    ProgramBuilder program(tables, {"zero", "one"});
    const OpRef sent = program.compute(1, "sent", OpClass::kCopy, ms(1));
    program.begin_loop(std::vector<int>{0, 1}, 2, {});
    program.begin_loop(0, 2);
    program.compute(0, "body", OpClass::kForward, ms(1));
    program.end_loop(0);
    program.compute(1, "beside", OpClass::kForward, ms(1));
    program.end_loop({0, 1});
    program.begin_loop(0, 2, sent);
    program.compute(0, "until", OpClass::kForward, ms(1));
    program.end_loop(0);
    expect_refused(test::graph_of(tables, {program.take(1)}, 1), damage, why);
  };
  nested(
      [](EventGraph& graph) {
        for (int l : {0, 1}) graph.programs[0].loops[l].runs_on = true;
      },
      "lanes run on in loop 1 of program 0, which is in loop 0, where they do, too");
  nested(
      [](EventGraph& graph) {
        graph.programs[0].loops[0].counted = 0;
        graph.programs[0].loops[1].until = {1, 0};
      },
      "no fixed number of repetitions, and is in loop 0, which is counted");
  nested(
      [](EventGraph& graph) {
        graph.programs[0].loops[0].runs_on = true;
        graph.programs[0].loops[2].until = {1, 2};
      },
      "waits for one round of lanes that run on");
}

TEST(CheckGraph, GroupsThatCannotDecideAreRefused) {
  const EventGraph good = without_messages({{3, 2}, {7, 7}});
  expect_refused(
      good,
      [](EventGraph& graph) {
        graph.programs[0].loops[0].until = {-1, 0};
      },
      "decides for other ranks, and waits for nothing");
  EventGraph follower = good;
  follower.programs[1].loops[0].until = {-1, 0};
  check_graph(follower);  // it is never asked
  expect_refused(
      good, [](EventGraph& graph) { graph.programs[1].loops[0].min = 2; }, "looks in its loops when others");
  expect_refused(
      good, [](EventGraph& graph) { graph.programs[1].loops[0].slot = -1; }, "not all ranks of group 0 have the loops");
  expect_refused(
      good, [](EventGraph& graph) { graph.groups[0].members = {0}; },
      "group 0 has 1 members, and is a group of 2 ranks");
  expect_refused(
      good, [](EventGraph& graph) { graph.ranks[1].groups.clear(); }, "lacks a group");
  expect_refused(
      good, [](EventGraph& graph) { graph.programs[0].lanes[0][0].slot = 0; }, "has a group");
}

TEST(CheckGraph, WhatFollowsTheLoopOfAFollowerMayBeWhatItWouldAwait) {
  // The second rank's communication begins when its loop has ended. It never asks for it; the first would for ever.
  const auto after = [](EventGraph& graph, int number) {
    Program& program = graph.programs[number];
    program.lanes[1][0].waits = static_cast<std::uint32_t>(program.waits.size());
    program.lanes[1][0].wait_count = 1;
    program.waits.push_back({0, 2});
  };
  EventGraph graph = without_messages({{3, 2}, {7, 7}});
  after(graph, 1);
  check_graph(graph);
  expect_refused(
      graph, [&](EventGraph& damaged) { after(damaged, 0); }, "waits for something that waits for it");
}

}  // namespace
}  // namespace accosim
