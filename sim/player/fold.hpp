// Equal ranks are played once. Ranks are refined by colour (their program, the colours of their groups) and groups by
// the colours of their members until nothing changes; one rank of each colour then stands for all. Groups whose
// collectives use the network are never merged with others, but of the flows of one collective those that nothing tells
// apart become one, which knows how many it stands for. Exact: every rank does what it does in the whole graph.
#pragma once

#include <vector>

#include "sim/graph/graph.hpp"

namespace accosim {

struct Folded {
  EventGraph graph;
  std::vector<int> class_of;  ///< by rank of the original graph: its rank in `graph`
};

/// Precondition: check_graph(graph), every rank of multiplicity 1.
Folded fold(EventGraph graph);

/// Only the flows, which keeps every rank: what a trace of all ranks or a benchmark plays. Links and paths that no flow
/// takes are gone.
EventGraph fold_flows(EventGraph graph);

}  // namespace accosim
