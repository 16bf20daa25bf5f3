// Products of matrices behind plain functions: they are most of what Eigen gives a compiler to do, and one file does it
// for all. In fp32 they are the library's; in fp64 the tests have their own.
#pragma once

#include <cstddef>

namespace accocal {

/// By columns, each `stride` elements behind the one before.
template <typename Real>
struct MatrixView {
  const Real* data;
  std::ptrdiff_t rows, columns, stride;
  bool transposed = false;  ///< what is meant is the transpose of that
};

/// scale a b is put `into` a matrix (by columns, each `stride` elements behind the one before) or, with `add`, added to
/// it. One of a and b may be transposed; `into` is no part of them.
void put_product(bool add, float scale, const MatrixView<float>& a, const MatrixView<float>& b, float* into,
                 std::ptrdiff_t stride);
void put_product(bool add, double scale, const MatrixView<double>& a, const MatrixView<double>& b, double* into,
                 std::ptrdiff_t stride);

}  // namespace accocal
