// Fits how much longer kernels take in a training step than alone (Overheads) to published steps.
#pragma once

#include <string>
#include <vector>

#include "models/fit/fit_kernels.hpp"
#include "models/fit/published.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// The same run as if kernels took in a step what they take alone.
Scenario without_overheads(Scenario scenario);

/// What the model gives a step without any overhead; seconds of one update on the first GPU.
struct StepParts {
  double products = 0;   ///< GEMMs on tensor cores
  double memory = 0;     ///< memory-bound kernels
  double attention = 0;  ///< fused attention
  double others = 0;     ///< GEMMs in fp32, and time in which launches by the host take longer than the kernels
  double rest = 0;       ///< optimizer, exposed communication
};

/// A published step, split into these.
struct StepSample : StepParts {
  std::string publisher;
  std::string device;         ///< as LeftOut has it
  double flops_per_watt = 0;  ///< of its devices: flops_per_watt()
  Implementation implementation = Implementation::kEager;
  bool flash_1 = false;
  double measured = 0;
};
/// Whether the fit may see the case: scored, the time of a step or of a micro-batch, and not priced by what was
/// measured on its own machine.
bool is_step_sample(const PublishedCase& one);
/// Of the scored cases that measure the time of a step or of a micro-batch. Plays each once, in children.
std::vector<StepSample> step_samples(const Published& published, int jobs, NetworkKind network);

struct StepFit {
  Overheads overheads;
  FitErrors errors;   ///< with these constants
  FitErrors without;  ///< with all of them 1
};
/// Robust least squares on the logs of sums: overheads x parts + rest. Exposed communication is taken to stay as it is:
/// a step that hides communication grows by as much as its computation. Four constants, each held to a prior with
/// spread 0.5 in logs around 1, the slope of product_overhead() around 0.2.
StepFit fit_steps(const std::vector<StepSample>& samples);

}  // namespace accosim
