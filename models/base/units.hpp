// Physical quantities as types, so that bytes plus seconds does not compile. A quantity is one double in SI units and a
// dimension (exponents of time, data and floating-point operations) that exists at compile time only.
#pragma once

#include <compare>

namespace accosim {

template <int Time, int Data, int Work>
struct Quantity {
  double value = 0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
};

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;  ///< floating-point operations, a multiply-add counting as 2
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;

template <int T, int D, int W>
constexpr Quantity<T, D, W> operator+(Quantity<T, D, W> a, Quantity<T, D, W> b) {
  return {a.value + b.value};
}
template <int T, int D, int W>
constexpr Quantity<T, D, W> operator-(Quantity<T, D, W> a, Quantity<T, D, W> b) {
  return {a.value - b.value};
}
template <int T, int D, int W>
constexpr Quantity<T, D, W> operator*(double a, Quantity<T, D, W> b) {
  return {a * b.value};
}
template <int T, int D, int W>
constexpr Quantity<T, D, W> operator*(Quantity<T, D, W> a, double b) {
  return {a.value * b};
}
template <int T, int D, int W>
constexpr Quantity<T, D, W> operator/(Quantity<T, D, W> a, double b) {
  return {a.value / b};
}
template <int T1, int D1, int W1, int T2, int D2, int W2>
constexpr Quantity<T1 + T2, D1 + D2, W1 + W2> operator*(Quantity<T1, D1, W1> a, Quantity<T2, D2, W2> b) {
  return {a.value * b.value};
}
template <int T1, int D1, int W1, int T2, int D2, int W2>
constexpr Quantity<T1 - T2, D1 - D2, W1 - W2> operator/(Quantity<T1, D1, W1> a, Quantity<T2, D2, W2> b) {
  return {a.value / b.value};
}
/// The ratio of two quantities of one dimension is a plain number.
template <int T, int D, int W>
constexpr double operator/(Quantity<T, D, W> a, Quantity<T, D, W> b) {
  return a.value / b.value;
}

}  // namespace accosim
