// Predicts a published measurement: with the shipped constants, or with others in their place.
#pragma once

#include <vector>

#include "models/fit/published.hpp"
#include "sim/evidence/refit.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// In the unit of what was asked, with its 80 % interval.
struct Predicted {
  double value = 0, low = 0, high = 0;
};

/// Whether bytes are asked for.
bool is_memory(Asked asked);

/// `one` can be expressed.
Predicted predict(const PublishedCase& one, const Refit& refit, NetworkKind network);

/// Of each case, which can all be expressed. Those that play go to children, one each at a time; the others cost
/// microseconds.
std::vector<Predicted> predict_all(const std::vector<const PublishedCase*>& cases, const Refit& refit, int jobs,
                                   NetworkKind network);

}  // namespace accosim
