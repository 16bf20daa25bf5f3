// Do the stages of a pipeline take what is derived by hand: the idle time of each schedule, with and without messages,
// how many passes are in flight, and how many micro-batches a flight has that goes on until something has ended? In ms.
#include "sim/bodies/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "models/price/layers.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/pipelines.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

using test::Done;
using test::even;
using test::flight_ms;
using test::flight_of;
using test::ms;
using test::passes_of;
using test::Pipeline;
using test::time_of;

constexpr PipelineSchedule kGpipe = PipelineSchedule::kGpipe, k1F1B = PipelineSchedule::kOneForwardOneBackward,
                           kInterleaved = PipelineSchedule::kInterleaved;

/// A forward and a backward pass over a chunk.
constexpr double kF = 1, kB = 1.75;

void expect_relative(double got, double expected, const std::string& what = "") {
  EXPECT_NEAR(got / expected, 1, 1e-6) << what;
}

std::string in_words(const Pipeline& of) {
  return std::string(name_of(of.schedule)) + ", stages " + std::to_string(of.stages) + ", chunks " +
         std::to_string(of.chunks) + ", micro-batches " + std::to_string(of.micro_batches) +
         (of.overlaps ? ", overlapped" : "");
}

/// "F0.1": forward of micro-batch 1 over chunk 0; joined passes have a + between.
std::string in_words(const PipelineTable& table) {
  std::string text;
  for (const TablePass& pass : table.passes) {
    if (!text.empty()) text += pass.joined ? "+" : " ";
    text += (pass.forward ? "F" : "B") + std::to_string(pass.chunk) + "." + std::to_string(pass.micro_batch);
  }
  return text;
}

ModelShare stage_of(PipelineSchedule schedule, int stage, int stages, int chunks = 1) {
  return ModelShare{.stage = stage, .stages = stages, .chunks = chunks, .schedule = schedule};
}

TEST(Pipeline, TablesAreThoseOfTheirSources) {
  EXPECT_EQ(in_words(pipeline_table(stage_of(kGpipe, 0, 2), 2)), "F0.0 F0.1 B0.0 B0.1");
  EXPECT_EQ(in_words(pipeline_table(stage_of(k1F1B, 0, 3), 4)), "F0.0 F0.1 F0.2 B0.0 F0.3 B0.1 B0.2 B0.3");
  EXPECT_EQ(in_words(pipeline_table(stage_of(k1F1B, 2, 3), 2)), "F0.0 B0.0 F0.1 B0.1");
  // Warm-ups of 2 x 1 + 2 = 4 and of 2 chunk passes.
  EXPECT_EQ(in_words(pipeline_table(stage_of(kInterleaved, 0, 2, 2), 4)),
            "F0.0 F0.1 F1.0 F1.1 F0.2+B1.0 F0.3+B1.1 F1.2+B0.0 F1.3+B0.1 B1.2 B1.3 B0.2 B0.3");
  EXPECT_EQ(in_words(pipeline_table(stage_of(kInterleaved, 1, 2, 2), 2)), "F0.0 F0.1 F1.0+B1.0 F1.1+B1.1 B0.0 B0.1");
  EXPECT_THROW(pipeline_table(stage_of(kInterleaved, 0, 2, 2), 3), std::invalid_argument);
  // In groups of three (PyTorch's rounds) the warm-up is 2 x 1 + 3 = 5 chunk passes.
  ModelShare three = stage_of(kInterleaved, 0, 2, 2);
  three.group = 3;
  EXPECT_EQ(in_words(pipeline_table(three, 3)), "F0.0 F0.1 F0.2 F1.0 F1.1 F1.2+B1.0 B1.1 B1.2 B0.0 B0.1 B0.2");
}

