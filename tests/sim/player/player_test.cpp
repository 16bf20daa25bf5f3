// Does the player do what streams, events and collectives do? Each test is a graph small enough to be played by hand.
#include "sim/player/player.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "sim/graph/builder.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kNetworks[] = {NetworkKind::kReference, NetworkKind::kSimgrid};

std::vector<Span> spans_of(const EventGraph& graph, NetworkKind network = NetworkKind::kReference) {
  std::vector<Span> spans;
  play(graph, network, [&](const Span& span) { spans.push_back(span); });
  return spans;
}

/// Spans of one rank and one label, in order.
std::vector<Span> named(const EventGraph& graph, const std::vector<Span>& spans, int rank, const std::string& name) {
  return matching(spans, [&](const Span& span) { return span.rank == rank && graph.labels[span.label].name == name; });
}

EventGraph graph_of(Tables& tables, std::vector<Program> programs, const std::vector<int>& program_of_rank) {
  EventGraph graph{.programs = std::move(programs)};
  Group world;
  for (const int program : program_of_rank) {
    world.members.push_back(static_cast<int>(graph.ranks.size()));
    graph.ranks.push_back({program, {0}, 1});
  }
  // A plan takes as long as its request has bytes, in ms of fixed time.
  for (const PlanRequest& request : tables.plans)
    world.plans.push_back({Seconds{0}, Seconds{1e-3 * request.bytes.value}, {}, request.bytes});
  graph.groups.push_back(world);
  graph.labels = tables.labels;
  return graph;
}

PlanRequest takes_ms(double ms) { return {CollectiveKind::kAllReduce, Bytes{ms}}; }
Seconds ms(double value) { return Seconds{1e-3 * value}; }

TEST(Player, OpsOfALaneFollowEachOther) {
  Tables tables;
  ProgramBuilder program(tables, {"compute"});
  program.compute(0, "a", OpClass::kForward, ms(1));
  program.compute(0, "b", OpClass::kForward, ms(2));
  const EventGraph graph = graph_of(tables, {program.take(1)}, {0});
  const std::vector<Span> spans = spans_of(graph);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_DOUBLE_EQ(spans[1].begin.value, 1e-3);
  EXPECT_DOUBLE_EQ(spans[1].end.value, 3e-3);
}

TEST(Player, AnOpWaitsForOpsOfOtherLanes) {
  // copy (lane 1): 0..5; compute: a 0..1, then b waits for the copy: 5..7.
  Tables tables;
  ProgramBuilder program(tables, {"compute", "copy"});
  const OpRef copied = program.compute(1, "copy", OpClass::kCopy, ms(5));
  program.compute(0, "a", OpClass::kForward, ms(1));
  program.compute(0, "b", OpClass::kForward, ms(2), {copied});
  const EventGraph graph = graph_of(tables, {program.take(1)}, {0});
  const Span b = named(graph, spans_of(graph), 0, "b").at(0);
  EXPECT_DOUBLE_EQ(b.begin.value, 5e-3);
  EXPECT_DOUBLE_EQ(b.end.value, 7e-3);
}

TEST(Player, ACollectiveStartsWhenItsLastRankIsThere) {
  // Ranks arrive at 1 ms and 4 ms; 3 ms of collective: 4..7 on both. The next op starts at 7 on both.
  Tables tables;
  std::vector<Program> programs;
  for (const double first : {1.0, 4.0}) {
    ProgramBuilder program(tables, {"compute"});
    program.compute(0, "a", OpClass::kForward, ms(first));
    program.collective(0, "sum", takes_ms(3));
    program.compute(0, "b", OpClass::kForward, ms(1));
    programs.push_back(program.take(1));
  }
  const EventGraph graph = graph_of(tables, programs, {0, 1});
  const std::vector<Span> spans = spans_of(graph);
  for (const int rank : {0, 1}) {
    const Span sum = named(graph, spans, rank, "sum").at(0);
    EXPECT_DOUBLE_EQ(sum.arrived.value, rank == 0 ? 1e-3 : 4e-3);
    EXPECT_DOUBLE_EQ(sum.begin.value, 4e-3);
    EXPECT_DOUBLE_EQ(sum.end.value, 7e-3);
    EXPECT_DOUBLE_EQ(named(graph, spans, rank, "b").at(0).end.value, 8e-3);
  }
  EXPECT_EQ(named(graph, spans, 0, "sum").at(0).rendezvous, named(graph, spans, 1, "sum").at(0).rendezvous);
}

