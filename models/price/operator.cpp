#include "models/price/operator.hpp"

namespace accosim {

double attended_pairs(int sequence_length, int window) {
  const double s = sequence_length;
  const double w = window > 0 && window < sequence_length ? window : s;
  return w * s - w * w / 2;
}

}  // namespace accosim
