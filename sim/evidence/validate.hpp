// Holds predictions against what others measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/fit/published.hpp"
#include "sim/evidence/scores.hpp"
#include "sim/network/network.hpp"

namespace accosim {

struct ValidateOptions {
  std::string group{};  ///< only groups whose name contains it; empty: all
  std::string id{};     ///< only cases whose id contains it
  int jobs = 1;         ///< processes at a time
  NetworkKind network = NetworkKind::kSimgrid;
  /// Also with each case's source left out of all fits. Fits again what that source was part of, for each of them:
  /// seconds, where the rest takes one.
  bool without_source = true;
};

/// Predicts the cases that can be expressed, and scores them. Bounds are not checked.
Validation validate(const Published& published, const ValidateOptions& options);

/// What is left out in turn: what one publisher measured, or on one device, or on one generation of GPUs.
enum class LeaveOut : std::uint8_t { kSource, kDevice, kGeneration };
template <>
inline constexpr const char* kNames<LeaveOut>[] = {"source", "device", "generation"};

/// Fills `left_out` in, from the rows that validate() made with the same options: each in turn is left out of all fits,
/// and its cases are predicted again. A generation's kernels then have the fits of its neighbour, as those of a GPU
/// have that inherits them (of_neighbour()); nothing else changes.
void leave_out_each(Validation& validation, const Published& published, const ValidateOptions& options, LeaveOut what);

/// Reads a file of schema accosim.bounds/1. Throws ScenarioError.
std::vector<ValidationBound> load_bounds(const std::string& path);

}  // namespace accosim
