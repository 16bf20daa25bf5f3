// What a person reads of a fit: how far off it is with all samples in, with each left out, and by source.
#pragma once

#include <iosfwd>
#include <vector>

#include "models/fit/fit_collectives.hpp"
#include "models/fit/fit_gpu.hpp"
#include "models/fit/fit_kernels.hpp"
#include "models/fit/fit_own_fabric.hpp"
#include "models/fit/machine_samples.hpp"
#include "models/fit/network_doubt.hpp"
#include "models/fit/write_constants.hpp"
#include "reports/document.hpp"
#include "sim/evidence/fit_own_steps.hpp"
#include "sim/evidence/fit_steps.hpp"

namespace accosim {

void write_fits(std::ostream& out, const std::vector<KernelFit>& fits);

/// What the model predicts of measured collectives, a line each, and how far off it is.
void write_predictions(std::ostream& out, const std::vector<MeasuredCollective>& samples);

/// The constants of each kind of links, as a cluster's keys, with what they leave over.
void write_fits(std::ostream& out, const std::vector<LinkFit>& fits);

/// What speaks against the links that were measured, and where to look.
void write_doubts(std::ostream& out, const std::vector<NetworkDoubt>& doubts);

/// The numbers of a user's own links with their intervals, what the samples leave open, and what collectives on more
/// nodes would take.
void write_own_fabrics(std::ostream& out, const std::vector<OwnFabric>& fabrics);

/// The constants of a machine, and each collective beside what they make of it.
void write_machine_fit(std::ostream& out, const MachineSamples& samples, const MachineFit& fit);

/// What was fitted to a GPU's samples and how far off it is, what the GPU achieved beside what it could, and slowdowns
/// beside what the model makes of them.
void write_gpu_fit(std::ostream& out, const GpuSamples& samples, const GpuFit& fit);

/// Overheads fitted to steps, and what intervals of steps lack.
void write_step_fit(std::ostream& out, const StepFit& fit);
void write_step_spreads(std::ostream& out, const std::vector<FittedSpread>& spreads);

/// What a user's own steps say of computation and of the host, and which part of each step's error these were.
Document own_steps_document(const OwnStepFit& fit);

}  // namespace accosim
