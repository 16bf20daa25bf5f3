// Is a graph refused whose rounds could not be played, and does the error say why?
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "sim/graph/builder.hpp"
#include "sim/player/player.hpp"
#include "tests/support/rounds.hpp"

namespace accosim {
namespace {

using test::ms;
using test::numbered_slots;
using test::two_lanes;
using test::without_messages;

void expect_refused(EventGraph graph, const std::function<void(EventGraph&)>& damage, const std::string& why) {
  check_graph(graph);
  damage(graph);
  try {
    check_graph(graph);
    ADD_FAILURE() << "not refused: " << why;
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
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
