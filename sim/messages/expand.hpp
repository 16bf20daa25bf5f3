// A collective between nodes as every message that NCCL sends for it: which thread block of which rank handles which
// slice, over which link, and what it waits for. The closed forms of models/collectives/steps.hpp are held against
// what these messages take when each is played by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/units.hpp"
#include "models/collectives/collectives.hpp"
#include "models/collectives/steps.hpp"

namespace accosim {

/// One collective: all-reduce, reduce-scatter, all-gather, broadcast. Times as StepLinks has them.
struct MessageQuery {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  bool tree = false;                    ///< of an all-reduce; otherwise a ring, or a chain for a broadcast
  Bytes bytes;                          ///< the full buffer
  StepLinks links;                      ///< whose threads and lines are rounded down to whole ones
  std::vector<int> ranks_here{};        ///< one a node, in the ring's order
  std::vector<BytesPerSecond> wires{};  ///< out of each node, all adapters; empty: links.wire for all
  std::vector<int> site{};              ///< of each node; empty: one for all
  Seconds between_sites{};              ///< what a message from one to another takes longer
  Seconds wire_latency{};  ///< of net_hop, what the wire takes; the rest passes in the two hosts, half in each
  int slots = kSlots;      ///< messages that a buffer holds, at least 1
  /// Channels of an adapter: each has its share of the wire, as adapters deal it out to connections by packets, or they
  /// send whole messages in the order in which they come.
  bool in_turn = false;
  bool one_thread = false;  ///< up and down a tree go through a rank one after the other
};

/// A buffer of MessageGraph::slots, and the way to it.
struct MessageEdge {
  int from = 0, to = 0;  ///< workers
  int post = -1;         ///< the host's thread that posts it; -1: it stays in the node
  int wire = -1;         ///< the queue for the wire
  Seconds hop{};         ///< inside a node: how long the sender's thread is busy with a chunk, besides its bytes
  Seconds latency{};     ///< after that, or after the wire
  Seconds credit{};      ///< until the sender knows of a slot that is free again
};

/// A thread block's part of a channel, or the host's proxy of one of its connections to another node, which sends on
/// what lies in its buffer. A chunk is `ops` operations for it, each of which receives from all `ins` and sends to all
/// `outs`; in a ring the first receives nothing and the last sends nothing.
struct MessageWorker {
  int ops = 1;
  bool ring = false;
  bool proxy = false;
  int thread = 0;  ///< that does the work; workers may share one
  int ins = 0, in_count = 0;
  int outs = 0, out_count = 0;  ///< where its part of MessageGraph::ins and ::outs begins, and how many
};

struct MessageGraph {
  std::vector<MessageEdge> edges;
  std::vector<MessageWorker> workers;
  std::vector<int> ins, outs;         ///< edges
  std::vector<BytesPerSecond> wires;  ///< one a queue
  int posts = 0, threads = 0;
  std::int64_t chunks = 1;         ///< of each channel; all are `chunk` but the last
  std::vector<Bytes> chunk, last;  ///< messages, sent one after the other
  Seconds post;                    ///< of a message
  BytesPerSecond inner;            ///< of a thread block; 0: its work takes no time
  double flags = 1;
  int slots = kSlots;
};

/// A rank starts a chunk when it has ended the one before (a ring's turn), handles slices in order, and sends on only
/// what has come. To another node there are two buffers, of the sender's host and of the receiver's. Trees are NCCL's
/// double binary ones (src/graph/trees.cc): the second half of the channels takes the second tree; the ranks of a node
/// are a chain, whose first has the parent and one child and whose second the other child, or the only one.
MessageGraph expand(const MessageQuery& query);

/// How many messages it is, inside nodes and between them.
std::int64_t messages_of(const MessageGraph& graph);

/// The parents of `nodes` nodes in NCCL's first or second binary tree; -1: the root.
std::vector<int> tree_parents(int nodes, bool second);

}  // namespace accosim
