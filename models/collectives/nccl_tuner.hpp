// NCCL's own estimate of what a collective takes, by which it chooses algorithm and protocol. It decides; it is not the
// time that passes. Its constants are given by its sources, version by version, and never fitted.
#pragma once

#include <optional>
#include <vector>

#include "models/collectives/ring.hpp"
#include "models/spec/nccl_release.hpp"

namespace accosim {

/// What NCCL knows of a communicator when it estimates.
struct NcclCommunicator {
  NcclRelease version{};  ///< from 2.12 on; older ones are taken as 2.12
  int capability = 80;    ///< of the GPUs: 70, 80, 90 or 100
  int ranks = 1, nodes = 1;
  int channels = 1;                       ///< that its search found: half of what the communicator has
  double intra = 0, inter = 0;            ///< GB/s a channel, inside a node and between nodes
  double tree_intra = 0, tree_inter = 0;  ///< the same of trees; 0: as rings
  std::optional<double> nvls{};  ///< GB/s of all channels of the NVLS search in a node; none where no switch reduces
  double nvls_most = 0;          ///< what the search could raise that to on one node, where that is more
  bool collnet = false;          ///< the network's switches reduce, and NCCL is told to use them
  bool nvlink = true;            ///< inside a node; PCIe otherwise
  bool ll128 = true;             ///< NVLink inside, and the adapter behind the GPU's own PCIe switch
  bool amd = false;              ///< the host's CPU; Intel otherwise
  bool same_channels = false;    ///< its channels have the ranks in the same order, so that a broadcast is one hop
  bool plain_tree = false;       ///< its trees are of the plain pattern: each node's go through one GPU
  double net_latency = 0;        ///< us, as the network plugin reports it
};

/// us, and GB/s of algorithm bandwidth; 0 GB/s where the way does not exist.
struct NcclEstimate {
  double latency = 0, bandwidth = 0;
};

/// NCCL's latency and bandwidth of a way, for any size (src/graph/tuning.cc, ncclTopoTuneModel): what it prints with
/// NCCL_DEBUG_SUBSYS=TUNING. All-reduce, reduce-scatter, all-gather and broadcast; ring, tree, NVLS on one node,
/// NVLSTree, PAT with one GPU a node, CollNet for an all-reduce.
NcclEstimate nccl_estimate(const NcclCommunicator& communicator, CollectiveKind kind, Algorithm algorithm,
                           Protocol protocol);

/// The same for `bytes` (the full buffer), in us (ncclTopoGetAlgoTime): latency, with the plateau of rings, and bytes
/// over the bandwidth, which is corrected for trees of medium sizes. Nothing where the way does not exist.
std::optional<double> nccl_time(const NcclCommunicator& communicator, CollectiveKind kind, Bytes bytes,
                                Algorithm algorithm, Protocol protocol);

/// What NCCL takes LL to reach at most, GB/s of bus bandwidth of all channels; and one channel of a tree with Simple or
/// LL128, or of a ring with LL128.
double nccl_most_ll(const NcclCommunicator& communicator);
double nccl_most_a_channel(const NcclCommunicator& communicator, Algorithm algorithm, Protocol protocol);

/// The most GPUs that a switch reduces for, each its own part (NCCL_MAX_NVLS_ARITY, src/include/device.h).
inline constexpr int kMostNvlsHeads = 32;

/// What the search finds for NVLS on one node of `gpus` GPUs whose links carry `all` GB/s as NCCL counts them: a
/// channel for each GPU (at most 32), at the fastest of its speeds that fits (src/graph/search.cc). Sets nvls and
/// nvls_most; neither below 3 GPUs or before Hopper.
void find_nvls(NcclCommunicator& communicator, int gpus, double all);

struct NcclWay {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;

  bool operator==(const NcclWay&) const = default;
};

/// The way of the least nccl_time() of those in `ways` that exist; the first of equals. Needs one that exists.
NcclWay nccl_choice(const NcclCommunicator& communicator, CollectiveKind kind, Bytes bytes,
                    const std::vector<NcclWay>& ways);

}  // namespace accosim
