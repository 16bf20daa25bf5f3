// Equal ranks are played once, and so are equal groups, flows and links: one of each colour (colours.hpp) stands for
// all, and a path and a link know for how many. Exact: every rank does what it does in the whole graph.
#pragma once

#include <vector>

#include "sim/graph/graph.hpp"

namespace accosim {

struct Folded {
  EventGraph graph;
  std::vector<int> class_of{};  ///< by rank of the original graph: its rank in `graph`
};

/// Precondition: check_graph(graph), every rank of multiplicity 1. Where micro-batches are drawn the ranks of one model
/// replica may be equal, where GPUs have speeds of their own none.
Folded fold(EventGraph graph);

/// Where micro-batches are drawn and replicas are many, a few of them for all: what they come to is that of all but for
/// the scatter of the draws (sample.cpp). Else fold().
Folded fold_sample(EventGraph graph);

/// Only the flows, which keeps every rank: what a trace of all ranks or a benchmark plays. Links and paths that no flow
/// takes are gone.
EventGraph fold_flows(EventGraph graph);

}  // namespace accosim
