// The GPUs of a node group that do the same work in the same time, and how a setting names what is a node group's.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/spec/cluster.hpp"

namespace accosim {

/// GPUs of one node group with the same device and the same number of micro-batches.
struct Crew {
  int group = 0;
  std::vector<int> gpus;  ///< of each of its nodes
  int ranks = 0;
  int first_rank = 0;  ///< of its ranks
};
/// In the order of their first ranks' node groups and GPUs.
std::vector<Crew> crews_of(const Cluster& cluster);

/// "A100-SXM4-80GB"; of several node groups with the group: 'A100-SXM4-80GB of "fast"'.
std::string name_of(const Cluster& cluster, const Crew& crew);
/// "/cluster/nodes/1/micro_batch_size", by the place that the file gives the group.
std::string of_group(const Cluster& cluster, std::size_t group, const char* key);

}  // namespace accosim
