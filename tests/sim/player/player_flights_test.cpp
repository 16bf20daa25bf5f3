// Does every op of a pipeline begin when what it waits for has ended, no sooner and no later, and do all stages do as
// many rounds as the first decides? Random flights of one forward, one backward are played and asked span by span.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/graph/builder.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "tests/support/random.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr int kCompute = 0, kReceive = 1, kSend = 2, kReceiveBack = 3, kSendBack = 4, kCommunication = 5;

/// What the flights of a cluster have in common, in ms.
struct Flights {
  int stages = 2, min = 1, stride = 1;
  double message = 1;
  int rooms = 0;  ///< micro-batches of activations that are received ahead in the rounds; 0: any number
  std::vector<double> forward{}, backward{}, communication{};  ///< by stage
};

Flights random_flights(Random& random) {
  Flights of{.stages = random.integer(1, 5),
             .min = random.integer(1, 3),
             .stride = random.integer(1, 2),
             .message = random.uniform(0.01, 2),
             .rooms = random.integer(0, 2)};
  for (int s = 0; s < of.stages; ++s) {
    of.forward.push_back(random.uniform(0.5, 2));
    of.backward.push_back(random.uniform(0.5, 4));
    of.communication.push_back(random.uniform(0.1, 60));
  }
  return of;
}

/// Stage r of p: p-1-r forwards and r pairs open it, then come rounds of a forward and a backward, then p-1-r
/// backwards. What it gets and sends has lanes of its own.
Program stage_of(const Flights& of, int r, Tables& tables) {
  ProgramBuilder program(tables,
                         {"compute", "receive", "send", "receive gradients", "send gradients", "communication"});
  const int p = of.stages;
  const bool first = r == 0, last = r + 1 == p;
  NewLoop loop{.lanes = {kCompute},
               .min = of.min,
               .until = test::add_message(program, kCommunication, "communication", of.communication[r], test::kOwn),
               .stride = of.stride,
               .decided_by = test::kDeciders,
               .runs_on = true};
  if (!first) loop.lanes.insert(loop.lanes.end(), {kReceive, kSendBack});
  if (!last) loop.lanes.insert(loop.lanes.end(), {kSend, kReceiveBack});
  OpRef received{kReceive, -1};
  const auto forward = [&] {
    if (!first) received = test::add_message(program, kReceive, "in", of.message, test::kIn);
    const OpRef done = program.compute(kCompute, "forward", OpClass::kForward, test::ms(of.forward[r]), {received}, 0);
    if (!last) test::add_message(program, kSend, "out", of.message, test::kOut, {done});
    return done;
  };
  const auto backward = [&] {
    OpRef got{kReceiveBack, -1};
    if (!last) got = test::add_message(program, kReceiveBack, "gradients in", of.message, test::kBackIn);
    const OpRef done = program.compute(kCompute, "backward", OpClass::kBackward, test::ms(of.backward[r]), {got}, 1);
    if (!first) test::add_message(program, kSendBack, "gradients out", of.message, test::kBackOut, {done});
  };
  for (int i = 0; i < p - 1 - r; ++i) forward();
  for (int i = 0; i < r; ++i) {
    forward();
    backward();
  }
  program.begin_loop(loop);
  OpRef computed = forward();
  computed.rounds_back = of.rooms;
  if (!first && of.rooms > 0) program.add_wait(received, computed);
  backward();
  program.end_loop(loop.lanes);
  for (int i = 0; i < p - 1 - r; ++i) backward();
  program.compute(kCompute, "after", OpClass::kCopy, test::ms(1));
  return program.take(1);
}

EventGraph graph_of(const Flights& of) {
  Tables tables = test::numbered_slots();
  std::vector<Program> programs;
  for (int r = 0; r < of.stages; ++r) programs.push_back(stage_of(of, r, tables));
  return test::graph_of(tables, std::move(programs), static_cast<std::size_t>(of.stages));
}

/// What was played, by rank, lane, op and repetition.
struct Played1F1B {
  std::map<std::tuple<int, int, int, int>, Span> spans;
  std::map<std::int64_t, double> last_to_come;  ///< by meeting
};
Played1F1B played(const EventGraph& graph) {
  Played1F1B all;
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    all.spans[{span.rank, span.lane, span.op, span.iteration}] = span;
    if (span.rendezvous < 0) return;
    double& last = all.last_to_come[span.rendezvous];
    last = std::max(last, span.arrived.value);
  });
  return all;
}

/// Of the rank: how often its loop's body was done on the lane of `part`.
int rounds_of(const Played1F1B& all, int rank, const Loop::Part& part) {
  int rounds = 0;
  while (all.spans.count({rank, part.lane, part.begin + 1, rounds}) > 0) ++rounds;
  return rounds;
}

/// When it was known that there is a round `round`, which may be the one after the last: when the first stage had ended
/// the one before, if it looked then.
double known_at(const EventGraph& graph, const Played1F1B& all, int round) {
  const Loop& loop = graph.programs[0].loops[0];
  if (round < loop.min * loop.stride || round % loop.stride != 0) return 0;
  const Loop::Part head = loop.parts[0];
  return all.spans.at({0, head.lane, head.end - 1, round - 1}).end.value;
}

