// Predicts a published measurement: with the shipped constants, or with others in their place.
#pragma once

#include <vector>

#include "sim/evidence/refit.hpp"
#include "sim/evidence/scores.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// Whether bytes are asked for.
bool is_memory(Asked asked);

/// `one` can be expressed.
ValidationPrediction predict(const PublishedCase& one, const Refit& refit, NetworkKind network);

/// Of each case; nothing of those that cannot be expressed. Those that play go to children, one each at a time; the
/// others cost microseconds.
std::vector<ValidationPrediction> predict_all(const std::vector<const PublishedCase*>& cases, const Refit& refit,
                                              int jobs, NetworkKind network);

}  // namespace accosim