TEST(Pipeline, EachLaneOfABodyHasSomethingToDo) {
  // The first stage receives no activations and the last none of the gradients: a lane of theirs would stay empty.
  for (const PipelineSchedule schedule : {kGpipe, k1F1B, kInterleaved})
    for (const bool overlaps : {false, true}) {
      const Pipeline of{.schedule = schedule,
                        .stages = 3,
                        .chunks = schedule == kInterleaved ? 2 : 1,
                        .micro_batches = 6,
                        .overlaps = overlaps};
      const Costs costs = test::costs_of(even(of, kF, kB));
      for (const RankKind& kind : costs.kinds) {
        const Body body = pipeline_body(kind, {}, costs.parallel, of.micro_batches);
        std::vector<int> pieces(body.lanes.size(), 0);
        for (const std::vector<Piece>* list : {&body.open, &body.round, &body.close})
          for (const Piece& piece : *list) ++pieces.at(piece.lane);
        for (std::size_t lane = 1; lane < pieces.size(); ++lane)
          EXPECT_GT(pieces[lane], 0) << in_words(of) << ", stage " << kind.share.stage << ": " << body.lanes[lane];
      }
    }
}

TEST(Pipeline, WithFreeMessagesTheBubbleIsThatOfTheLiterature) {
  // GPipe and 1F1B: the first stage does m (F + B), and the way to the last stage and back is (p - 1)(F + B).
  // Interleaved, in chunks of f = F/v and b = B/v: m (F + B) and (p - 1)(F + B)/v, so (m v + p - 1)(f + b). With fewer
  // micro-batches than stages the way is as long.
  for (const bool overlaps : {false, true}) {
    for (const PipelineSchedule schedule : {kGpipe, k1F1B})
      for (const int p : {2, 3, 4, 7})
        for (const int m : {1, 2, 3, 4, 7, 12}) {
          const Pipeline of{schedule, p, 1, m, overlaps};
          expect_relative(flight_ms(even(of, kF, kB)), (m + p - 1) * (kF + kB), in_words(of));
        }
    for (const int p : {2, 3, 4})
      for (const int v : {2, 3, 5})
        for (const int groups : {1, 2, 5}) {
          const Pipeline of{kInterleaved, p, v, groups * p, overlaps};
          expect_relative(flight_ms(even(of, kF, kB)), (groups * p * v + p - 1) * (kF + kB), in_words(of));
        }
  }
}

TEST(Pipeline, LargerGroupsOfInterleavedChunksHaveTheSameBubble) {
  // A group of g >= p micro-batches keeps every stage busy from its first pass on: (m v + p - 1)(f + b), as with g = p.
  // Smaller ones wait for a micro-batch to come round.
  for (const int p : {2, 3, 4})
    for (const int g : {p, p + 1, 2 * p}) {
      const Pipeline of{kInterleaved, p, 2, 2 * g, true, 0, {}, {}, g};
      expect_relative(flight_ms(even(of, kF, kB)), (2 * g * 2 + p - 1) * (kF + kB), in_words(of));
    }
  const Pipeline small{kInterleaved, 4, 2, 2, true, 0, {}, {}, 2};
  EXPECT_GT(flight_ms(even(small, kF, kB)), (2 * 2 + 4 - 1) * (kF + kB));
}

TEST(Pipeline, EightStagesOf64MicroBatchesStandStillForSevenOf71) {
  const double one = flight_ms(even({k1F1B, 8, 1, 64}, kF, kB)), work = 64 * (kF + kB);
  expect_relative((one - work) / one, 7. / 71);
  // Six chunks, each a sixth.
  const double six = flight_ms(even({kInterleaved, 8, 6, 64}, kF / 6, kB / 6));
  expect_relative((six - work) / six, 7. / 391);
}

