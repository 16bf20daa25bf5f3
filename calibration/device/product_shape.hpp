// What every implementation of products.hpp begins with: the sizes that a product leaves out, and its name in messages.
#pragma once

#include <stdexcept>
#include <string>

#include "calibration/device/products.hpp"

namespace accocal {

/// A matrix as it lies in memory, before any transposition.
struct StoredMatrix {
  int rows = 0, columns = 0, leading = 0;
  std::int64_t stride = 0;  ///< elements from one of the batch to the next
};

struct ProductShape {
  StoredMatrix a, b, c;
};

/// "bf16 768 x 1024 x 3072 (12) A transposed, accumulated".
inline std::string describe(const Product& p) {
  std::string text = std::string(name_of(p.type)) + " " + std::to_string(p.m) + " x " + std::to_string(p.n) + " x " +
                     std::to_string(p.k);
  if (p.batch != 1) text += " (" + std::to_string(p.batch) + ")";
  if (p.transpose_a) text += " A transposed";
  if (p.transpose_b) text += " B transposed";
  if (p.lda != 0 || p.ldb != 0 || p.ldc != 0)
    text += " leading " + std::to_string(p.lda) + ", " + std::to_string(p.ldb) + ", " + std::to_string(p.ldc);
  if (p.beta != 0) text += ", accumulated";
  return text;
}

/// Throws std::invalid_argument where a size is less than 1 or the columns of a matrix overlap.
inline ProductShape shape_of(const Product& p) {
  if (p.m < 1 || p.n < 1 || p.k < 1 || p.batch < 1)
    throw std::invalid_argument("every size of a product is at least 1: " + describe(p));
  const auto stored = [&](int rows, int columns, int leading, std::int64_t stride) {
    StoredMatrix matrix{rows, columns, leading == 0 ? rows : leading, stride};
    if (matrix.leading < rows) throw std::invalid_argument("columns of a product overlap: " + describe(p));
    if (stride == 0) matrix.stride = std::int64_t{matrix.leading} * columns;
    return matrix;
  };
  return {p.transpose_a ? stored(p.k, p.m, p.lda, p.stride_a) : stored(p.m, p.k, p.lda, p.stride_a),
          p.transpose_b ? stored(p.n, p.k, p.ldb, p.stride_b) : stored(p.k, p.n, p.ldb, p.stride_b),
          stored(p.m, p.n, p.ldc, p.stride_c)};
}

}  // namespace accocal
