// Does playing every message of a ring or a tree take what can be derived by hand, and what the closed forms say?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/messages/play_messages.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;

/// One channel over one adapter of 10 GB/s, 10 us between nodes, one rank a node: a slice of 1 MiB takes 104.9 us.
MessageQuery query_of(int nodes, double bytes, int slices = 1) {
  MessageQuery query{
      .bytes = Bytes{bytes},
      .links = {.net_hop = Seconds{10e-6}, .wire = BytesPerSecond{10e9}, .chunk = Bytes{2 * kMiB}, .slices = slices}};
  query.ranks_here.assign(static_cast<std::size_t>(nodes), 1);
  return query;
}

double played(const MessageQuery& query) { return play(expand(query)).end.value; }

/// The closed form of a ring or a chain over nodes of `here` ranks each.
double closed_form(const MessageQuery& query) {
  const int nodes = static_cast<int>(query.ranks_here.size()), here = query.ranks_here.front(), ranks = nodes * here;
  if (query.kind == CollectiveKind::kBroadcast) {
    Pipeline chain;
    chain.inner_steps = ranks - nodes;
    chain.net_steps = nodes - 1;
    return pipeline_time(query.links, query.bytes, chain).time().value;
  }
  const bool all_reduce = query.kind == CollectiveKind::kAllReduce;
  const double steps = (all_reduce ? 2.0 : 1.0) * (ranks - 1);
  const double net_steps = std::min(steps, net_steps_of_ring(all_reduce, nodes, here));
  return ring_time(query.links, query.bytes, ranks, steps, net_steps).time().value;
}

double log_uniform(Random& random, double low, double high) {
  return std::exp(random.uniform(std::log(low), std::log(high)));
}

/// 8 B to 1 GiB, 1 to 50 GB/s, 5 to 100 us; inside nodes 1 to 4 us and 10 to 40 GB/s a channel.
MessageQuery random_query(Random& random, int nodes, int here, int slices) {
  MessageQuery query = query_of(nodes, log_uniform(random, 8, 0x1p30), slices);
  query.links.wire = BytesPerSecond{log_uniform(random, 1e9, 50e9)};
  query.links.net_hop = Seconds{log_uniform(random, 5e-6, 100e-6)};
  query.ranks_here.assign(static_cast<std::size_t>(nodes), here);
  if (here == 1) return query;
  query.links.inner_hop = Seconds{random.uniform(1e-6, 4e-6)};
  query.links.inner = BytesPerSecond{random.uniform(10e9, 40e9)};
  return query;
}

TEST(Messages, TwoRanksSendHalvesToEachOtherTwice) {
  // An all-reduce of 2 MiB is 2 steps of one message of 1 MiB, each of which waits for the one before: 2 (10 us + 1 MiB
  // / 10 GB/s). Either rank sends twice.
  const MessagesPlayed two = play(expand(query_of(2, 2 * kMiB)));
  EXPECT_NEAR(two.end.value, 2 * (10e-6 + kMiB / 10e9), 1e-15);
  EXPECT_EQ(two.messages, 4);
  // A reduce-scatter or an all-gather is one step.
  MessageQuery half = query_of(2, 2 * kMiB);
  half.kind = CollectiveKind::kReduceScatter;
  EXPECT_NEAR(played(half), 10e-6 + kMiB / 10e9, 1e-15);
}

TEST(Messages, TheLastSliceComesBehind) {
  // 2 ranks, chunks of 128 KiB in two slices s of 64 KiB: 6.5536 us on the wire, less than the hop of 10 us. The first
  // slice takes 2 (10 us + s / w), the second follows it s / w later.
  const double s = 64 * kKiB / 10e9;
  EXPECT_NEAR(played(query_of(2, 4 * 64 * kKiB, 2)), 2 * (10e-6 + s) + s, 1e-15);
  // 4 ranks, chunks of 2 MiB in two slices of 1 MiB: 104.9 us on the wire are longer than the hop, so that the wire is
  // never idle: 6 steps of 2 MiB, and the hop of the last slice. 4 ranks send 6 x 2 slices each.
  const MessagesPlayed four = play(expand(query_of(4, 8 * kMiB, 2)));
  EXPECT_NEAR(four.end.value, 6 * 2 * kMiB / 10e9 + 10e-6, 1e-15);
  EXPECT_EQ(four.messages, 48);
}

