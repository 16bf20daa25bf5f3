// GEMMs on a GPU, by cuBLASLt.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "calibration/base/hidden.hpp"
#include "calibration/device/device.hpp"
#include "models/spec/device.hpp"

namespace accocal {

/// What the operands are stored in and what the product is computed in: tf32 is fp32 rounded on the way into the
/// tensor cores, fp8 is E4M3 with a result in bf16.
using ProductType = accosim::Dtype;

/// C (m x n) = alpha op(A) op(B) [+ bias, one a row of C] [+ beta D], column by column as in BLAS; `batch` of them,
/// `stride` elements apart. op(A) is m x k: A itself, or its transpose where transpose_a. D may be C.
struct Product {
  int m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false;
  int lda = 0, ldb = 0, ldc = 0;                          ///< elements between columns as stored; 0: no gaps
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< 0: no gaps
  ProductType type = ProductType::kBf16;
  float alpha = 1, beta = 0;

  auto operator<=>(const Product&) const = default;
};

/// Which kernel was chosen, for a sample to say.
struct ProductChoice {
  std::string algorithm;  ///< its number, tile and stages
  double waves = 0;
};

/// Chooses a kernel for each different product once, by cuBLASLt's heuristics, and keeps it; the choice also depends on
/// the operands' alignment. Use it on one stream at a time, since all products of this object share a workspace. Sums
/// are in fp32, for fp8 in what its tensor cores have. Throws DeviceError where the device cannot do the product.
class Products {
 public:
  explicit Products(std::size_t workspace = std::size_t{32} << 20);

  /// `bias` and `d` may be null; beta is 0 where `d` is null.
  void multiply(const Product& product, void* c, const void* a, const void* b, const void* bias, const void* d,
                Stream& stream);
  /// Can this device do it at all, with operands aligned to 256 bytes?
  bool supported(const Product& product);
  /// The choice at its last multiply(); before the first, that for aligned operands without bias.
  ProductChoice choice(const Product& product);
  std::int64_t memory() const;  ///< bytes on the device

 private:
  struct State;
  Hidden<State> state_;
};

}  // namespace accocal
