// What a collective costs on a two-level hierarchy, by the algorithm and protocol that NCCL would choose. The part
// inside nodes is a closed form; the part between nodes is given as bytes an edge of the ring (or tree) carries, so
// that a network can play it with contention.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

enum class CollectiveKind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kAllToAll, kSendRecv };
const char* name_of(CollectiveKind kind);
const std::vector<CollectiveKind>& all_collectives();

enum class Algorithm : std::uint8_t { kRing, kTree, kNvls, kExchange };
const char* name_of(Algorithm algorithm);
enum class Protocol : std::uint8_t { kSimple, kLowLatency };
const char* name_of(Protocol protocol);

/// The nodes and ranks that a collective runs over, in ring order.
struct Ring {
  std::vector<int> node;        ///< one a node that takes part: its index in the cluster
  std::vector<int> node_group;  ///< its index in Cluster::nodes
  std::vector<int> ranks_here;  ///< ranks of the group on that node
  int ranks = 0;                ///< sum of ranks_here
};
/// Nodes in ascending order; `members` are ranks, each once.
Ring ring_of(const std::vector<Place>& places, const std::vector<int>& members);

/// All zero for a single rank.
struct CollectiveCost {
  Seconds latency;      ///< launch, all steps and the pipeline's filling, paid once before the bytes flow
  Seconds intra;        ///< the bytes of all steps through the slowest node's inner links
  Bytes edge_bytes;     ///< what each edge between neighbouring nodes carries, flags of LL included; 0 on one node
  Bytes sent_per_rank;  ///< mean over the ranks, payload only
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 0;  ///< channels_of(): each holds a multiprocessor; 0: it takes none
};

/// The fastest, alone on the fabric, of NCCL's ways (src/graph/tuning.cc takes the least of estimated times too):
/// - ring: 2(n-1) steps for an all-reduce, n-1 for the others, of which 2(nodes-1) or nodes-1 go between nodes; where
///   nodes differ, every step costs the slowest one's latency. A broadcast is a pipelined chain.
/// - tree, of an all-reduce over several nodes: two trees with half of the bytes each, chains inside nodes;
///   2 log2(nodes) steps between nodes. Its edges carry the buffer once for two nodes with a switch inside, else twice.
/// - NVLS, of an all-reduce on one node whose switch reduces.
/// - exchange: all-to-all, every pair at once; send/recv, from each rank to the next.
/// each with the Simple protocol, and LL where the links have it. `bytes` is the full buffer (what nccl-tests calls
/// size): all-reduce and broadcast of it, reduce-scatter from it, all-gather into it, all-to-all of one rank's whole
/// input. `only`: that algorithm, as NCCL_ALGO says; where the collective has it.
CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                               std::optional<Algorithm> only = {});

/// Adapters next to `ranks` of a node's GPUs, at least one.
int adapters_of(const NodeGroup& group, int ranks);
/// Achieved bandwidth of all of a node's adapters, one direction.
BytesPerSecond node_bandwidth(const NodeGroup& group);
/// Of the adapters next to `ranks` of its GPUs.
BytesPerSecond node_bandwidth(const NodeGroup& group, int ranks);

/// Bandwidth of an oversubscribed fabric's core: that of all nodes together over the oversubscription; 0 when the core
/// never limits.
BytesPerSecond core_bandwidth(const Cluster& cluster);

/// Time alone on the fabric: latency + max(intra, the slowest edge), an edge being as fast as the slower of its
/// adapters and its share of the core.
Seconds collective_time(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                        std::optional<Algorithm> only = {});
Seconds collective_time(CollectiveKind kind, const CollectiveCost& cost, const Cluster& cluster, const Ring& ring);

}  // namespace accosim
