// What a collective costs on a two-level hierarchy, by the algorithm and protocol that NCCL would choose. The part
// inside nodes is a closed form; the part between nodes is given as bytes an edge of the ring (or tree) carries, so
// that a network can play it with contention.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/units.hpp"
#include "models/collectives/steps.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

enum class CollectiveKind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kAllToAll, kSendRecv };
const char* name_of(CollectiveKind kind);
const std::vector<CollectiveKind>& all_collectives();

enum class Algorithm : std::uint8_t { kRing, kTree, kNvls, kNvlsTree, kPat, kCollNet, kExchange };
const char* name_of(Algorithm algorithm);
/// NCCL's: Simple, LL (every 8 bytes carry 4 of data and a flag) and LL128 (120 of every 128 bytes are data).
enum class Protocol : std::uint8_t { kSimple, kLowLatency, kLl128 };
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
/// All ranks of a cluster.
Ring whole_ring(const Cluster& cluster);
/// What the ring's node `i` is one of.
const NodeGroup& group_of(const Cluster& cluster, const Ring& ring, std::size_t i);
/// Number of the ring's edges between nodes that carry bytes: one a node, and one fewer of a broadcast, which is a
/// chain.
double edges_of(CollectiveKind kind, const Ring& ring);

/// All zero for a single rank. Alone on the fabric it takes the sum of its terms.
struct CollectiveCost {
  Seconds latency;      ///< launch, all steps and the pipeline's filling, paid once before the bytes flow
  Seconds intra;        ///< the bytes of all steps through the slowest node's inner links
  Bytes edge_bytes;     ///< what each edge between neighbouring nodes carries, flags of LL included; 0 on one node
  Bytes sent_per_rank;  ///< mean over the ranks, payload only
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 0;                 ///< channels_of(): each holds a multiprocessor; 0: it takes none
  Bytes message;                    ///< the largest on the wire between nodes, flags excluded; 0 on one node
  double turns = 1;                 ///< as StepTime has it, of what goes between nodes
  double steps = 0, net_steps = 0;  ///< on a chunk's longest way, and those of them between nodes
  StepTerms terms;                  ///< what it takes alone, by what takes it
};

/// Between nodes the way that NCCL or a tuner chooses (between_nodes.hpp). On one node the fastest of NCCL's ways, each
/// with the Simple protocol, and LL where the links have it:
/// - ring: 2(n-1) steps for an all-reduce, n-1 for the others. A broadcast is a pipelined chain.
/// - NVLS, of an all-reduce on a node whose switch reduces.
/// - exchange, here and between nodes: all-to-all, every pair at once; send/recv, from each rank to the next.
/// accocal's own rings have neither trees nor protocols, and a step takes one latency. `bytes` is the full buffer (what
/// nccl-tests calls size): all-reduce and broadcast of it, reduce-scatter from it, all-gather into it, all-to-all of
/// one rank's whole input. `only`: that algorithm, as NCCL_ALGO says; where the collective has it.
CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                               std::optional<Algorithm> only = {});

/// Adapters next to `ranks` of a node's GPUs, at least one.
int adapters_of(const NodeGroup& group, int ranks);
/// Achieved bandwidth of all of a node's adapters, one direction: each has its share of the wire, or what the host
/// copies for it.
BytesPerSecond node_bandwidth(const NodeGroup& group);
/// Of the adapters next to `ranks` of its GPUs.
BytesPerSecond node_bandwidth(const NodeGroup& group, int ranks);

/// Bandwidth of an oversubscribed fabric's core: that of all nodes together over the oversubscription; 0 when the core
/// never limits.
BytesPerSecond core_bandwidth(const Cluster& cluster);

/// What the slowest edge between nodes carries: its wire's rate, its share of the core, and what may be under way.
BytesPerSecond edge_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring);

/// Time alone on the fabric: latency + max(intra, the slowest edge), an edge being as fast as the slower of its
/// adapters and its share of the core.
Seconds collective_time(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                        std::optional<Algorithm> only = {});
Seconds collective_time(CollectiveKind kind, const CollectiveCost& cost, const Cluster& cluster, const Ring& ring);

}  // namespace accosim
