// A graph of one program, to which a test adds its ranks, groups and links.
#pragma once

#include "sim/graph/builder.hpp"

namespace accosim {

inline EventGraph graph_of_one(const Tables& tables, ProgramBuilder& program) {
  EventGraph graph;
  graph.programs.push_back(program.take(1));
  graph.labels = tables.labels;
  return graph;
}

}  // namespace accosim
