// Holds predictions against what others measured.
#pragma once

#include <string>
#include <vector>

#include "models/fit/published.hpp"
#include "sim/evidence/scores.hpp"
#include "sim/network/network.hpp"

namespace accosim {

struct ValidateOptions {
  std::string group;  ///< only groups whose name contains it; empty: all
  std::string id;     ///< only cases whose id contains it
  int jobs = 1;       ///< processes at a time
  NetworkKind network = NetworkKind::kSimgrid;
  /// Also with each case's source left out of all fits. Fits again what that source was part of, for each of them:
  /// seconds, where the rest takes one.
  bool without_source = true;
};

/// Predicts the cases that can be expressed, and scores them. Bounds are not checked.
Validation validate(const Published& published, const ValidateOptions& options);

/// Fills `left_out` in, from the rows that validate() made with the same options: each publisher (or device) in turn is
/// left out of all fits, and its cases are predicted again.
void leave_out_each(Validation& validation, const Published& published, const ValidateOptions& options, bool by_device);

/// Reads a file of schema accosim.bounds/1. Throws ScenarioError.
std::vector<ValidationBound> load_bounds(const std::string& path);

}  // namespace accosim
