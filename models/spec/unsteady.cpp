#include "models/spec/unsteady.hpp"

namespace accosim {

std::vector<double> SequenceLengths::weights() const { return mapped<double>(histogram, &Bar::weight); }

}  // namespace accosim
