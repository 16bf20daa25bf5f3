#include "models/spec/unsteady.hpp"

namespace accosim {

const char* name_of(Padding padding) {
  switch (padding) {
    case Padding::kLongest: return "longest";
    case Padding::kSequenceLength: return "sequence_length";
    case Padding::kPacked: return "packed";
  }
  return "";
}

const char* name_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::kLognormal: return "lognormal";
    case Distribution::kNormal: return "normal";
    case Distribution::kExponential: return "exponential";
  }
  return "";
}

std::vector<double> SequenceLengths::weights() const {
  std::vector<double> weights;
  weights.reserve(histogram.size());
  for (const Bar& bar : histogram) weights.push_back(bar.weight);
  return weights;
}

}  // namespace accosim
