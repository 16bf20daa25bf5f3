// `accocal measure`: what the parts of a training step take on this machine and over this network, one by one: the
// collectives by size, the hand-off between the two threads of a rank, what communication and computation take from
// each other, a micro-batch, the optimizer's step and the copy of a buffer. calibration/README.md describes the
// document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/spawn.hpp"
#include "calibration/train/training.hpp"
#include "models/base/units.hpp"

namespace accocal {

struct MeasureOptions {
  LaunchOptions launch;
  std::vector<std::int64_t> bytes;  ///< sizes of collectives; empty: as the network's rate allows
  Seconds budget{20};               ///< about; sizes that were asked for are measured whatever they take
  bool quick = false;               ///< fewer runs of each
  TrainingOptions training;         ///< its micro-batch is timed; only the options of the workload count
  std::vector<int> lengths;         ///< of sequences, shorter than the context, at which it is timed too
};

struct MeasureResult {
  RankResults ranks;     ///< how the ranks ended
  std::string document;  ///< accosim.samples/1; empty where a rank failed
};

/// Progress goes to the standard error. Throws BadInput and BadEnvironment.
MeasureResult measure(const MeasureOptions& options);

}  // namespace accocal
