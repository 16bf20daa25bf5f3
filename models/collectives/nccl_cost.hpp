// A collective of NCCL's, inside a node or over several: NCCL (or a tuner) chooses algorithm and protocol, and the
// chosen one is priced step by step.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/collectives/collective_cost.hpp"
#include "models/collectives/nccl_tuner.hpp"
#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// What NCCL would know of the ring's communicator. Over several nodes: what its search finds (nccl_node.hpp). On one:
/// half of the device's channels, at their part of the links.
NcclCommunicator communicator_of(const Cluster& cluster, const Ring& ring);

/// What NCCL takes one thread block to move inside a node, of the slowest GPU.
BytesPerSecond block_rate(const Cluster& cluster, const Ring& ring);

/// The ways that NCCL has, those of `only` where that is one of them. LL128 where the
/// GPUs of a node are joined by NVLink and have adapters behind their own PCIe switch. NVLSTree, PAT and CollNet where
/// release, GPUs and cluster have them.
std::vector<NcclWay> nccl_ways(CollectiveKind kind, const Cluster& cluster, const Ring& ring,
                               std::optional<Algorithm> only);

/// The one of them that NCCL's tuner, or AWS's, chooses, by no number of links or adapters that is fitted; nothing with
/// Tuner::kFastest.
std::optional<NcclWay> tuned_way(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                                 std::optional<Algorithm> only);

/// A way that takes less time than the one that NCCL's tuner, or AWS's, chooses; by these prices.
struct FasterWay {
  NcclWay way;
  int channels = 0;  ///< of each adapter; 0: as many as NCCL's search finds
  Seconds time;
};
/// The fastest, also with fewer or more channels, where the choice takes at least so many times as long. Nothing where
/// the cluster's user forced a way.
std::optional<FasterWay> faster_way(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                                    double times);

/// What the host of the slowest node copies each way for an algorithm, where that is less than its adapters carry: a
/// tree's busiest thread has more to do than a ring's.
std::optional<BytesPerSecond> binding_copies(const Cluster& cluster, const Ring& ring, Algorithm algorithm);

/// What the price of a way is made of: its steps, and what passes before the first (start and launch).
struct NcclSteps {
  StepLinks links;
  Seconds launch;
};
NcclSteps nccl_steps(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring, const NcclWay& way);

/// Prices of one kind over one ring (all-reduce, reduce-scatter, all-gather or broadcast): what no size changes is
/// looked at once. Refers to the cluster and the ring.
class NcclPrices {
 public:
  NcclPrices(CollectiveKind kind, const Cluster& cluster, const Ring& ring);
  ~NcclPrices();

  /// One way, whoever chose it.
  CollectiveCost of(Bytes bytes, const NcclWay& way) const;
  /// The way that Cluster::tuner chooses.
  CollectiveCost of(Bytes bytes, std::optional<Algorithm> only) const;

 private:
  CollectiveKind kind_;
  const Cluster& cluster_;
  const Ring& ring_;
  std::unique_ptr<const struct NcclSight> sight_;
  BytesPerSecond edge_;
};

/// Whether it is NCCL's and goes by the steps of a ring, a tree or NVLS.
bool goes_by_steps(CollectiveKind kind, const Cluster& cluster, const Ring& ring);

}  // namespace accosim
