// A measured collective, as a case to predict.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/collectives/collectives.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

struct CollectiveQuery {
  std::shared_ptr<const Cluster> cluster;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;                ///< as nccl-tests counts: the full buffer
  int ranks = 0;              ///< in total, the same number on each node
  int nodes = 1;              ///< the first so many of the cluster
  Seconds offset{};           ///< what the source's way of timing adds
  bool back_to_back = false;  ///< launched one after another, which hides what a step waits before (IntraLink::start)
  std::optional<Algorithm> only{};  ///< the algorithm that the source forced
  std::vector<NcclRelease>
      releases{};  ///< of NCCL that it may have been, where the source says none; else the cluster's
};

/// The ring of its ranks: the first ranks of each of the first nodes.
Ring ring_of(const CollectiveQuery& query);

/// The middle one of its releases, of an even number the earlier of the two; the cluster's where it has none.
NcclRelease middle_release(const CollectiveQuery& query);
/// The predicted time as the source would measure it, with the middle release.
Seconds collective_time(const CollectiveQuery& query);
/// The same with each release that it may have been, in their order.
std::vector<Seconds> collective_times(const CollectiveQuery& query);

}  // namespace accosim
