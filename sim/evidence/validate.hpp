// Holds predictions against what others measured.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "models/fit/fit_collectives.hpp"
#include "models/fit/published.hpp"
#include "sim/evidence/fit_steps.hpp"
#include "sim/evidence/scores.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// What the fits may not see. Empty: they see everything.
struct LeftOut {
  std::string publisher;
  std::string device;
};

/// Replaces constants by newly fitted ones: returns the device, or the node group with its links, changed so. An empty
/// function changes nothing.
struct Refit {
  std::function<Device(Device)> device;
  std::function<NodeGroup(NodeGroup)> links;
  std::optional<StepFit> steps;
};
/// Fits everything that is fitted to the published samples but those left out. `steps`: of all scored cases.
Refit refit(const Published& published, const std::vector<StepSample>& steps, const LeftOut& left_out);

/// The published collectives that the fits may use.
std::vector<MeasuredCollective> measured_collectives(const Published& published, const LeftOut& left_out = {});

struct ValidateOptions {
  std::string group;  ///< only groups whose name contains it; empty: all
  std::string id;     ///< only cases whose id contains it
  int jobs = 1;
  NetworkKind network = NetworkKind::kSimgrid;
};

/// Predicts the cases that can be expressed, and scores them. Bounds are not checked.
Validation validate(const Published& published, const ValidateOptions& options);

/// Fills `left_out` in: each publisher (or device) in turn is left out of all fits, and its cases are predicted again.
void leave_out_each(Validation& validation, const Published& published, const ValidateOptions& options, bool by_device);

/// Reads a file of schema accosim.bounds/1. Throws ScenarioError.
std::vector<ValidationBound> load_bounds(const std::string& path);

}  // namespace accosim
