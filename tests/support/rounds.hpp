// Small graphs by hand: ranks with numbered groups, and the stages of a pipeline that send each other messages.
#pragma once

#include <string>
#include <vector>

#include "sim/graph/builder.hpp"

namespace accosim::test {

// Which of a rank's groups: all ranks, those of the messages it gets and sends, itself.
inline constexpr int kAll = 0, kIn = 1, kOut = 2, kOwn = 3, kBackIn = 4, kBackOut = 5, kSlots = 6;
/// Group `slot` of a rank.
constexpr Ranks numbered(int slot) { return {kAllData, Pick::kAll, Grid::kTraining, slot}; }
inline constexpr Ranks kDeciders = numbered(kAll);

inline Seconds ms(double value) { return Seconds{1e-3 * value}; }
inline PlanRequest takes_ms(double ms, int slot = kAll) {
  return {CollectiveKind::kAllReduce, Bytes{ms}, 1, numbered(slot)};
}

/// Slot n is that of communicator n.
inline Tables numbered_slots() {
  Tables tables;
  for (int slot = 0; slot < kSlots; ++slot) tables.slot(numbered(slot));
  return tables;
}

/// A plan takes as long as its request has bytes, in ms of fixed time. Returns the number of the group.
inline int add_group(EventGraph& graph, const std::vector<PlanRequest>& requests, const std::vector<int>& members) {
  Group group{members, {}, "all " + std::to_string(members.size()) + " ranks"};
  for (const PlanRequest& request : requests)
    group.plans.push_back({Seconds{0}, ms(request.bytes.value), {}, request.bytes});
  graph.groups.push_back(group);
  return static_cast<int>(graph.groups.size()) - 1;
}

/// Rank r runs program r; neighbours are pairs, and each has a group of its own.
inline EventGraph graph_of(const Tables& tables, std::vector<Program> programs, std::size_t ranks) {
  EventGraph graph{.labels = tables.labels, .programs = std::move(programs), .requests = tables.plans};
  // Two ranks name one group by different slots: what lasts as long is one collective.
  for (Program& program : graph.programs)
    for (std::vector<Op>& lane : program.lanes)
      for (Op& op : lane) {
        if (op.kind != OpKind::kCollective) continue;
        const Bytes bytes = graph.requests[op.plan].bytes;
        op.plan = 0;
        while (graph.requests[op.plan].bytes != bytes) ++op.plan;
      }
  std::vector<int> all;
  for (std::size_t r = 0; r < ranks; ++r) all.push_back(static_cast<int>(r));
  const int world = add_group(graph, tables.plans, all);
  for (const int r : all) {
    graph.ranks.push_back({r, std::vector<int>(kSlots, kNoGroup), 1});
    graph.ranks[r].groups[kAll] = world;
    graph.ranks[r].groups[kOwn] = add_group(graph, tables.plans, {r});
  }
  for (std::size_t r = 0; r + 1 < ranks; ++r) {
    const int here = all[r], next = all[r + 1];
    graph.ranks[here].groups[kOut] = graph.ranks[next].groups[kIn] = add_group(graph, tables.plans, {here, next});
    graph.ranks[here].groups[kBackIn] = graph.ranks[next].groups[kBackOut] =
        add_group(graph, tables.plans, {here, next});
  }
  return graph;
}

inline OpRef add_message(ProgramBuilder& program, int lane, const std::string& name, double ms, int slot,
                         const std::vector<OpRef>& waits = {}) {
  return program.collective(lane, name, takes_ms(ms, slot), waits);
}

/// Which of the group's plans the op of that name runs, of rank `rank`.
inline int plan_of(const EventGraph& graph, int rank, const std::string& name) {
  for (const std::vector<Op>& lane : graph.programs[graph.ranks[rank].program].lanes)
    for (const Op& op : lane)
      if (graph.labels[op.label].name == name) return op.plan;
  return -1;
}

/// Rounds of an op on lane 0 that waits for the first op of the same round, or of one before it, on lane 1.
struct TwoLanes {
  double first = 1, rest = 0;  ///< on lane 1
  double after_it = 1;         ///< on lane 0
  int rounds = 3;
  int posted_ahead = 0;  ///< the first op waits for the op on lane 0 of so many rounds before; 0: for nothing
  bool runs_on = true;
};
inline EventGraph two_lanes(const TwoLanes& of) {
  Tables tables = numbered_slots();
  ProgramBuilder program(tables, {"zero", "one"});
  program.begin_loop({.lanes = {0, 1}, .min = of.rounds, .runs_on = of.runs_on});
  const OpRef first = program.compute(1, "first", OpClass::kForward, ms(of.first));
  if (of.rest > 0) program.compute(1, "rest", OpClass::kForward, ms(of.rest));
  OpRef after = program.compute(0, "after it", OpClass::kForward, ms(of.after_it), {first});
  after.rounds_back = of.posted_ahead;
  if (of.posted_ahead > 0) program.add_wait(first, after);
  program.end_loop({0, 1});
  program.compute(0, "after", OpClass::kCopy, ms(1));
  return graph_of(tables, {program.take(1)}, 1);
}

/// Ranks without messages, each with bodies of so many ms and a communication of its own that it would wait for.
struct Alone {
  std::vector<double> bodies, communications;
  int min = 1, stride = 1;
};
inline EventGraph without_messages(const Alone& of) {
  Tables tables = numbered_slots();
  std::vector<Program> programs;
  for (std::size_t r = 0; r < of.bodies.size(); ++r) {
    ProgramBuilder program(tables, {"compute", "communication"});
    program.begin_loop({.lanes = {0},
                        .min = of.min,
                        .until = program.compute(1, "communication", OpClass::kCommunication, ms(of.communications[r])),
                        .stride = of.stride,
                        .decided_by = kDeciders});
    program.compute(0, "body", OpClass::kForward, ms(of.bodies[r]), {}, 1);
    program.end_loop(0);
    program.compute(0, "after", OpClass::kCopy, ms(1));
    programs.push_back(program.take(1));
  }
  return graph_of(tables, programs, of.bodies.size());
}

/// A stage receives a micro-batch, computes and sends it on, in lanes that run on, as often as the first stage decides
/// by its own communication.
struct Chain {
  std::vector<double> computes, communications;  ///< ms, by stage
  double message = 1;
  int min = 1, stride = 1;
  int rooms = 0;  ///< so many micro-batches are received ahead; 0: any number
};
inline EventGraph chain(const Chain& of) {
  constexpr int kCompute = 0, kReceive = 1, kSend = 2, kCommunication = 3;
  Tables tables = numbered_slots();
  std::vector<Program> programs;
  for (std::size_t s = 0; s < of.computes.size(); ++s) {
    ProgramBuilder program(tables, {"compute", "receive", "send", "communication"});
    NewLoop loop{.lanes = {kCompute}};
    if (s > 0) loop.lanes.push_back(kReceive);
    if (s + 1 < of.computes.size()) loop.lanes.push_back(kSend);
    loop.min = of.min;
    loop.stride = of.stride;
    loop.until = add_message(program, kCommunication, "communication", of.communications[s], kOwn);
    loop.decided_by = kDeciders;
    loop.runs_on = true;
    program.begin_loop(loop);
    OpRef received{kReceive, -1};
    if (s > 0) received = add_message(program, kReceive, "message in", of.message, kIn);
    OpRef computed = program.compute(kCompute, "forward", OpClass::kForward, ms(of.computes[s]), {received}, 1);
    if (s + 1 < of.computes.size()) add_message(program, kSend, "message out", of.message, kOut, {computed});
    computed.rounds_back = of.rooms;
    if (s > 0 && of.rooms > 0) program.add_wait(received, computed);
    program.end_loop(loop.lanes);
    program.compute(kCompute, "after", OpClass::kCopy, ms(1));
    programs.push_back(program.take(1));
  }
  return graph_of(tables, std::move(programs), of.computes.size());
}

}  // namespace accosim::test
