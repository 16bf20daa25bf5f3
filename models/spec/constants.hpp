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

struct Constants {
  std::vector<IntraLink> intra;  ///< of a kind and a generation each, bandwidth 0; those of a kind stand together
  std::vector<Nics> nics;        ///< a kind each, its bandwidth 0; the first is that of a file that names none
  Overheads overheads;
};

/// Schema accosim.constants/1. Throws ScenarioError with every mistake at its place.
Constants read_constants(JsonDocument document);

/// Where they are: calibration/constants.json below data_dir().
std::string constants_path();

/// Those of constants_path(), read once. Throws ScenarioError.
const Constants& constants();

}  // namespace accosim
