// Stretches of time in lists: merged, clipped, and what two lists have in common.
#pragma once

#include <utility>
#include <vector>

namespace accosim {

using Stretch = std::pair<double, double>;  ///< begin and end, in seconds
using Stretches = std::vector<Stretch>;

/// In order, those that touch made one, clipped to [from, to].
Stretches merged(Stretches stretches, double from, double to);

double length(const Stretches& stretches);

/// Length of what is in both; each list merged.
double common(const Stretches& a, const Stretches& b);

}  // namespace accosim
