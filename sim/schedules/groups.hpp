// The groups of ranks that collectives run over, and their paths between nodes.
#pragma once

#include "models/price/price.hpp"
#include "sim/graph/builder.hpp"
#include "sim/graph/graph.hpp"
#include "sim/schedules/few_replicas.hpp"

namespace accosim {

/// The ring of the ranks that `rank` meets. Rings of other nodes, where these use all GPUs of theirs, run at once and
/// share an oversubscribed core.
Ring ring_of(const Costs& costs, const Ranks& ranks, int rank = 0);

/// Time of a request on a rank's group when every such group makes it at once and nothing else runs: groups that have
/// some GPUs of a node share adapters, where there are fewer than GPUs, and an oversubscribed core.
Seconds request_time(const Costs& costs, const PlanRequest& request, int rank = 0);

/// Fills in the groups, their plans, links and paths, and the ranks, for what the programs ask; with `few` the ranks
/// that stand for all, whose collectives cost what they cost among all.
void add_groups(EventGraph& graph, const Costs& costs, const Tables& tables, const FewReplicas* few = nullptr);

}  // namespace accosim