TEST(Player, TheNthCollectiveOfARankMeetsTheNthOfTheOthers) {
  // Two collectives of different length on two lanes. Rank 0 starts both at 0; rank 1 the first at 2, the second at 3.
  Tables tables;
  std::vector<Program> programs;
  for (const bool late : {false, true}) {
    ProgramBuilder program(tables, {"one", "two"});
    if (late) program.compute(0, "a", OpClass::kForward, ms(2));
    if (late) program.compute(1, "a", OpClass::kForward, ms(3));
    program.collective(0, "first", takes_ms(1));
    program.collective(1, "second", takes_ms(10));
    programs.push_back(program.take(1));
  }
  const EventGraph graph = graph_of(tables, programs, {0, 1});
  const std::vector<Span> spans = spans_of(graph);
  EXPECT_DOUBLE_EQ(named(graph, spans, 0, "first").at(0).end.value, 3e-3);
  EXPECT_DOUBLE_EQ(named(graph, spans, 0, "second").at(0).end.value, 13e-3);
}

/// A loop of bodies of `body` ms, at least `min`, until a communication of `communication` ms that starts at 0 has
/// ended. `two_lanes` makes the body carry a second lane, so that it is played repetition by repetition.
EventGraph loop_graph(double body, int min, double communication, bool two_lanes) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication", "helper"});
  const OpRef until = program.compute(1, "communication", OpClass::kCommunication, ms(communication));
  program.begin_loop(0, min, until);
  program.compute(0, "micro-batch", OpClass::kBackward, ms(body), {}, 1);
  program.end_loop(0);
  program.compute(0, "after", OpClass::kCopy, ms(1), {until});
  Program made = program.take(1);
  if (two_lanes) {
    Loop& loop = made.loops[0];
    const Op begin = made.lanes[0][loop.parts[0].begin], end = made.lanes[0][loop.parts[0].end];
    Op helper = made.lanes[0][loop.parts[0].begin + 1];
    helper.label = tables.label("helper", OpClass::kCopy);
    helper.duration = ms(body / 2);
    made.lanes[2] = {begin, helper, end};
    loop.parts.push_back({2, 0, 2});
  }
  return graph_of(tables, {made}, {0});
}

/// Bodies done and the begin of what follows, in ms.
std::pair<int, double> played_loop(const EventGraph& graph) {
  const std::vector<Span> spans = spans_of(graph);
  int bodies = 0;
  for (const Span& span : named(graph, spans, 0, "micro-batch")) bodies += static_cast<int>(span.repeat);
  return {bodies, 1e3 * named(graph, spans, 0, "after").at(0).begin.value};
}

TEST(Player, ALoopRepeatsUntilTheAwaitedOpHasEnded) {
  for (const bool two_lanes : {false, true}) {
    // Bodies of 3 ms: the first to end at or after 10 ms is the 4th, at 12.
    EXPECT_EQ(played_loop(loop_graph(3, 1, 10, two_lanes)), std::pair(4, 12.0));
    // At least 5 bodies, however early the awaited op: 15.
    const auto [bodies, after] = played_loop(loop_graph(3, 5, 10, two_lanes));
    EXPECT_EQ(bodies, 5);
    EXPECT_NEAR(after, 15, 1e-9);
    // Awaited before the loop begins: the least.
    EXPECT_EQ(played_loop(loop_graph(3, 1, 0, two_lanes)), std::pair(1, 3.0));
  }
}

