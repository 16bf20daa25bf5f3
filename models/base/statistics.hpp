// Statistics of samples that scatter.
#pragma once

#include <vector>

namespace accosim {

/// The middle one, or the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);

}  // namespace accosim
