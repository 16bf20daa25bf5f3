// How much memory a run of ranks on CPUs will take, so that one that is too large is refused with the figure instead of
// being ended by the system halfway.
#pragma once

#include "calibration/base/names.hpp"
#include "calibration/converge/convergence.hpp"
#include "calibration/train/training.hpp"
#include "models/base/units.hpp"

namespace accocal {

/// Of one rank, to some ten per cent; what is below some ten megabytes is not counted.
struct RankMemory {
  Bytes parameters;     ///< with gradients, the optimizer's state and what is kept aside
  Bytes activations{};  ///< of a micro-batch, forward and backward
  Bytes evaluation{};   ///< activations of what is held out; of one rank only
};
RankMemory rank_memory(const TrainingOptions& options, int ranks);

/// What this machine, or the control group that we are in, has left for us; infinite where nobody says.
Bytes available_memory();

/// Throw BadInput with both figures and what to write smaller. Sizes of any magnitude; nothing is allocated.
void check_memory(const TrainingOptions& options, int ranks);
/// Of `accocal measure`, whose ranks send buffers of `largest` bytes.
void check_measure_memory(const TrainingOptions& options, int ranks, Bytes largest);
/// Of `accocal converge`.
void check_memory(const ConvergenceOptions& options);

}  // namespace accocal
