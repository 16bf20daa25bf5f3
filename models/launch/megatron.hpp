// The arguments of Megatron-LM and of the Megatron-DeepSpeed forks as parts of a scenario.
#pragma once

#include <cstdint>
#include <string>

#include "models/launch/draft.hpp"
#include "models/launch/launch_line.hpp"

namespace accosim {

/// Writes model, training and schedule. `gpus` in all, `gpus_per_node` of a node.
void read_megatron(const LaunchLine& launch, int gpus, int gpus_per_node, Draft& draft);
/// GPUs that one replica of the model takes.
std::int64_t gpus_of_a_replica(const LaunchLine& launch);

}  // namespace accosim
