#include "models/spec/training.hpp"

#include "models/spec/cluster.hpp"

namespace accosim {

int accumulation_steps_of(const NodeGroup& group, int gpu, const Training& training) {
  if (group.accumulation_steps.empty()) return training.gradient_accumulation_steps;
  return group.accumulation_steps[static_cast<std::size_t>(gpu)];
}

}  // namespace accosim
