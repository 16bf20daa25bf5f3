// The arguments of Hugging Face's Trainer (run_clm.py and scripts like it), with DeepSpeed, FSDP or DDP below it.
#pragma once

#include <string>

#include "models/launch/draft.hpp"
#include "models/launch/launch_line.hpp"

namespace accosim {

/// Whether a script's arguments are the Trainer's.
bool is_hugging_face(const LaunchLine& launch);

/// Writes model, training and schedule, for so many GPUs. `model` is a name or file in the place of the argument's;
/// empty: the argument's, where a shipped model is known by it.
void read_hugging_face(const LaunchLine& launch, const std::string& model, int gpus, Draft& draft);

}  // namespace accosim
