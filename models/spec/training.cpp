#include "models/spec/training.hpp"

#include <algorithm>

#include "models/spec/cluster.hpp"

namespace accosim {

bool can_be_divided(const Cluster& cluster, const Training& training) {
  return model_ranks_of(training.parallel) == 1 && !identical_ranks(cluster);
}

bool has_one_micro_batch(const Cluster& cluster, const Training& training) {
  return std::all_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const NodeGroup& group) {
    return group.micro_batch_size == training.micro_batch_size && group.accumulation_steps.empty();
  });
}

Training with_micro_batch(Training training, int samples) {
  const std::int64_t all = std::int64_t{training.micro_batch_size} * training.gradient_accumulation_steps;
  training.micro_batch_size = samples;
  training.gradient_accumulation_steps = static_cast<int>(all / samples);
  return training;
}

int accumulation_steps_of(const NodeGroup& group, int gpu, const Training& training) {
  if (group.accumulation_steps.empty()) return training.gradient_accumulation_steps;
  return group.accumulation_steps[static_cast<std::size_t>(gpu)];
}

}  // namespace accosim
