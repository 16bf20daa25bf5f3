// Numbers of every type that is stored, to and from double.
#pragma once

#include <type_traits>

#include "calibration/ranks/bf16.hpp"

namespace accocal {

/// Rounded to the type.
template <typename Real>
Real real_of(double value) {
  if constexpr (std::is_same_v<Real, Bf16>) {
    return to_bf16(static_cast<float>(value));
  } else {
    return static_cast<Real>(value);
  }
}
template <typename Real>
double double_of(Real value) {
  if constexpr (std::is_same_v<Real, Bf16>) {
    return static_cast<double>(to_float(value));
  } else {
    return static_cast<double>(value);
  }
}

}  // namespace accocal
