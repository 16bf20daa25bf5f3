#include "models/spec/unsteady.hpp"

namespace accosim {

std::vector<double> SequenceLengths::weights() const {
  std::vector<double> weights;
  weights.reserve(histogram.size());
  for (const Bar& bar : histogram) weights.push_back(bar.weight);
  return weights;
}

}  // namespace accosim
