// What of a graph nothing tells apart. Ranks, groups, paths and links are refined by colour until each rank of a colour
// is in groups of the same colours, slot by slot, each group of a colour has as many members of each colour with it in
// each slot, and as many flows of each, each path takes links of the same colours in the same order, and each link of a
// colour is taken by as many paths of each, at the same place of theirs. What is of one colour then does the same at
// the same time: flows begin together, move at one max-min fair rate and end together. No path takes two links of one
// colour: the one link that stands for them would carry its flow twice, which SimGrid does not know.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/graph/graph.hpp"

namespace accosim {

inline constexpr int kUnused = -1;

struct Colours {
  std::vector<int> rank, group;  ///< numbered in order of first appearance
  std::vector<int> path, link;   ///< kUnused: no flow takes it
  std::size_t ranks = 0, groups = 0, paths = 0, links = 0;
};

/// What has a colour of its own from the first.
enum class Apart {
  kNothing,
  kReplicas,  ///< the ranks of each model replica, whose micro-batches are drawn
  kRanks,     ///< all ranks, and with them all groups
};

Colours colours_of(const EventGraph& graph, Apart apart);

/// One path and one link of each colour stay, and count the others; of a plan's flows of one colour one stays.
EventGraph with_folded_flows(EventGraph graph, const Colours& colours);

}  // namespace accosim