/// When the op could begin but for the other ranks of a collective.
double arrives(const EventGraph& graph, const Played1F1B& all, const Span& span) {
  const Program& program = graph.programs[span.rank];
  const Loop& loop = program.loops[0];
  const OpRef here{span.lane, span.op};
  const Loop::Part* const part = part_around(loop, here);
  const bool leads = span.rank == 0 && span.lane == loop.parts[0].lane;
  double time = 0;
  // The op before it on its lane, over the marks of the loop.
  int op = span.op - 1, round = span.iteration;
  const auto is = [&](OpKind kind) { return op >= 0 && program.lanes[span.lane][op].kind == kind; };
  if (is(OpKind::kLoopEnd)) {
    const auto left = std::find_if(loop.parts.begin(), loop.parts.end(),
                                   [&](const Loop::Part& each) { return each.lane == span.lane; });
    round = rounds_of(all, span.rank, *left);
    if (!leads) time = known_at(graph, all, round);
    --round;
    --op;
  } else if (is(OpKind::kLoopBegin)) {
    if (!leads) time = known_at(graph, all, round);
    op = round == 0 ? op - 1 : part->end - 1;
    if (round-- == 0) round = 0;
  }
  if (op >= 0) time = std::max(time, all.spans.at({span.rank, span.lane, op, round}).end.value);
  const Op& of = program.lanes[span.lane][span.op];
  for (std::uint32_t w = 0; w < of.wait_count; ++w) {
    const OpRef wait = program.waits[of.waits + w];
    const int awaited = part == nullptr ? 0 : span.iteration - wait.rounds_back;
    if (awaited >= 0) time = std::max(time, all.spans.at({span.rank, wait.lane, wait.index, awaited}).end.value);
  }
  return time;
}

TEST(Flights, EveryOpBeginsWhenWhatItWaitsForHasEnded) {
  int grown = 0;
  for (int seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Flights of = random_flights(random);
    const EventGraph graph = graph_of(of);
    const Played1F1B all = played(graph);
    for (const auto& [key, span] : all.spans) {
      const double arrived = arrives(graph, all, span);
      EXPECT_NEAR(span.arrived.value, arrived, 1e-12) << "seed " << seed << " rank " << span.rank << " lane "
                                                      << span.lane << " op " << span.op << " round " << span.iteration;
      const double begin = span.rendezvous < 0 ? arrived : all.last_to_come.at(span.rendezvous);
      // Ranks meet when the look is over that one of them waited for, which takes as long as it may be a tie.
      EXPECT_GE(span.begin.value, begin - 1e-12);
      EXPECT_LE(span.begin.value, begin + (span.rendezvous < 0 ? 0 : kTie.value) + 1e-12);
    }
    // The first look after the first stage's communication.
    const Loop& loop = graph.programs[0].loops[0];
    const double sent = all.spans.at({0, kCommunication, 0, 0}).end.value;
    int rounds = loop.min * loop.stride;
    while (all.spans.at({0, kCompute, loop.parts[0].end - 1, rounds - 1}).end.value < sent) rounds += loop.stride;
    for (int rank = 0; rank < of.stages; ++rank)
      for (const Loop::Part& part : graph.programs[rank].loops[0].parts)
        EXPECT_EQ(rounds_of(all, rank, part), rounds) << "seed " << seed << " rank " << rank << " lane " << part.lane;
    grown += rounds > loop.min * loop.stride ? 1 : 0;
  }
  EXPECT_GT(grown, 50);
  EXPECT_LT(grown, 200);
}

TEST(Flights, ReplicasAreTheSameFoldedOrNot) {
  // Three replicas of a pipeline; the last one may have a communication of another length on its first stage.
  for (int seed = 0; seed < cases(60); ++seed) {
    Random random(seed);
    const Flights of = random_flights(random);
    Flights other = of;
    const bool unlike = random.integer(0, 1) == 1;
    if (unlike) other.communication[0] = random.uniform(0.1, 60);
    EventGraph graph = graph_of(of);
    const EventGraph last = graph_of(other);
    const EventGraph one = graph;
    for (const int replica : {1, 2}) {
      const EventGraph& from = replica == 2 ? last : one;
      const int groups = static_cast<int>(graph.groups.size()), ranks = static_cast<int>(graph.ranks.size());
      for (Group group : from.groups) {
        for (int& member : group.members) member += ranks;
        graph.groups.push_back(group);
      }
      for (Rank rank : from.ranks) {
        for (int& group : rank.groups) group += group == kNoGroup ? 0 : groups;
        graph.ranks.push_back(rank);
      }
    }
    // Programs are the same but for the plan of the communication, which is the group's.
    const Folded folded = fold(graph);
    EXPECT_EQ(folded.graph.ranks.size(), static_cast<std::size_t>(of.stages) * (unlike ? 2 : 1)) << seed;
    const Played1F1B whole = played(graph), once = played(folded.graph);
    for (const auto& [key, span] : whole.spans) {
      const auto found = once.spans.find({folded.class_of[span.rank], span.lane, span.op, span.iteration});
      ASSERT_NE(found, once.spans.end()) << "seed " << seed << " rank " << span.rank;
      EXPECT_NEAR(found->second.end.value, span.end.value, 1e-9);
    }
  }
}

}  // namespace
}  // namespace accosim