TEST(Pipeline, MessagesThatAreWaitedForComeOnTop) {
  for (const double x : {0.25, 1.5}) {
    for (const int p : {2, 3, 5})
      for (const int m : {2, 3, 5, 9}) {
        // GPipe: pass k of stage r begins (r + k)(F + x) after the first, since the exchange in which its input comes
        // is the one in which what was made before leaves. The last stage's last forward is followed by its backward at
        // once, and these go back likewise.
        expect_relative(flight_ms(even({kGpipe, p, 1, m, false, x}, kF, kB)),
                        (m + p - 2) * (kF + kB + 2 * x) + kF + kB);
        // 1F1B: the last stage but one begins at (p - 2)(F + x). It has 2 m passes and an exchange after each, and it
        // waits twice: once its second forward has ended, for the rest of the last stage's first F + B, which is B; and
        // likewise for F in its last exchange but one. Then (p - 2)(B + x) back. All in all
        //   (p - 2)(F + B + 2 x) + m (F + B) + (2 m - 1) x + F + B = (m + p - 1)(F + B) + (2 m + 2 p - 5) x.
        // Two stages have exchanges after the forwards of the first, the backwards of the last, alone: F and x to the
        // last, whose m (F + B) have an x between each two, and x and B back.
        const double exchanges = p == 2 ? m + 1 : 2 * m + 2 * p - 5;
        expect_relative(flight_ms(even({k1F1B, p, 1, m, false, x}, kF, kB)), (m + p - 1) * (kF + kB) + exchanges * x);
      }
    // Interleaved: v p - 1 forwards until the last chunk has its first micro-batch, then m v - (v - 1) p pairs, then
    // v p - 1 backwards, with an exchange between each two of these.
    for (const int p : {2, 3, 4})
      for (const int v : {2, 3})
        for (const int m : {p, 2 * p, 4 * p})
          expect_relative(flight_ms(even({kInterleaved, p, v, m, false, x}, kF, kB)),
                          (m * v + p - 1) * (kF + kB) + (m * v + v * p + p - 3) * x);
  }
}

TEST(Pipeline, MessagesThatGoBesideTheComputationAreHiddenWhereTheScheduleHasRoom) {
  const double x = 0.25;
  for (const int p : {2, 3, 5})
    for (const int m : {2, 3, 8}) {
      // GPipe: the first micro-batch's way to the last stage has p - 1 messages, the last one's way back as many.
      expect_relative(flight_ms(even({kGpipe, p, 1, m, true, x}, kF, kB)), (m + p - 1) * (kF + kB) + 2 * (p - 1) * x);
    }
  // 1F1B of two stages: a backward of the first is followed by a forward, whose micro-batch is sent, done on the last
  // stage and comes back for the backward after the next: 2 (F + B) + 2 x for two micro-batches. An odd one has its
  // whole way, an even one follows the one before by F + B.
  for (const int m : {2, 3, 8, 9}) {
    const int ways = (m + 1) / 2;
    expect_relative(flight_ms(even({k1F1B, 2, 1, m, true, x}, kF, kB)), (m + 1) * (kF + kB) + 2 * x * ways);
  }
  // Interleaved: the way of the first micro-batch to the last chunk has v p - 1 messages, that of the last one back as
  // many; the last stage does pairs between these, and what it needs is there.
  for (const int p : {2, 3, 4})
    for (const int v : {2, 3})
      for (const int m : {p, 3 * p})
        expect_relative(flight_ms(even({kInterleaved, p, v, m, true, x}, kF, kB)),
                        (m * v + p - 1) * (kF + kB) + 2 * (v * p - 1) * x);
}

TEST(Pipeline, TheSlowestStageGivesTheBeat) {
  // Stage s takes w_s times F and B. 1F1B with free messages: the last stage, where it is the slowest, does its m
  // micro-batches one after the other, once the first has come to it and until the last has gone back: m max(F + B),
  // and the F + B of all others. Another one does part of its warm-up while those behind it have the first, so that it
  // takes no longer.
  Random random(7);
  for (int trial = 0; trial < cases(40); ++trial) {
    Pipeline of = even({k1F1B, random.integer(2, 6), 1, 0, random.integer(0, 1) == 1}, kF, kB);
    of.micro_batches = of.stages + random.integer(0, 8);
    const bool last = trial % 2 == 0;
    double most = 0, sum = 0;
    for (int s = 0; s < of.stages; ++s) {
      const double w = last && s + 1 == of.stages ? 2 : random.uniform(0.5, 2);
      of.forward[s][0] *= w;
      of.backward[s][0] *= w;
      most = std::max(most, w * (kF + kB));
      sum += w * (kF + kB);
    }
    const double form = of.micro_batches * most + sum - most;
    if (last) {
      expect_relative(flight_ms(of), form, in_words(of));
    } else if (of.overlaps) {
      EXPECT_LE(flight_ms(of), form * (1 + 1e-9)) << in_words(of);
      EXPECT_GE(flight_ms(of), of.micro_batches * most * (1 - 1e-9));
    }
  }
  // A first stage of 3 + 6 before one of 1 + 2, which is done with each micro-batch while the first does the next.
  Pipeline of{k1F1B, 2, 1, 7, true, 0, {{3}, {1}}, {{6}, {2}}};
  expect_relative(flight_ms(of), 7 * 9);
}

