// What a collective costs on a two-level hierarchy: a ring through every rank of the group, node by node, as NCCL
// builds it. The part inside nodes is a closed form; the part between nodes is given as bytes an edge of the ring
// carries, so that a network can play it with contention.
#pragma once

#include <cstdint>
#include <vector>

#include "models/spec.hpp"
#include "models/units.hpp"

namespace accosim {

enum class CollectiveKind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast };
const char* name_of(CollectiveKind kind);

/// The nodes and ranks that a collective runs over, in ring order.
struct Ring {
  std::vector<int> node;        ///< one a node that takes part: its index in the cluster
  std::vector<int> node_group;  ///< its index in Cluster::nodes
  std::vector<int> ranks_here;  ///< ranks of the group on that node
  int ranks = 0;                ///< sum of ranks_here
};
/// Nodes in ascending order; `members` are ranks, each once.
Ring ring_of(const std::vector<Place>& places, const std::vector<int>& members);

/// Steps: 2(n-1) for an all-reduce, n-1 for the others, of which 2(nodes-1) or nodes-1 go between nodes; where nodes
/// differ, every step costs the slowest one's latency. All zero for a single rank.
struct CollectiveCost {
  Seconds latency;      ///< of all steps, paid once before the bytes flow
  Seconds intra;        ///< the bytes of all steps through the slowest node's inner links
  Bytes edge_bytes;     ///< that each edge between two neighbouring nodes of the ring carries; 0 on one node
  Bytes sent_per_rank;  ///< mean over the ranks: passes x (n-1)/n x bytes
};

/// `bytes` is the full buffer (what nccl-tests calls size): all-reduce and broadcast of it, reduce-scatter from it,
/// all-gather into it. An edge carries 2(n-1)/n of it in an all-reduce, (n-1)/n in a reduce-scatter or all-gather, all
/// of it in a broadcast (a pipelined chain, which has one edge less than the ring).
CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring);

/// Achieved bandwidth of all of a node's adapters, one direction.
BytesPerSecond node_bandwidth(const NodeGroup& group);

/// What the fabric's core carries when oversubscribed: the bandwidth of all nodes over the oversubscription; 0 when it
/// never limits.
BytesPerSecond core_bandwidth(const Cluster& cluster);

/// Time alone on the fabric: latency + max(intra, the slowest edge), an edge being as fast as the slower of its
/// adapters and its share of the core.
Seconds collective_time(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring);

}  // namespace accosim