TEST(Player, ABodyThatEndsWithinANanosecondOfTheAwaitedOpIsTheLast) {
  for (const bool two_lanes : {false, true}) {
    // The 4th body ends at 12 ms; awaited half a nanosecond later: still the last, and what follows waits for it.
    const auto [last, after] = played_loop(loop_graph(3, 1, 12 + 0.5e-6, two_lanes));
    EXPECT_EQ(last, 4);
    EXPECT_NEAR(after, 12 + 0.5e-6, 1e-9);
    // Two nanoseconds later: one more body.
    const auto [one_more, then] = played_loop(loop_graph(3, 1, 12 + 2e-6, two_lanes));
    EXPECT_EQ(one_more, 5);
    EXPECT_NEAR(then, 15, 1e-9);
  }
}

TEST(Player, ALoopLooksOnlyAfterEveryStride) {
  // Bodies of 3 ms, a look after every second one: the first look at or after 10 ms is at 12, the 4th body; after 13 ms
  // the next is at 18.
  for (const bool two_lanes : {false, true}) {
    for (const auto& [awaited, bodies, after] : {std::tuple(10.0, 4, 12.0), std::tuple(13.0, 6, 18.0)}) {
      EventGraph graph = loop_graph(3, 1, awaited, two_lanes);
      graph.programs[0].loops[0].stride = 2;
      const auto [done, then] = played_loop(graph);
      EXPECT_EQ(done, bodies);
      EXPECT_NEAR(then, after, 1e-9);
    }
  }
}

TEST(Player, RepeatedSpansSayWhenEachRepetitionRan) {
  // 4 bodies of 3 ms from 0.
  const EventGraph graph = loop_graph(3, 1, 10, false);
  const Span body = named(graph, spans_of(graph), 0, "micro-batch").at(0);
  EXPECT_EQ(body.repeat, 4);
  EXPECT_DOUBLE_EQ(body.begin.value, 0);
  EXPECT_DOUBLE_EQ(body.end.value, 3e-3);
  EXPECT_DOUBLE_EQ(body.period.value, 3e-3);
}

TEST(Player, AReplicaRepeatsALoopAsOftenAsItsFirstRankDecides) {
  // Bodies of 3 ms on both ranks. The first one's awaited op alone counts: with 2 ms both leave after one body, at 3,
  // though the second one's ends at 7; with 7 ms both do three and leave at 9, though the second one's ended at 2.
  for (const auto& [first, second, bodies] : {std::tuple(2.0, 7.0, 1), std::tuple(7.0, 2.0, 3)}) {
    Tables tables;
    std::vector<Program> programs;
    for (const double communication : {first, second}) {
      ProgramBuilder program(tables, {"compute", "communication"});
      program.begin_loop({.lanes = {0},
                          .until = program.compute(1, "communication", OpClass::kCommunication, ms(communication)),
                          .decided_by = Ranks{}});
      program.compute(0, "micro-batch", OpClass::kBackward, ms(3), {}, 1);
      program.end_loop(0);
      program.compute(0, "after", OpClass::kCopy, ms(1));
      programs.push_back(program.take(1));
    }
    const EventGraph graph = graph_of(tables, programs, {0, 1});
    const std::vector<Span> spans = spans_of(graph);
    for (const int rank : {0, 1}) {
      EXPECT_EQ(named(graph, spans, rank, "micro-batch").size(), static_cast<std::size_t>(bodies));
      EXPECT_NEAR(named(graph, spans, rank, "after").at(0).begin.value, 3e-3 * bodies, 1e-12);
    }
  }
}

