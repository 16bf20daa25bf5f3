// GEMMs behind plain functions: compiling them is most of the work that Eigen gives a compiler, so it is done once, in
// one file. The library defines those in fp32; tests define their own in fp64.
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

/// Writes scale a b `into` a matrix stored by columns, `stride` elements apart, or with `add` adds it to what is there.
/// One of a and b may be transposed; `into` must not overlap them.
void put_product(bool add, float scale, const MatrixView<float>& a, const MatrixView<float>& b, float* into,
                 std::ptrdiff_t stride);
void put_product(bool add, double scale, const MatrixView<double>& a, const MatrixView<double>& b, double* into,
                 std::ptrdiff_t stride);

}  // namespace accocal
