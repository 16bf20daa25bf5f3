// The GPT in fp64, which nothing but tests computes in: gradients against finite differences need the digits. Its
// products are written out, so that Eigen's are held against something else.
#include "calibration/train/gpt_passes.hpp"

namespace accocal {
namespace {

double element(const MatrixView<double>& m, std::ptrdiff_t row, std::ptrdiff_t column) {
  return m.transposed ? m.data[row * m.stride + column] : m.data[column * m.stride + row];
}

}  // namespace

void put_product(bool add, double scale, const MatrixView<double>& a, const MatrixView<double>& b, double* into,
                 std::ptrdiff_t stride) {
  const std::ptrdiff_t rows = a.transposed ? a.columns : a.rows;
  const std::ptrdiff_t columns = b.transposed ? b.rows : b.columns;
  const std::ptrdiff_t depth = a.transposed ? a.rows : a.columns;
  for (std::ptrdiff_t column = 0; column < columns; ++column) {
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::ptrdiff_t i = 0; i < depth; ++i) sum += element(a, row, i) * element(b, i, column);
      double& result = into[column * stride + row];
      result = (add ? result : 0) + scale * sum;
    }
  }
}

template class Gpt<double>;

}  // namespace accocal
