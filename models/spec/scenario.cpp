#include "models/spec/scenario.hpp"

namespace accosim {

double samples_asked(const Scenario& scenario) {
  double samples = 0;
  for (const NodeGroup& group : scenario.cluster.nodes) {
    double steps = 0;
    for (int gpu = 0; gpu < group.gpus; ++gpu) steps += accumulation_steps_of(group, gpu, scenario.training);
    samples += 1.0 * group.count * group.micro_batch_size * steps;
  }
  return samples / model_ranks_of(scenario.training.parallel);
}

}  // namespace accosim
