// A collective that somebody measured, as a question to the model.
#pragma once

#include <memory>
#include <optional>

#include "models/price/collectives.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

struct CollectiveQuery {
  std::shared_ptr<const Cluster> cluster;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;                      ///< as nccl-tests counts: the full buffer
  int ranks = 0;                    ///< in all, equally many on each node
  int nodes = 1;                    ///< of the cluster's, from the first
  Seconds offset;                   ///< that the source's way of timing adds
  std::optional<Algorithm> only{};  ///< that the source forced
};

/// Its ranks: the first of each of the first nodes.
Ring ring_of(const CollectiveQuery& query);

/// With its offset.
Seconds collective_time(const CollectiveQuery& query);

}  // namespace accosim
