// The groups of ranks that collectives run over, and their paths between nodes: a group of all ranks uses all adapters
// of its nodes, a rank that is alone in its node the adapter next to it.
#pragma once

#include "models/price/price.hpp"
#include "sim/graph/builder.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// The ring of a rank's group of a scope. Those of node groups run at once and share an oversubscribed core.
Ring scope_ring(const Costs& costs, Scope scope, int rank = 0);

/// Time of a request on a rank's group when every group of its scope makes it at once and nothing else runs: groups of
/// one rank a node share adapters, where there are fewer than GPUs, and an oversubscribed core.
Seconds request_time(const Costs& costs, const PlanRequest& request, int rank = 0);

/// Fills in the groups, their plans, links and paths, and the ranks, for what the programs ask.
void add_groups(EventGraph& graph, const Costs& costs, const Tables& tables);

}  // namespace accosim
