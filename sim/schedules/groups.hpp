// The groups of ranks that collectives run over, and the ways between nodes that they take: all ranks together share
// all adapters of their nodes, a rank that is alone in its node has the adapter next to it.
#pragma once

#include "models/price/costs.hpp"
#include "sim/graph/builder.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// The ring of the first group of a scope, which has the costs of all where the nodes are equal.
Ring scope_ring(const Costs& costs, Scope scope);

/// Time of a request when every group of its scope makes it at once and nothing else runs: groups of one rank a node
/// share adapters, where there are fewer than GPUs, and an oversubscribed core.
Seconds request_time(const Costs& costs, const PlanRequest& request);

/// Fills in the groups, their plans, links and paths, and the ranks, for what the programs ask.
void add_groups(EventGraph& graph, const Costs& costs, const Tables& tables);

}  // namespace accosim
