#include "models/spec/training.hpp"

#include "models/spec/cluster.hpp"

namespace accosim {

bool can_be_divided(const Cluster& cluster, const Training& training) {
  return model_ranks_of(training.parallel) == 1 && !identical_ranks(cluster);
}

int accumulation_steps_of(const NodeGroup& group, int gpu, const Training& training) {
  if (group.accumulation_steps.empty()) return training.gradient_accumulation_steps;
  return group.accumulation_steps[static_cast<std::size_t>(gpu)];
}

}  // namespace accosim
