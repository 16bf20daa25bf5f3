// The two readers of launch lines: what the values of their names mean as parts of a scenario.
#pragma once

#include <cstdint>
#include <string>

#include "models/launch/flags.hpp"

namespace accosim {

/// What a launch line runs on, and what stands beside it.
struct Launched {
  int line = 0;  ///< of the script, where it starts
  int gpus = 1;  ///< in all
  int gpus_per_node = 1;
  std::string model{};  ///< a name or file in the place of the launch line's; empty: the launch line's
};

// Both write model, training and schedule. They ask for what is missing, and refuse what is wrong.

void read_megatron(const Launched& launched, Flags& flags, Draft& draft);
void read_torch(const Launched& launched, Flags& flags, Draft& draft);

/// Low-rank adapters (LoRA, QLoRA) where they alone are trained; else false.
bool read_adapters(Flags& flags, Draft& draft);

/// GPUs that one replica of the model takes.
std::int64_t gpus_of_a_replica(Flags& flags);

}  // namespace accosim