/// Two nodes of one rank, a link of 1000 B/s from each to the other, and two collectives of 1000 B that overlap.
EventGraph flow_graph(bool shared) {
  Tables tables;
  ProgramBuilder program(tables, {"one", "two"});
  program.collective(0, "first", takes_ms(1));
  program.compute(1, "later", OpClass::kForward, ms(500));
  program.collective(1, "second", takes_ms(2));
  EventGraph graph = graph_of(tables, {program.take(1)}, {0, 0});
  graph.links = {{"there", BytesPerSecond{1000}}, {"back", BytesPerSecond{1000}}, {"there too", BytesPerSecond{1000}}};
  graph.paths = {{{0}}, {{1}}, {{shared ? 0 : 2}}};
  graph.groups[0].plans = {{ms(10), ms(1), {{0, Bytes{1000}}, {1, Bytes{500}}}, Bytes{1000}},
                           {ms(0), ms(1), {{2, Bytes{1000}}}, Bytes{1000}}};
  return graph;
}

TEST(Player, ACollectiveEndsWithItsSlowestPart) {
  // Latency 10 ms, then 1000 B at 1000 B/s: 1.010 s. The second starts at 0.5 s on a link of its own: 1.5 s.
  for (const NetworkKind network : kNetworks) {
    const EventGraph graph = flow_graph(false);
    const std::vector<Span> spans = spans_of(graph, network);
    EXPECT_NEAR(named(graph, spans, 0, "first").at(0).end.value, 1.010, 1e-9);
    EXPECT_NEAR(named(graph, spans, 1, "second").at(0).end.value, 1.5, 1e-9);
  }
}

TEST(Player, FlowsShareALinkFairlyInSimgridAndNotInTheReference) {
  // One link for both. Flow 1 runs alone from 0.010 to 0.5 (490 B), then half rate: 510 B at 500 B/s, until 1.52. By
  // then flow 2 has 510 B; its last 490 B at full rate: 2.01.
  const EventGraph graph = flow_graph(true);
  const std::vector<Span> shared = spans_of(graph, NetworkKind::kSimgrid);
  EXPECT_NEAR(named(graph, shared, 0, "first").at(0).end.value, 1.52, 1e-9);
  EXPECT_NEAR(named(graph, shared, 0, "second").at(0).end.value, 2.01, 1e-9);
  const std::vector<Span> alone = spans_of(graph, NetworkKind::kReference);
  EXPECT_NEAR(named(graph, alone, 0, "first").at(0).end.value, 1.010, 1e-9);
  EXPECT_NEAR(named(graph, alone, 0, "second").at(0).end.value, 1.5, 1e-9);
}

TEST(Player, PlaysTheSameTwice) {
  const EventGraph graph = flow_graph(true);
  for (const NetworkKind network : kNetworks) {
    const std::vector<Span> once = spans_of(graph, network), again = spans_of(graph, network);
    ASSERT_EQ(once.size(), again.size());
    for (std::size_t i = 0; i < once.size(); ++i) {
      EXPECT_EQ(once[i].end, again[i].end);
      EXPECT_EQ(once[i].rank, again[i].rank);
    }
  }
}

TEST(Player, CountsWhatItExecutes) {
  // 3 + 4 repetitions in one plain loop (min 7), and its end.
  Tables tables;
  ProgramBuilder program(tables, {"compute"});
  program.begin_loop(0, 7);
  program.compute(0, "a", OpClass::kForward, ms(1));
  program.end_loop(0);
  const Played played = play(graph_of(tables, {program.take(1)}, {0}), NetworkKind::kReference, {});
  EXPECT_EQ(played.ops, 8);
  EXPECT_NEAR(played.end.value, 7e-3, 1e-15);
}