TEST(Messages, ARankEndsItsTurnBeforeItStartsTheNext) {
  // 3 ranks, 4 steps, 2 turns of chunks of 2 MiB and one of 1 MiB.
  const double wire = 10e9;
  EXPECT_NEAR(played(query_of(3, 15 * kMiB)), 2 * 4 * (10e-6 + 2 * kMiB / wire) + 4 * (10e-6 + kMiB / wire), 1e-15);
}

TEST(Messages, AStepInsideANodeKeepsItsThreadBusy) {
  // 2 nodes of 2 ranks, all-gather of 4 x 32 KiB, 3 steps: 2 us and 32 KiB / 20 GB/s inside, 10 us, 32 KiB / 20 GB/s
  // and 32 KiB / 10 GB/s between nodes. The slowest chunk leaves out an inner edge of the four.
  MessageQuery query = query_of(2, 128 * kKiB);
  query.kind = CollectiveKind::kAllGather;
  query.ranks_here = {2, 2};
  query.links.inner_hop = Seconds{2e-6};
  query.links.inner = BytesPerSecond{20e9};
  const double m = 32 * kKiB, inner = 2e-6 + m / 20e9, net = 10e-6 + m / 20e9 + m / 10e9;
  EXPECT_NEAR(played(query), 2 * net + inner, 1e-15);
  // With hops of 1 us between nodes a rank that sends inside its node is busy for longer than a chunk is under way.
  query.links.inner_hop = Seconds{20e-6};
  query.links.net_hop = Seconds{1e-6};
  EXPECT_NEAR(played(query), 3 * (20e-6 + m / 20e9), 1e-15);
}

TEST(Messages, ASenderWaitsForAFreeSlot) {
  // A broadcast to one other rank in 8 messages m, 4 slots, and a wire of 1 ms each way: the receiver frees a slot when
  // its message has come, and the sender knows of that 1 ms later. So 4 messages leave one after the other, the fifth
  // when the first is known to have come, m / w + 2 ms after the begin, and the last three messages after that.
  MessageQuery query = query_of(2, 8 * 512 * kKiB);
  query.kind = CollectiveKind::kBroadcast;
  query.links.chunk = Bytes{512 * kKiB};
  query.links.net_hop = query.wire_latency = Seconds{1e-3};
  query.slots = 4;
  const double m = 512 * kKiB / 10e9;
  EXPECT_NEAR(played(query), (m + 2e-3) + 4 * m + 1e-3, 1e-15);
  // With 8 slots nothing waits.
  query.slots = 8;
  EXPECT_NEAR(played(query), 8 * m + 1e-3, 1e-15);
}

TEST(Messages, ARingWithFewSlotsWaitsARoundTripForThem) {
  // 2 sites of 8 ranks in a node, 1 ms apart; all-gather, 15 steps, each a chunk of one message that takes no time
  // beside that. With 2 slots an edge carries 2 chunks in 2 ms, so the last of its 15 leaves after 7 round trips; it
  // arrives 1 ms later, and is sent no further.
  MessageQuery query = query_of(2, 16 * 8);
  query.kind = CollectiveKind::kAllGather;
  query.ranks_here = {8, 8};
  query.links.net_hop = query.wire_latency = Seconds{1e-3};
  query.slots = 2;
  EXPECT_NEAR(played(query), 7 * 2e-3 + 1e-3, 1e-6);
  // With 15 slots it is the two crossings of the slowest chunk.
  query.slots = 15;
  EXPECT_NEAR(played(query), 2e-3, 1e-6);
}

