// A cluster: node groups of equal nodes, the links inside them, and the fabric that joins them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/spec/device.hpp"
#include "models/spec/nccl_graph.hpp"
#include "models/spec/nccl_release.hpp"

namespace accosim {

/// NCCL's LL and LL128 inside a node (every 8 bytes carry 4 of data and a flag; 120 of every 128 bytes are data): what
/// NCCL's own constants (src/graph/tuning.cc) are multiplied by.
struct LowLatency {
  double latency = 1;        ///< of the latencies of both: a launch and a hop
  double efficiency = 0;     ///< achieved rate of LL over NCCL's own; 0: neither protocol is used
  double efficiency128 = 0;  ///< achieved bus bandwidth of LL128 over the link's bandwidth; 0: LL128 is not used

  bool operator==(const LowLatency&) const = default;
};

/// An all-reduce in a switch that reduces (NCCL's NVLS): launch, and the bytes at efficiency x bandwidth of bus
/// bandwidth, and once more `fill` of those that fit in the pipeline's first chunks.
struct Nvls {
  double efficiency = 0;  ///< bus bandwidth of an all-reduce over the link's bandwidth; 0: the switch cannot reduce
  Seconds launch{};
  double fill = 0;

  bool operator==(const Nvls&) const = default;
};

/// All-to-all and send/recv: launch, bytes, and what pipelining costs.
struct Exchange {
  double efficiency = 0;  ///< what every GPU achieves in an all-to-all over the bandwidth; 0: as a ring
  Seconds launch{};       ///< of a collective, whatever its size
  Seconds chunk{};        ///< pipelining costs 2 sqrt(chunk x time of the bytes)

  bool operator==(const Exchange&) const = default;
};

/// What a fit of measured collectives leaves over.
struct LinkQuality {
  double spread = 0.25;        ///< standard deviation of log(measured / predicted), from 1 MiB
  double spread_small = 0.35;  ///< below 1 MiB
  int machines = 0;            ///< sources that the constants were fitted to; 0: nobody measured the kind
  int nodes = 0;               ///< the most that were measured together; 0: unknown, so nothing grows beyond them
  double growth = 0;           ///< what both spreads grow by, in squares, with each doubling of the nodes beyond those

  bool operator==(const LinkQuality&) const = default;
};

/// Links between the GPUs of one node. Bandwidth is one GPU's, one direction, all its links together.
struct IntraLink {
  std::string kind;  ///< one of intra_kinds() (fabrics.hpp)
  BytesPerSecond bandwidth{};
  double efficiency = 1;  ///< achieved bus bandwidth of a ring with Simple over the bandwidth, while it flows
  Seconds latency{};      ///< of one step of a ring between neighbours in the node, Simple protocol
  Seconds launch{};       ///< of a collective with Simple, whatever its size
  Seconds start{};  ///< what a step of training waits before any of its collectives runs; benchmarks that launch one
                    ///< after another hide it
  double turnaround = 0;  ///< time that a ring's last receive adds, in steps of the ring
  double crowding = 0;    ///< over PCIe: the bandwidth of n GPUs is (2 / n)^crowding of that of two
  int socket_gpus = 0;    ///< over PCIe: GPU i is at socket i / socket_gpus; 0: not told
  BytesPerSecond
      between_sockets{};  ///< achieved, of a socket to the others, one direction; all groups that cross share it
  LowLatency ll{};
  Nvls nvls{};
  Exchange exchange{};
  /// NVLinks between GPU i and GPU j, symmetric; empty: a switch, or all joined alike.
  std::vector<std::vector<int>> links{};
  LinkQuality quality{};
  std::string generation{};  ///< architecture of the GPUs that the constants are of; "": of none, a plain node

  bool operator==(const IntraLink&) const = default;
};

/// The network adapters of one node. Bandwidth is one adapter's, one direction.
struct Nics {
  int count = 1;
  BytesPerSecond bandwidth{};
  double efficiency = 1;
  Seconds latency{};  ///< of a message to a neighbour on another node, from GPU to GPU, fabric excluded
  std::string kind{};
  Seconds message{};  ///< what the host's thread spends on sending, and on receiving, one message
  /// What a host copies where GPUs do not reach adapters (data_path()), sent and received together: all of a node, or
  /// where software copies each of NCCL's threads. 0: nothing.
  BytesPerSecond staging{};
  double collisions = 0;  ///< what the greatest load of a link costs where switches hash flows (contention())
  /// Size of a token bucket that shapes outgoing traffic: so many bytes pass at once after a pause. It refills at
  /// `bandwidth`.
  Bytes burst{};
  LinkQuality quality{};
  /// NCCL's for each adapter; a channel is a multiprocessor and a connection. 0: what its search finds.
  int channels = 0;
  bool beside_gpus = true;  ///< behind the PCIe switch of GPUs; otherwise these reach it through the CPU
  BytesPerSecond slot{};    ///< of an adapter or GPU, as NCCL counts PCIe; 0: that of the GPUs' generation
  int sockets = 1;          ///< TCP connections of a channel to one peer
  Bytes socket_window{};    ///< what one of them has under way at most; 0: no TCP

