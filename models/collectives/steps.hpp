// What a ring or a tree takes, inside a node or over several, step by step. NCCL deals the buffer to its channels and
// ranks and sends it in chunks, so that most calls are one turn of the ring in which every step waits for the one
// before: that, and not bandwidth, is where growth with the number of nodes comes from.
#pragma once

#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"

namespace accosim {

/// What one protocol's steps cost on one communicator, the slowest of each.
struct StepLinks {
  int channels = 1;     ///< that carry the collective
  int adapters = 1;     ///< of a node, that they are spread over
  double lines = 1;     ///< of a node that channels take turns on: its adapters, or its host's threads where these copy
  double threads = 1;   ///< of a node's host, that serve its connections to others, by the work of the busiest
  Seconds inner_hop{};  ///< of a step to a neighbour in the node, whatever it carries
  BytesPerSecond inner{};  ///< what a channel moves inside a node; 0: no link there is used
  Seconds net_hop;         ///< of a step to another node, whatever it carries
  BytesPerSecond wire;     ///< of a node's adapters together, or what its host copies for them
  Seconds post{};          ///< what a thread of the host spends on a message that it sends and one that it receives
  double flags = 1;        ///< bytes on the wire for one of data
  Bytes chunk;             ///< the most that a step carries
  int slices = 1;          ///< messages that a chunk is sent in, where it is larger than kLeastSlice
  double turnaround = 0;   ///< of a chunk inside a node: what a ring's last receive adds
  Seconds round_trip{};    ///< of the longest wire, which a sender waits for where a connection's slots are full
};
/// Slots of a connection's buffers (NCCL_STEPS, src/include/device.h); a chunk of a tree or a chain fills one.
inline constexpr int kSlots = 8;
inline constexpr Bytes kLeastSlice{32 * 1024.0};

/// What a collective's time goes into. Of things that go on at once only the one that takes longest is in it.
struct StepTerms {
  Seconds launch{};   ///< of its kernels
  Seconds inside{};   ///< steps and bytes inside nodes
  Seconds latency{};  ///< of steps between nodes
  Seconds messages;   ///< the host's cost of messages
  Seconds wire{};     ///< bytes on it

  Seconds sum() const { return launch + inside + latency + messages + wire; }
};
StepTerms operator*(double times, const StepTerms& terms);
StepTerms operator+(const StepTerms& a, const StepTerms& b);

/// The term that makes a collective take as long as it does.
enum class StepBound : unsigned char { kLaunch, kInside, kLatency, kMessages, kWire };
template <>
inline constexpr const char* kNames<StepBound>[] = {"launch", "inside nodes", "latency between nodes",
                                                    "cost of messages", "wire"};
/// In the order of StepTerms.
const std::vector<StepBound>& all_bounds();
Seconds term_of(const StepTerms& terms, StepBound bound);
/// The largest; the first of equals.
StepBound bound_of(const StepTerms& terms);

struct StepTime {
  StepTerms terms{};
  Bytes message{};                  ///< the largest that goes over the wire, flags excluded
  double turns = 1;                 ///< of the ring; chunks of a channel in a tree
  double steps = 0, net_steps = 0;  ///< on a chunk's way, and those of them between nodes

  Seconds time() const { return terms.sum(); }
};

/// `times` steps to another node, without their bytes.
StepTerms net_hops(const StepLinks& links, double times);

/// A turn moves a chunk m of every rank on every channel. It takes the longest of
/// - a chunk's way, `steps` - `net_steps` inner steps and `net_steps` between nodes, each of which waits for the first
///   slice s of the one before, and what then follows of the last:
///   (steps - net_steps) (inner_hop + s / inner) + net_steps (net_hop + s / inner + flags s / channel's wire) +
///   max((m - s) / inner, flags (m - s) / channel's wire);
/// - what a rank does in its node, steps max(inner_hop + slice / inner, m / inner) + turnaround m / inner;
/// - what the wire or the threads that send and receive the messages do: steps max(flags m / channel's wire,
///   channels / threads x messages x post) + net_hop.
/// `bytes` is the full buffer, a rank's part of it bytes / ranks.
StepTime ring_time(const StepLinks& links, Bytes bytes, int ranks, double steps, double net_steps);

/// The ways of a pipeline: how deep it is, and what its busiest node does with each chunk.
struct Pipeline {
  double inner_steps = 0, net_steps = 0;  ///< from the first rank to the last
  double wire_passes = 1;                 ///< how often a chunk leaves a node, and is a message of its threads
  double inner_passes = 1;                ///< how often a rank moves it
  double inner_hops = 1;                  ///< how often it does so one after the other
  bool cut_through = false;  ///< a rank passes on what has come of a chunk: LL and LL128, whose every line has its flag
};

/// Chunks follow each other through trees and chains: the first takes all steps, each further one as long as the
/// busiest place needs for it, or as a slot is away. Channels that share an adapter send in turn, so the first chunk of
/// the last of them is behind by what the others sent, once. The last one is what is left of the bytes.
StepTime pipeline_time(const StepLinks& links, Bytes bytes, const Pipeline& pipeline);

/// How often an edge between nodes carries the bytes of an all-reduce in two trees, each of which has half of them: of
/// two nodes each is the other's parent once; of more the busiest has three edges in one tree and one in the other, of
/// three nodes two and one (src/graph/trees.cc).
double tree_passes(int nodes);

/// Steps between nodes on the longest way of a chunk around a ring of `nodes` nodes with `here` ranks each: of an
/// all-reduce's 2 n edges a chunk leaves out two neighbouring ones, of a gather's n one, and the worst leaves out inner
/// ones where there are enough.
double net_steps_of_ring(bool all_reduce, int nodes, int here);

}  // namespace accosim