TEST(Player, AnOpAfterAnInnerLoopIsOfItsRepetitionOfTheOuterOne) {
  // On two lanes, three times: two times (a of 1 s beside b of 2 s), then c of 4 s. A repetition takes 2 x 2 + 4 = 8 s.
  Tables tables;
  ProgramBuilder program(tables, {"x", "y"});
  program.begin_loop(std::vector<int>{0, 1}, 3, {});
  program.begin_loop(std::vector<int>{0, 1}, 2, {});
  program.compute(0, "a", OpClass::kForward, Seconds{1});
  program.compute(1, "b", OpClass::kForward, Seconds{2});
  program.end_loop(std::vector<int>{0, 1});
  program.compute(0, "c", OpClass::kForward, Seconds{4});
  program.end_loop(std::vector<int>{0, 1});
  const EventGraph graph = graph_of(tables, {program.take(1)}, {0});
  const std::vector<Span> spans = spans_of(graph);
  using Seen = std::vector<std::pair<int, double>>;
  const auto seen = [&](const char* name) {
    Seen all;
    for (const Span& span : named(graph, spans, 0, name)) all.emplace_back(span.iteration, span.begin.value);
    return all;
  };
  EXPECT_EQ(seen("a"), (Seen{{0, 0}, {1, 2}, {0, 8}, {1, 10}, {0, 16}, {1, 18}}));
  EXPECT_EQ(seen("c"), (Seen{{0, 4}, {1, 12}, {2, 20}}));
}

TEST(Player, RanksThatWaitForEachOtherForEverAreAnErrorThatReachesTheCallerOfAChildToo) {
  // Rank 1 never comes to the collective.
  Tables tables;
  ProgramBuilder with(tables, {"compute"}), without(tables, {"compute"});
  with.collective(0, "sum", takes_ms(1));
  without.compute(0, "a", OpClass::kForward, ms(1));
  EventGraph graph = graph_of(tables, {with.take(1), without.take(1)}, {0, 1});
  EXPECT_THROW(spans_of(graph), std::logic_error);
  graph.links = {{"there", BytesPerSecond{1000}}};
  graph.paths = {{{0}}};
  EXPECT_TRUE(holds(thrown_by<std::logic_error>([&] { spans_of(graph, NetworkKind::kSimgrid); }),
                    "rank 0 stands at op 0 (sum)"));
}

TEST(CheckGraph, ALoopMayNotAwaitWhatWaitsForIt) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  program.begin_loop(0, 1, {1, 0});
  program.compute(0, "body", OpClass::kForward, ms(1));
  program.end_loop(0);
  program.compute(1, "awaited", OpClass::kCopy, ms(1), {program.last(0)});
  EXPECT_THROW(check_graph(graph_of(tables, {program.take(1)}, {0})), std::logic_error);
}

TEST(CheckGraph, NobodyOutsideWaitsForOneRepetition) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  program.begin_loop(0, 2);
  const OpRef body = program.compute(0, "body", OpClass::kForward, ms(1));
  program.end_loop(0);
  program.compute(1, "outside", OpClass::kCopy, ms(1), {body});
  EXPECT_THROW(check_graph(graph_of(tables, {program.take(1)}, {0})), std::logic_error);
}

TEST(CheckGraph, IndicesAreInRange) {
  const auto broken = [](auto&& damage) {
    EventGraph graph = flow_graph(false);
    check_graph(graph);
    damage(graph);
    EXPECT_THROW(check_graph(graph), std::logic_error);
  };
  broken([](EventGraph& graph) { graph.ranks[0].program = 7; });
  broken([](EventGraph& graph) { graph.ranks[1].groups.clear(); });
  broken([](EventGraph& graph) { graph.programs[0].lanes[0][0].plan = 9; });
  broken([](EventGraph& graph) { graph.programs[0].lanes[1][0].duration = Seconds{-1}; });
  broken([](EventGraph& graph) { graph.programs[0].lanes[1][0].label = 999; });
  broken([](EventGraph& graph) { graph.groups[0].plans[0].flows[0].path = 5; });
  broken([](EventGraph& graph) { graph.links[0].bandwidth = BytesPerSecond{0}; });
}

}  // namespace
}  // namespace accosim
