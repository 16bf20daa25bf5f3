// Equal ranks are played once. Ranks are refined by colour (their program, the colours of their groups) and groups by
// the colours of their members until nothing changes; one rank of each colour then stands for all. Exact: groups whose
// collectives use the network are never merged with others, so every flow keeps its place, except that flows of one
// collective which nothing tells apart (equal bytes over equal links, shared with equal flows of the same collectives)
// are played once too.
#pragma once

#include <vector>

#include "sim/graph/graph.hpp"

namespace accosim {

struct Folded {
  EventGraph graph;
  std::vector<int> class_of;  ///< by rank of the original graph: its rank in `graph`
};

/// Precondition: check_graph(graph), every rank of multiplicity 1.
Folded fold(const EventGraph& graph);

/// Only the flows, which keeps every rank: what a trace of all ranks or a benchmark plays.
EventGraph fold_flows(const EventGraph& graph);

}  // namespace accosim