TEST(Messages, TreesAreThoseOfNccl) {
  // The picture in src/graph/trees.cc, of 14 nodes.
  EXPECT_EQ(tree_parents(14, false), (std::vector<int>{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12}));
  // An even number mirrored: 4 nodes are 0 - 2 - (1, 3) and 3 - 1 - (2, 0). An odd one moved on: 0 - 2 - 1, 1 - 0 - 2.
  EXPECT_EQ(tree_parents(4, false), (std::vector<int>{-1, 2, 0, 2}));
  EXPECT_EQ(tree_parents(4, true), (std::vector<int>{1, 3, 1, -1}));
  EXPECT_EQ(tree_parents(3, true), (std::vector<int>{1, -1, 0}));
}

TEST(Messages, ATreeGoesUpAndDown) {
  // Depth 1, 2, 2, 3, 3 of 2 to 8 nodes: as many steps up as down, each 10 us and 8 B / 10 GB/s; and of the way down
  // through a node with two children, a message waits for the one to the first child.
  const double m = 8 / 10e9, hop = 10e-6 + m;
  const std::vector<int> nodes = {2, 3, 4, 5, 8}, depth = {1, 2, 2, 3, 3}, waits = {0, 0, 1, 1, 2};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    MessageQuery query = query_of(nodes[i], 8);
    query.tree = query.in_turn = true;
    const MessagesPlayed tree = play(expand(query));
    EXPECT_NEAR(tree.end.value, 2 * depth[i] * hop + waits[i] * m, 1e-15) << nodes[i];
    EXPECT_EQ(tree.messages, 2 * (nodes[i] - 1));
  }
}

TEST(Messages, UpAndDownShareAThreadWhereTheySaySo) {
  // 2 nodes of 2 ranks; 16 chunks of 512 KiB, 52.4 us at 10 GB/s inside and no time between nodes. Of the four ranks
  // the second of each node sends up or receives, the first of the second node sends up and down: for each chunk twice
  // 52.4 us, if one thread does both. So does the second of the first node, which has the child.
  MessageQuery query = query_of(2, 16 * 512 * kKiB);
  query.tree = true;
  query.ranks_here = {2, 2};
  query.links.chunk = Bytes{512 * kKiB};
  query.links.inner = BytesPerSecond{10e9};
  query.links.wire = BytesPerSecond{1e15};
  query.links.net_hop = Seconds{0};
  const double m = 512 * kKiB / 10e9;
  // The first chunk takes 6 m: up in the second node, to the first one, to the root, and the same way down.
  EXPECT_NEAR(played(query), 6 * m + 15 * m, 1e-8);
  query.one_thread = true;
  EXPECT_NEAR(played(query), 6 * m + 15 * 2 * m, 2 * m);
}

TEST(Messages, RingsOfOneRankANodeTakeWhatTheClosedFormSays) {
  // Exactly: the longest way through the messages is either the first slice's with the last behind it, or a wire that
  // is always busy with a hop at its end, and a turn begins on each rank when the one before has ended there.
  Random random(1);
  for (int i = 0; i < cases(100); ++i) {
    MessageQuery query = random_query(random, random.integer(2, 64), 1, random.integer(1, 2));
    if (i % 2 == 1) query.kind = CollectiveKind::kAllGather;
    query.slots = 2 * query.links.slices;
    const double form = closed_form(query);
    EXPECT_NEAR(played(query), form, 1e-9 * form) << query.ranks_here.size() << " ranks, " << query.bytes.value << " B";
  }
}

