// Fits what a training step takes beyond its kernels alone (Overheads, Device::product_overhead) to published steps.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/fit/fit_kernels.hpp"
#include "models/fit/published.hpp"
#include "models/spec/spec.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// The same run as if kernels took in a step what they take alone.
Scenario without_overheads(Scenario scenario);

/// A published step, taken apart as the model has it without any overhead, s of one update on the first GPU.
struct StepSample {
  std::string publisher;
  std::string device;  ///< as LeftOut has it
  std::string architecture;
  Implementation implementation = Implementation::kEager;
  bool flash_1 = false;
  double products = 0;   ///< on tensor cores
  double memory = 0;     ///< memory-bound kernels
  double attention = 0;  ///< fused
  double others = 0;     ///< products in fp32, and what the host's launches take beyond the kernels
  double rest = 0;       ///< optimizer, exposed communication
  double measured = 0;
};
/// Of the scored cases that measure the time of a step or of a micro-batch. Plays each once, in children.
std::vector<StepSample> step_samples(const Published& published, int jobs, NetworkKind network);

struct StepFit {
  Overheads overheads;
  std::map<std::string, double> products;  ///< product_overhead by architecture; volta and unknown ones have 1
  FitErrors errors;                        ///< with these constants
  FitErrors without;                       ///< with all of them 1
};
/// Robust least squares on the logs of sums: overheads x parts + rest. A step that communication hides in part is taken
/// to grow as its computation does. Five constants; each held to a prior, of spread 0.5 in logs around 1.
StepFit fit_steps(const std::vector<StepSample>& samples);

}  // namespace accosim
