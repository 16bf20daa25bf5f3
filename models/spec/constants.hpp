// Fitted constants that belong to no device, as calibration/constants.json has them: of the kinds of links, and what
// kernels take in a training step beyond themselves. `accosim fit` writes the file.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// A node of one GPU takes the launches of its collectives from this kind.
inline constexpr const char* kLoneGpuKind = "nvswitch";
/// The largest IntraLink::turnaround that a cluster may name and a fit may find.
inline constexpr double kMostTurnaround = 2;

/// StepSpread::name of models that several GPUs share, and of GPUs of several kinds in one job.
inline constexpr const char *kSplitSteps = "split", *kMixedSteps = "mixed";

/// What published training steps were off by beyond their intervals: a spread to add to these, in squares.
struct StepSpread {
  std::string name;  ///< one of the above, or of a device
  double spread = 0;
  int cases = 0;  ///< that it comes from

  bool operator==(const StepSpread&) const = default;
};

struct Constants {
  std::vector<IntraLink> intra;  ///< of a kind and a generation each, bandwidth 0; those of a kind stand together
  std::vector<Nics> nics;        ///< a kind each, its bandwidth 0; the first is that of a file that names none
  Overheads overheads;
  double ratio_spread = 0;  ///< of the ratio of two steps on the same GPUs, beyond what their spreads do not share
  StepSpread split, mixed;  ///< no cases: nobody measured
  std::vector<StepSpread> devices;  ///< those whose steps' intervals were too narrow
};

/// Schema accosim.constants/1. Throws ScenarioError with every mistake at its place.
Constants read_constants(JsonDocument document);

/// Where they are: calibration/constants.json below data_dir().
std::string constants_path();

/// Those of constants_path(), read once. Throws ScenarioError.
const Constants& constants();

}  // namespace accosim