TEST(Messages, OfOneTurnTheClosedFormIsTheLongestOfThreeWays) {
  // The closed form takes the longest of three ways through the messages: of a chunk, of a wire and of a thread. The
  // longest of all may be mixed: it crosses the edges between nodes that a chunk crosses, and does what takes longest
  // in all other steps. So that is where the played time lies between.
  Random random(2);
  for (int i = 0; i < cases(100); ++i) {
    const int here = random.integer(3, 8), nodes = random.integer(2, 64 / here);
    MessageQuery query = random_query(random, nodes, here, 1);
    query.slots = 1000;
    const bool all_reduce = i % 2 == 0;
    if (!all_reduce) query.kind = CollectiveKind::kAllGather;
    const int ranks = nodes * here;
    query.bytes = std::min(query.bytes, ranks * query.links.chunk);
    const double m = query.bytes.value / ranks, wire = m / query.links.wire.value, inside = m / query.links.inner.value;
    const double steps = (all_reduce ? 2 : 1) * (ranks - 1), net = net_steps_of_ring(all_reduce, nodes, here);
    const double most = net * (query.links.net_hop.value + inside + wire) +
                        (steps - net) * std::max(query.links.inner_hop.value + inside, wire);
    const double time = played(query), form = closed_form(query);
    EXPECT_GE(time, form * (1 - 1e-9)) << nodes << " x " << here << ", " << query.bytes.value << " B";
    EXPECT_LE(time, std::max(form, most) * (1 + 1e-9)) << nodes << " x " << here << ", " << query.bytes.value << " B";
  }
}

TEST(Messages, OfManyTurnsOnlyHopsOverlap) {
  // The closed form adds up whole turns, each with a hop at its end. A rank starts its next turn without waiting for
  // others, so what it saves is at most that hop: where the wire is the bound, no more than hop / (steps m / wire).
  // 1 GiB over 10 GB/s with hops of 10 us: 0.7 % for 4 ranks in 2 nodes, less for more.
  for (const int nodes : {2, 4, 8})
    for (const int here : {2, 4, 8}) {
      MessageQuery query = query_of(nodes, 0x1p30, 2);
      query.ranks_here.assign(static_cast<std::size_t>(nodes), here);
      query.links.inner_hop = Seconds{3e-6};
      query.links.inner = BytesPerSecond{20e9};
      query.slots = 4;
      const double time = played(query), form = closed_form(query), steps = 2 * (nodes * here - 1);
      EXPECT_LE(std::fabs(form / time - 1), 10e-6 / (steps * 2 * kMiB / 10e9)) << nodes << " x " << here;
      EXPECT_LE(std::fabs(form / time - 1), 0.01) << nodes << " x " << here;
    }
}

TEST(Messages, ChainsTakeWhatTheClosedFormSays) {
  // Exactly for whole chunks. A smaller last one may catch up where what follows the narrowest place is quicker.
  Random random(3);
  for (int i = 0; i < cases(100); ++i) {
    const int here = 1 << random.integer(0, 3);
    MessageQuery query = random_query(random, random.integer(2, 64 / here), here, 1);
    query.kind = CollectiveKind::kBroadcast;
    query.links.chunk = Bytes{512 * kKiB};
    query.slots = 1000;
    query.bytes = std::min(query.bytes, Bytes{0x1p28});
    const bool whole = i % 2 == 0;
    if (whole) query.bytes = std::ceil(query.bytes / query.links.chunk) * query.links.chunk;
    const double time = played(query), form = closed_form(query);
    EXPECT_LE(time, form * (1 + 1e-9));
    if (whole || here == 1) {
      EXPECT_NEAR(time, form, 1e-9 * form) << query.ranks_here.size() << " x " << here;
    }
  }
}

TEST(Messages, ALargeTreeKeepsItsWiresBusy) {
  // Two channels, one a tree, over one adapter: for each chunk of both a node sends four at most, which is what the
  // closed form says of more than two nodes. The first chunk's way, and the wait for a sibling at each level, are less
  // than 1 % of 1 GiB.
  for (const int nodes : {2, 4, 5, 8, 16}) {
    MessageQuery query = query_of(nodes, 0x1p30);
    query.tree = query.in_turn = true;
    query.links.channels = 2;
    query.links.chunk = Bytes{512 * kKiB};
    Pipeline tree;
    tree.net_steps = 2 * std::ceil(std::log2(nodes));
    tree.wire_passes = nodes > 2 ? 2 : 1;
    const double form = pipeline_time(query.links, query.bytes, tree).time().value;
    EXPECT_NEAR(played(query), form, 0.01 * form) << nodes;
  }
}

