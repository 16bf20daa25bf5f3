// What a change that saves memory comes to; ways_to_fit() finds them.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/fit_verdict.hpp"

namespace accosim {

struct WayToFit {
  std::string change;            ///< as a scenario writes it: "activation_recompute full", "schedule zero3"
  std::vector<std::string> set;  ///< the same as --set takes it
  Bytes memory;                  ///< that is then resident on the GPU that is then least likely to fit
  Bytes room;                    ///< that is then left there; negative: what is predicted does not fit
  Bytes saves;                   ///< less on the GPU that was least likely to fit before
  Fit fit;
  double time_ratio = 1;   ///< of the time per sample without contention, over that without the change
  bool estimated = false;  ///< by the passes of a split model alone, whose plays are long
  bool fits() const { return fit.verdict == FitVerdict::kFits; }
};

struct WaysToFit {
  std::vector<WayToFit> alone;  ///< those that save anything: those that fit, those that are tight, the rest; by time
  /// Where none fits alone: one after the other, each with all before it, until it fits.
  std::vector<WayToFit> together;
  /// The largest micro_batch_size that fits with nothing else changed, so with fewer samples an update; 0: there is
  /// none, or the node groups' differ.
  int largest_micro_batch = 0;
};

}  // namespace accosim