/// Passes forward and not yet backward, at most.
int most_in_flight(const Body& body) {
  int now = 0, most = 0;
  for (const std::vector<Piece>* list : {&body.open, &body.round, &body.close})
    for (const Piece& piece : *list) {
      if (!piece.ends_pass) continue;
      now += piece.pass == Pass::kForward ? 1 : -1;
      most = std::max(most, now);
    }
  EXPECT_EQ(now, 0) << "what goes forward comes back";
  return most;
}

TEST(Pipeline, AStageKeepsAsManyPassesAsItsMemoryIsPricedFor) {
  const auto stages = [](const Pipeline& of) {
    const Costs costs = test::costs_of(even(of, kF, kB));
    std::vector<int> most;
    for (const RankKind& kind : costs.kinds) {
      most.push_back(most_in_flight(pipeline_body(kind, {}, costs.parallel, of.micro_batches)));
      EXPECT_EQ(most.back(), passes_in_flight(kind.share, of.micro_batches)) << in_words(of);
    }
    return most;
  };
  using Each = std::vector<int>;
  EXPECT_EQ(stages({kGpipe, 3, 1, 5}), (Each{5, 5, 5}));
  EXPECT_EQ(stages({k1F1B, 8, 1, 64}), (Each{8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(stages({k1F1B, 4, 1, 4}), (Each{4, 3, 2, 1}));
  EXPECT_EQ(stages({k1F1B, 4, 1, 2}), (Each{2, 2, 2, 1})) << "there are no more";
  // 2 (p - r - 1) + (v - 1) p + 1: of the first of eight stages with six chunks 14 + 40 + 1.
  EXPECT_EQ(stages({kInterleaved, 8, 6, 64}).front(), 55);
  EXPECT_EQ(stages({kInterleaved, 3, 2, 9}), (Each{8, 6, 4}));
  EXPECT_EQ(stages({kInterleaved, 3, 2, 3}), (Each{6, 6, 4}));
}

TEST(Pipeline, ALongFlightIsRounds) {
  // A stage's program is as long whatever the flight is, and of the same number of rounds on every stage.
  for (const Pipeline& of : {Pipeline{k1F1B, 4, 1, 100}, Pipeline{kInterleaved, 4, 3, 100}}) {
    const Costs costs = test::costs_of(even(of, kF, kB));
    for (const RankKind& kind : costs.kinds) {
      const Body body = pipeline_body(kind, {}, costs.parallel, of.micro_batches);
      EXPECT_EQ(body.opened, of.chunks == 1 ? 3 : 8);
      EXPECT_EQ(body.a_round, of.chunks == 1 ? 1 : 4);
      EXPECT_EQ((of.micro_batches - body.opened) % body.a_round, 0);
      const auto ends = [](const std::vector<Piece>& list) {
        return std::ranges::count_if(list, [](const Piece& each) { return each.ends_micro_batch; });
      };
      EXPECT_EQ(ends(body.open) + ends(body.close), body.opened);
      EXPECT_EQ(ends(body.round), body.a_round);
    }
  }
}

TEST(Pipeline, ItsChunksHaveTheTimeAndTheWorkOfTheirLayers) {
  const Pipeline of = even({kInterleaved, 2, 2, 2}, kF, kB);
  const Costs costs = test::costs_of(of);
  for (const RankKind& kind : costs.kinds) {
    const Body body = pipeline_body(kind, {}, costs.parallel, 2);
    ASSERT_EQ(body.chunks.size(), 2u);
    EXPECT_EQ(body.sets.size(), kind.times.size());
    for (const Chunk& chunk : body.chunks) {
      expect_relative(chunk.forward.value, ms(kF).value);
      expect_relative(chunk.backward.value, ms(kB).value);
      EXPECT_GT(chunk.work.forward.arithmetic + chunk.work.forward.memory, 0);
    }
  }
}

/// Links, in place of messages that take what a test says.
EventGraph over_links(const Pipeline& of, Bytes message) {
  Costs costs = test::costs_of(of);
  for (RankKind& kind : costs.kinds) kind.message = message;
  return test::graph_of(of, costs, [&](ProgramBuilder& program, const Body& body, const RankKind&) {
    write(program, body, {of.micro_batches});
  });
}

TEST(Pipeline, MessagesGoOverTheLinksBetweenItsStages) {
  // The same closed forms, a message taking what the network needs for it alone: each link carries one each way. Pairs
  // of an interleaved pipeline send two at once, which share the adapter where links are shared.
  const Bytes message{4e6};
  for (const Pipeline& of :
       {even({kGpipe, 3, 1, 4}, kF, kB), even({k1F1B, 2, 1, 5}, kF, kB), even({k1F1B, 4, 1, 7}, kF, kB),
        even({kInterleaved, 2, 2, 6}, kF, kB), even({kInterleaved, 3, 2, 6}, kF, kB)}) {
    const Costs costs = test::costs_of(of);
    const int p = of.stages, v = of.chunks, m = of.micro_batches;
    const double x =
        1e3 * request_time(costs, {CollectiveKind::kSend, message, 1, {over(Dim::kPipeline), Pick::kNext}}).value;
    ASSERT_GT(x, 0.1);
    const double exchanges = of.schedule == kGpipe ? 2 * (m + p - 2)
                             : v > 1               ? m * v + v * p + p - 3
                             : p == 2              ? m + 1
                                                   : 2 * m + 2 * p - 5;
    const EventGraph graph = over_links(of, message);
    const double work = (m * v + p - 1) * (kF + kB);
    expect_relative(time_of(passes_of(graph)), work + exchanges * x, in_words(of));
    const double shared = time_of(passes_of(graph, NetworkKind::kSimgrid));
    if (v == 1) {
      expect_relative(shared, work + exchanges * x, in_words(of));
    } else {
      EXPECT_GT(shared, work + exchanges * x);
      EXPECT_LT(shared, work + 2 * exchanges * x);
    }
  }
}

TEST(Pipeline, AMessageLeavesTheNodeOfItsSender) {
  // Also around the end, from the last of two stages to the first.
  const EventGraph graph = over_links(even({kInterleaved, 2, 2, 2}, kF, kB), Bytes{4e6});
  int sent = 0;
  for (int rank = 0; rank < 2; ++rank)
    for (const std::vector<Op>& lane : graph.programs[graph.ranks[rank].program].lanes)
      for (const Op& op : lane) {
        if (op.kind != OpKind::kCollective || graph.labels[op.label].name.rfind("send", 0) != 0) continue;
        const Plan& plan = graph.groups[graph.ranks[rank].groups[op.slot]].plans[op.plan];
        ASSERT_EQ(plan.flows.size(), 1u);
        const std::string& link = graph.links[graph.paths[plan.flows[0].path].links.front()].name;
        EXPECT_NE(link.find("node " + std::to_string(rank)), std::string::npos) << link;
        ++sent;
      }
  EXPECT_EQ(sent, 2 * (2 + 1 + 1 + 2)) << "two micro-batches over three boundaries, there and back";
}

/// Flights of at least so many micro-batches that go on until the first stage's communication has ended.
EventGraph until(const Pipeline& of, double lasts, int every) {
  EventGraph graph =
      test::graph_of(of, test::costs_of(of), [&](ProgramBuilder& program, const Body& body, const RankKind& kind) {
        // Nobody asks for that of the others.
        const double own = kind.share.stage == 0 ? lasts : 1000 * lasts;
        const OpRef communicated = program.compute(1, "communication", OpClass::kCommunication, ms(own));
        write(program, body, {of.micro_batches, communicated, every});
      });
  test::set_messages(graph, of.message);
  return graph;
}

/// Of each stage as many: micro-batches of a play.
int micro_batches_of(const EventGraph& graph, int chunks) {
  std::vector<int> forwards;
  for (const std::vector<Done>& passes : passes_of(graph)) {
    forwards.push_back(0);
    int balance = 0;
    for (const Done& each : passes) {
      if (!each.ends) continue;
      forwards.back() += each.forward ? 1 : 0;
      balance += each.forward ? 1 : -1;
    }
    EXPECT_EQ(balance, 0);
    EXPECT_EQ(forwards.back(), forwards.front());
  }
  EXPECT_EQ(forwards.front() % chunks, 0);
  return forwards.front() / chunks;
}

TEST(Pipeline, AllStagesGoOnUntilTheFirstSaysSo) {
  // 1F1B of four stages with F = 1, B = 2 and free messages: the first backward of the first stage begins at 4 x 3 - 2
  // and ends at 12, so its n-th round at 9 + 3 n. A communication of 20 is over in the round that ends at 21, the 4th,
  // and there are 3 micro-batches more; one of 22 in the 5th. Who looks every second time sees it after the 6th.
  const Pipeline of = even({k1F1B, 4, 1, 4}, 1, 2);
  EXPECT_EQ(micro_batches_of(until(of, 20, 1), 1), 3 + 4);
  EXPECT_EQ(micro_batches_of(until(of, 22, 1), 1), 3 + 5);
  EXPECT_EQ(micro_batches_of(until(of, 22, 2), 1), 3 + 6);
  EXPECT_EQ(micro_batches_of(until(of, 1, 1), 1), 4) << "no fewer than are asked for";
  // Two stages of two chunks, whose pairs of 3 begin with the warm-up of 4, at 4: a round is four of these, two
  // micro-batches, and ends at 4 + 12 n. Two have been opened.
  const Pipeline two = even({kInterleaved, 2, 2, 4}, 1, 2);
  EXPECT_EQ(micro_batches_of(until(two, 5, 1), 2), 4);
  EXPECT_EQ(micro_batches_of(until(two, 20, 1), 2), 2 + 2 * 2);
  EXPECT_EQ(micro_batches_of(until(two, 45, 1), 2), 2 + 2 * 4);
}

TEST(Pipeline, AFlightThatGoesOnIsOneThatWasMeantToBeAsLong) {
  // With messages and stages of any size: pass by pass.
  Random random(19);
  for (int trial = 0; trial < cases(40); ++trial) {
    Pipeline of{random.integer(0, 1) == 0 ? k1F1B : kInterleaved, random.integer(2, 4)};
    if (of.schedule == kInterleaved) of.chunks = random.integer(2, 3);
    of.overlaps = random.integer(0, 1) == 1;
    of.message = random.uniform(0, 1);
    of.micro_batches = 3 * of.stages;
    of = even(of, 1, 2);
    for (int r = 0; r < of.stages; ++r) {
      of.forward[r][0] = random.uniform(0.5, 2);
      of.backward[r].back() = random.uniform(0.5, 4);
    }
    const EventGraph graph = until(of, random.uniform(10, 150), 1);
    const auto got = passes_of(graph);
    of.micro_batches = micro_batches_of(graph, of.chunks);
    const auto expected = passes_of(flight_of(of));
    for (int r = 0; r < of.stages; ++r) {
      ASSERT_EQ(got[r].size(), expected[r].size()) << in_words(of);
      for (std::size_t i = 0; i < got[r].size(); ++i)
        ASSERT_NEAR(got[r][i].begin, expected[r][i].begin, 1e-6 * (1 + expected[r][i].begin)) << in_words(of);
    }
  }
}

TEST(Pipeline, EveryGradientIsLastOnceAndEveryParameterFirstOnce) {
  // Flights of one round and of several, of none, and with several chunks: what a rule hooks into is there once a
  // tensor, and a last gradient comes when no backward pass over its layer is left.
  for (const Pipeline& of : {even({k1F1B, 3, 1, 2}, kF, kB), even({k1F1B, 3, 1, 3}, kF, kB),
                             even({k1F1B, 3, 1, 9}, kF, kB), even({kGpipe, 3, 1, 4}, kF, kB),
                             even({kInterleaved, 2, 2, 2}, kF, kB), even({kInterleaved, 2, 2, 8}, kF, kB)}) {
    EventGraph graph =
        test::graph_of(of, test::costs_of(of), [&](ProgramBuilder& program, const Body& body, const RankKind&) {
          std::map<std::tuple<bool, int, int>, int> times;
          Hooks hooks;
          hooks.first.stands = [](Pass, int, int) { return true; };
          hooks.first.write = [&](ProgramBuilder& each, Pass, int set, int tensor) {
            ++times[{false, set, tensor}];
            return each.compute(1, "gather", OpClass::kCommunication, ms(0.01));
          };
          hooks.last.stands = [](int, int) { return true; };
          hooks.last.write = [&](ProgramBuilder&, int set, int tensor, OpRef) { ++times[{true, set, tensor}]; };
          write(program, body, {of.micro_batches}, hooks);
          std::size_t tensors = 0;
          for (const ParameterSet& set : body.sets) tensors += set.tensors.size();
          EXPECT_EQ(times.size(), 2 * tensors) << in_words(of);
          for (const auto& [which, often] : times) EXPECT_EQ(often, 1) << in_words(of);
        });
    test::set_messages(graph, 0.1);
    check_graph(graph);
    EXPECT_GT(play(graph, NetworkKind::kReference, {}).end, Seconds{0});
  }
}

TEST(Pipeline, AFlightWithoutRoundsCannotGetLonger) {
  const Pipeline of = even({kGpipe, 2, 1, 4}, kF, kB);
  const auto asked = [&](int least) {
    return test::graph_of(of, test::costs_of(of), [&](ProgramBuilder& program, const Body& body, const RankKind&) {
      write(program, body, {least});
    });
  };
  EXPECT_EQ(micro_batches_of(asked(4), 1), 4);
  EXPECT_EQ(micro_batches_of(asked(1), 1), 4) << "nor shorter";
  EXPECT_THROW(asked(5), std::logic_error);
}

TEST(Pipeline, RulesRunOnItsStages) {
  // Whatever the rule hooks into: nobody waits for ever, and all stages do the micro-batches that are asked for, or
  // more of them where the rule goes on. Rules that write micro-batches of an update apart are for whole models.
  for (const Pipeline& of :
       {even({kGpipe, 3, 1, 4}, kF, kB), even({k1F1B, 3, 1, 2}, kF, kB), even({k1F1B, 2, 1, 6, true}, kF, kB),
        even({kInterleaved, 2, 2, 4, true}, kF, kB), even({kInterleaved, 2, 2, 8}, kF, kB)})
    for (const std::string name : {"ddp", "zero1", "local_sgd", "diloco", "dpu", "acco"})
      for (const Overlap overlap : {Overlap::kNone, Overlap::kBackward})
        for (const Sync sync : {Sync::kLastMicroBatch, Sync::kEveryMicroBatch}) {
          const ScheduleSpec spec = sample_schedule(
              {.name = name, .overlap = overlap, .sync = sync, .micro_batches_per_round = of.micro_batches});
          const int rounds = rounds_of(spec), asked = 2 * rounds * of.micro_batches;
          const Costs costs = test::costs_of(of, spec);
          const EventGraph graph = build(spec, costs, rounds * of.micro_batches, 2);
          SCOPED_TRACE(name + ": " + in_words(of));
          if (name == "dpu" || name == "acco")
            EXPECT_GT(micro_batches_of(graph, of.chunks), asked) << "one flight more, the first";
          else
            EXPECT_EQ(micro_batches_of(graph, of.chunks), asked);
          EXPECT_GT(play(graph, NetworkKind::kSimgrid, {}).end, Seconds{0});
        }
}

}  // namespace
}  // namespace accosim