TEST(Messages, OneSlowLinkLiesBetweenAllFastAndAllSlow) {
  Random random(4);
  for (int i = 0; i < cases(50); ++i) {
    MessageQuery fast = random_query(random, random.integer(2, 32), 1, random.integer(1, 2));
    MessageQuery slow = fast, one = fast;
    slow.links.wire = random.uniform(0.1, 1) * fast.links.wire;
    one.wires.assign(fast.ranks_here.size(), fast.links.wire);
    one.wires[static_cast<std::size_t>(random.integer(0, static_cast<int>(one.wires.size()) - 1))] = slow.links.wire;
    const double time = played(one);
    EXPECT_GE(time, closed_form(fast) * (1 - 1e-9));
    EXPECT_LE(time, closed_form(slow) * (1 + 1e-9));
  }
}

TEST(Messages, ASlowLinkIsAllThatCountsWhereItIsAlwaysBusy) {
  // 4 ranks, chunks of 2 MiB in 2 slices; one link of 2 GB/s, on which a chunk takes 1.05 ms, five times what it takes
  // elsewhere with its hop. It carries 6 chunks, and the last arrives a hop later.
  MessageQuery query = query_of(4, 8 * kMiB, 2);
  query.wires.assign(4, BytesPerSecond{10e9});
  query.wires[1] = BytesPerSecond{2e9};
  EXPECT_NEAR(played(query), 6 * 2 * kMiB / 2e9 + 10e-6, 1e-12);
}

TEST(Messages, ChannelsShareAWireOrTakeTurns) {
  // Two channels over one adapter, 2 ranks, one message of 1 MiB a step and channel. At half of the rate each a step
  // takes 2 s = 209.7 us and the hop of 10 us. In turn the second channel sends s later than the first, and from then
  // on each finds the wire busy with the other: it is busy for 4 s, and the last message takes a hop.
  MessageQuery query = query_of(2, 4 * kMiB);
  query.links.channels = 2;
  const double s = kMiB / 10e9;
  EXPECT_NEAR(played(query), 2 * (2 * s + 10e-6), 1e-15);
  query.in_turn = true;
  EXPECT_NEAR(played(query), 4 * s + 10e-6, 1e-15);
}

TEST(Messages, AThreadPostsTheMessagesOfItsAdapterOneByOne) {
  // Two channels over one adapter, 8 ranks, 14 steps of 1 KiB: 40 us a message, 50 us a hop with it. The thread is busy
  // for 14 x 2 x 40 us, and the last message is under way for 10 us more and for 1 KiB / 5 GB/s.
  MessageQuery query = query_of(8, 16 * kKiB);
  query.links.channels = 2;
  query.links.post = Seconds{40e-6};
  query.links.net_hop = Seconds{50e-6};
  EXPECT_NEAR(played(query), 14 * 2 * 40e-6 + 10e-6 + kKiB / 5e9, 1e-12);
  // The closed form counts a whole hop at the end.
  EXPECT_NEAR(closed_form(query), 14 * 2 * 40e-6 + 50e-6, 1e-12);
  // With a thread each they do not wait for each other.
  query.links.adapters = 2;
  query.links.threads = 2;
  EXPECT_NEAR(played(query), 14 * (50e-6 + kKiB / 5e9), 1e-12);
}

TEST(Messages, SitesAreFurtherApart) {
  // A ring of 4 nodes at two sites crosses twice in each round: of 6 steps, 3 take 1 ms more.
  MessageQuery query = query_of(4, 32);
  query.site = {0, 0, 1, 1};
  query.between_sites = Seconds{1e-3};
  EXPECT_NEAR(played(query), 6 * (10e-6 + 8 / 10e9) + 3 * 1e-3, 1e-15);
}

}  // namespace
}  // namespace accosim
