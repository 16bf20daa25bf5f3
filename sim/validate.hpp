// Holds predictions against what others measured.
#pragma once

#include <string>

#include "models/published.hpp"
#include "sim/network.hpp"
#include "sim/validation.hpp"

namespace accosim {

/// Samples that the fits may not see. Empty: all may be seen.
struct LeftOut {
  std::string source;  ///< PublishedSource::key
  std::string device;
};

/// The fits behind the prices, as functions of the samples that they may see; a null one is not there. Each gives the
/// device or the links with the fitted constants replaced.
struct Fits {
  Device (*device)(const Device& device, const LeftOut& left_out) = nullptr;
  NodeGroup (*links)(const NodeGroup& nodes, const LeftOut& left_out) = nullptr;
};
Fits shipped_fits();

struct ValidateOptions {
  std::string group;  ///< only groups whose name contains it; empty: all
  std::string id;     ///< only cases whose id contains it
  int jobs = 1;
  NetworkKind network = NetworkKind::kSimgrid;
};

/// Predicts the cases that can be expressed, and scores them. Bounds are not checked.
Validation validate(const Published& published, const ValidateOptions& options);

/// Fills `left_out` in: each source (or device) in turn is left out of all fits, and its cases are predicted again.
void leave_out_each(Validation& validation, const Published& published, const ValidateOptions& options, bool by_device);

/// "accosim.bounds/1". Throws ScenarioError.
std::vector<ValidationBound> load_bounds(const std::string& path);

}  // namespace accosim
