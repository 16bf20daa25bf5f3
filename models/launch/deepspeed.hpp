// A DeepSpeed configuration as parts of a scenario.
#pragma once

#include "models/launch/flags.hpp"

namespace accosim {

/// Writes what the configuration says of the schedule and of the training: stage, buckets, types, clipping, what is on
/// the host. A batch is the caller's to read.
void read_deepspeed(Flags& flags, int gpus_per_node, Draft& draft);

/// Tells where its batch is not that of `micro` sequences a GPU, of `accumulation` micro-batches and of `ranks`.
void compare_batch(Flags& flags, double micro, double accumulation, double ranks, Draft& draft);

}  // namespace accosim
