// Time to a loss instead of time per token: what an algorithm needs in samples, measured, times what a sample takes,
// predicted.
#pragma once

#include <vector>

#include "models/recorded/convergence_file.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Fills RunResult::to_loss of all results, which compare() made with the baseline `base` among them. Samples to the
/// loss = the algorithm's measured ratio x (1 + B / B_critical) / (1 + B_base / B_critical), B the tokens of an
/// update. `critical_batch` of the user's own training, 0: the file's. Warns where the batch, the algorithm's options
/// or the model are not those of the measurement: then it is an extrapolation. Of several sizes of the model that were
/// measured the nearest says it; nothing is interpolated between them.
void add_time_to_loss(std::vector<RunResult>& results, const RunResult& base, const Scenario& scenario,
                      const MeasuredConvergence& measured_sizes, double critical_batch);

}  // namespace accosim