  bool operator==(const Nics&) const = default;
};

/// Who made a node's CPU, which decides about what NCCL finds and estimates.
enum class Cpu : std::uint8_t { kIntel, kAmd, kArm };
template <>
inline constexpr const char* kNames<Cpu>[] = {"intel", "amd", "arm"};

/// `count` equal nodes. A node is what its `intra` joins, whatever number of hosts it has: an NVL72 is one.
struct NodeGroup {
  std::string name{};
  int count = 1;
  int gpus = 1;
  std::vector<Device> devices{};  ///< one a GPU of the node
  IntraLink intra{};
  Nics nics{};
  std::optional<Cpu> cpu{};  ///< absent: AMD's with Ampere GPUs, Intel's otherwise, as DGX machines have them
  Dtype precision = Dtype::kBf16;
  Attention attention = Attention::kFlash;
  int micro_batch_size = 1;
  std::vector<int> accumulation_steps{};       ///< one a GPU of the node; empty: the training's
  std::optional<int> inner_updates{};          ///< of its replicas between two meetings; absent: the schedule's
  int absent_before = 0;                       ///< groups of no nodes that the file lists before this one
  std::optional<double> price_per_gpu_hour{};  ///< in the cluster's currency; all groups have one, or none
  BytesPerSecond pcie{};         ///< a GPU to or from its host, each way; 0: as NCCL counts the slot of its generation
  BytesPerSecond host_memory{};  ///< what an optimizer on a node's host moves, which its GPUs share; 0: kHostMemory

  bool operator==(const NodeGroup&) const = default;
};

/// Two sockets of six to eight channels have 250 to 410 GB/s; an optimizer on all cores gets less than half of it.
inline constexpr BytesPerSecond kHostMemory{100e9};

int capability_of(const NodeGroup& group);  ///< the least of its GPUs

/// What joins node groups that are apart, such as two sites: each group has one link to all others.
struct BetweenGroups {
  BytesPerSecond bandwidth;  ///< payload of a group's link, one direction; its nodes share it
  Seconds latency;           ///< one way, on top of the fabric's

  bool operator==(const BetweenGroups&) const = default;
};

/// What joins the nodes: non-blocking unless oversubscribed.
struct Fabric {
  Seconds latency;              ///< of the wire, one way; added to a step of a ring between two nodes
  double oversubscription = 1;  ///< nodes' bandwidth together over what the core carries; 1 is non-blocking
  std::optional<BetweenGroups> between_groups{};

  bool operator==(const Fabric&) const = default;
};

/// Who chooses algorithm and protocol of a collective between nodes: NCCL by its own estimate, the plugin that comes
/// with AWS's adapters, a tuner that knows the fabric and takes the fastest, or the user (ForcedWay).
enum class Tuner : std::uint8_t { kNccl, kAws, kFastest, kForced };
template <>
inline constexpr const char* kNames<Tuner>[] = {"nccl", "aws", "fastest"};

/// NCCL_ALGO and NCCL_PROTO: names in lower case, such as "nvlstree" and "ll128"; empty: not set.
struct ForcedWay {
  std::string algorithm, protocol;

  bool operator==(const ForcedWay&) const = default;
};

struct Cluster {
  std::string name{};
  std::vector<NodeGroup> nodes{};
  Fabric fabric{};
  NcclRelease nccl{};
  Tuner tuner = Tuner::kNccl;
  ForcedWay forced{};    ///< with Tuner::kForced
  bool collnet = false;  ///< NCCL_COLLNET_ENABLE, with a plugin and switches that reduce (SHARP)
  std::optional<NcclGraphs>
      graphs{};            ///< as NCCL printed them between nodes; absent: found (collectives/nccl_search.hpp)
  std::string doubt{};     ///< what spoke against the measurements that its links were fitted to; empty: nothing
  std::string currency{};  ///< of all prices; empty: it is not said

  bool operator==(const Cluster&) const = default;
};

/// Where a rank lives. Ranks are numbered by node group, node, GPU.
struct Place {
  int group = 0;  ///< index in Cluster::nodes
  int node = 0;   ///< index over the whole cluster
  int gpu = 0;    ///< index in the node
};
std::vector<Place> places_of(const Cluster& cluster);
/// The file's index of a group: "/cluster/nodes/<index>".
int listed_index(const Cluster& cluster, int group);

/// "A100-SXM4-80GB"; a slowed one says so where the cluster has an unslowed one, or one slowed otherwise, of that name.
std::string device_name(const Cluster& cluster, const Device& device);
double gpu_count(const Cluster& cluster);
int node_count(const Cluster& cluster);
/// Of all GPUs together for an hour; absent where the node groups have no price.
std::optional<double> price_per_hour(const Cluster& cluster);
/// Whether every GPU has a number of its own, so that the training's is nobody's.
bool all_have_own_steps(const Cluster& cluster);
/// Whether all GPUs are one device that does the same work, so that all ranks take the same time.
bool identical_ranks(const Cluster& cluster);
/// Whether GPUs are of several kinds, not slowed ones of one kind.
bool mixes_gpus(const Cluster& cluster);
/// What makes two node groups unequal: the GPUs of a node or, where groups stand against each other, also the nodes:
/// "as many GPUs in every node, and "a" has 8 where "b" has 4"; empty where they are equal.
std::string unequal_in_words(const std::vector<NodeGroup>& groups, bool whole_groups);

}  // namespace accosim
