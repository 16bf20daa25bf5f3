// What every price of a collective is asked for: its kind, NCCL's algorithm and protocol, the nodes and ranks that it
// runs over, and what these nodes' adapters and the fabric's core carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// Besides collectives: send_recv, in which every rank sends to the next and receives from the one before, and send,
/// one rank to another.
enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kSendRecv,
  kSend
};
template <>
inline constexpr const char* kNames<CollectiveKind>[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                                         "all_to_all", "send_recv",      "send"};

enum class Algorithm : std::uint8_t { kRing, kTree, kNvls, kNvlsTree, kPat, kCollNet, kExchange };
template <>
inline constexpr const char* kNames<Algorithm>[] = {"ring", "tree", "NVLS", "NVLSTree", "PAT", "CollNet", "exchange"};
/// NCCL's: Simple, LL (every 8 bytes carry 4 of data and a flag) and LL128 (120 of every 128 bytes are data).
enum class Protocol : std::uint8_t { kSimple, kLowLatency, kLl128 };
template <>
inline constexpr const char* kNames<Protocol>[] = {"Simple", "LL", "LL128"};

/// The nodes and ranks that a collective runs over, in ring order.
struct Ring {
  std::vector<int> node;               ///< one a node that takes part: its index in the cluster
  std::vector<int> node_group;         ///< its index in Cluster::nodes
  std::vector<std::vector<int>> gpus;  ///< those of the node that take part, ascending
  int ranks = 0;                       ///< of all nodes
  double core_share = 1;               ///< of an oversubscribed core, where rings of other nodes run at the same time
  std::vector<bool> as_before{};       ///< whether a node is as the one before it; empty: not known

  int here(std::size_t i) const { return static_cast<int>(gpus[i].size()); }
};
/// Whether it is no collective of NCCL's but messages between ranks; and whether these have one receiver each.
bool is_exchange(CollectiveKind kind);
bool is_to_one(CollectiveKind kind);

/// Nodes in ascending order; `members` are ranks, each once.
Ring ring_of(const std::vector<Place>& places, const std::vector<int>& members);
/// All ranks of a cluster.
Ring whole_ring(const Cluster& cluster);
/// Whether the ring's node `i` is as the one before it: of many alike in a row one is enough.
bool is_like_the_one_before(const Ring& ring, std::size_t i);
/// The most and the fewest ranks of a node.
int most_here(const Ring& ring);
int fewest_here(const Ring& ring);
/// What the ring's node `i` is one of.
const NodeGroup& group_of(const Cluster& cluster, const Ring& ring, std::size_t i);
/// Number of the ring's edges between nodes that carry bytes: one a node, and one fewer of a broadcast, which is a
/// chain.
double edges_of(CollectiveKind kind, const Ring& ring);

/// The adapter next to a GPU of a node, the first where there are several; and the first GPU that it is next to.
int adapter_next_to(const NodeGroup& group, int gpu);
int first_gpu_at(const NodeGroup& group, int adapter);
/// Adapters next to these of a node's GPUs.
int adapters_of(const NodeGroup& group, const std::vector<int>& gpus);
/// What NCCL sees of them: AWS's plugin with RDMA makes one device of the adapters next to a GPU.
int devices_of(const NodeGroup& group, const std::vector<int>& gpus);
/// Threads of a node's host that serve a ring: one a GPU, of those that a channel enters or leaves the node by. NCCL's
/// search finds a channel for each adapter, which enters by one GPU and leaves by another where there are two.
int sending_threads(int gpus, int adapters);
/// What so many threads copy each way, sending as much as they receive; infinite where they copy nothing.
BytesPerSecond thread_bandwidth(const Nics& nics, double threads);
/// Achieved bandwidth of all of a node's adapters, one direction: each has its share of the wire, and all together
/// what the host copies where GPUs write to it.
BytesPerSecond node_bandwidth(const NodeGroup& group);
/// Of the adapters next to these of its GPUs.
BytesPerSecond node_bandwidth(const NodeGroup& group, const std::vector<int>& gpus);

/// What the host of the slowest node of the ring copies each way, where that is less than its adapters carry; nothing
/// where the adapters bind.
std::optional<BytesPerSecond> binding_copies(const Cluster& cluster, const Ring& ring);

/// What passes in a step of training before any collective of the ring runs.
Seconds start_of(const Cluster& cluster, const Ring& ring);

/// Bandwidth of an oversubscribed fabric's core: that of all nodes together over the oversubscription; 0 when the core
/// never limits.
BytesPerSecond core_bandwidth(const Cluster& cluster);

/// Keeps the smaller of two bandwidths; 0: none so far.
void take_slowest(BytesPerSecond& slowest, BytesPerSecond bandwidth);

}  // namespace accosim
