#include "calibration/train/matrix_products.hpp"

#include <Eigen/Core>
#include <stdexcept>

namespace accocal {
namespace {

using Matrix = Eigen::MatrixXf;
using Stride = Eigen::OuterStride<>;

Eigen::Map<const Matrix, 0, Stride> map(const MatrixView<float>& m) {
  return {m.data, m.rows, m.columns, Stride(m.stride)};
}

}  // namespace

void put_product(bool add, float scale, const MatrixView<float>& a, const MatrixView<float>& b, float* into,
                 std::ptrdiff_t stride) {
  if (a.transposed && b.transposed) throw std::logic_error("a product of two transposes");
  Eigen::Map<Matrix, 0, Stride> result(into, a.transposed ? a.columns : a.rows, b.transposed ? b.rows : b.columns,
                                       Stride(stride));
  const auto put = [&](const auto& product) {
    if (add) {
      result.noalias() += product;
    } else {
      result.noalias() = product;
    }
  };
  if (a.transposed) {
    put(scale * (map(a).transpose() * map(b)));
  } else if (b.transposed) {
    put(scale * (map(a) * map(b).transpose()));
  } else {
    put(scale * (map(a) * map(b)));
  }
}

}  // namespace accocal
