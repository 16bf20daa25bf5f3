// Replicas that nothing tells apart do the same at the same time, so of a thousand only so many are built as it takes
// for each to have neighbours on other nodes: three nodes a ring carry on every link what a thousand do. Collectives
// cost what they cost among all. Exact, or not done; what is built so folds into the same graph.
#pragma once

#include <optional>
#include <vector>

#include "models/price/price.hpp"

namespace accosim {

/// A cluster of fewer replicas in the place of all.
struct FewReplicas {
  Costs costs;           ///< of its ranks
  int each = 1;          ///< how many replicas one stands for
  std::vector<int> all;  ///< by rank: that of all which it is
  std::vector<int> few;  ///< by rank of all: the one that stands for it
};

/// Nothing where replicas differ (nodes of several groups, sites, pauses, draws), share nodes with parts of others, or
/// are too few to gain by it.
std::optional<FewReplicas> few_replicas(const Costs& all);

}  // namespace accosim
