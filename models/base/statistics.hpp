// Statistics of samples that scatter.
#pragma once

#include <vector>

namespace accosim {

/// The middle one, or the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);

/// The value that a share `p` of the values is at most, linear between the two around it; 0 of none.
double percentile(std::vector<double> values, double p);

}  // namespace accosim
