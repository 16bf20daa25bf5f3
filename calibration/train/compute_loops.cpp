// Single-threaded, as a rank is.
#include "calibration/train/compute_loops.hpp"

#include <algorithm>
#include <cstddef>

#include "calibration/train/adamw.hpp"
#include "calibration/train/matrix_products.hpp"

namespace accocal {
namespace {

constexpr int kSide = 192;  // three matrices of 147 kB
constexpr int kProducts = 4;

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7) * 0.1F;
  return values;
}

}  // namespace

ProductLoop::ProductLoop() : a_(ramp(kSide * kSide)), b_(ramp(kSide * kSide)), c_(kSide * kSide) {}

void ProductLoop::run() {
  const MatrixView<float> a{a_.data(), kSide, kSide, kSide}, b{b_.data(), kSide, kSide, kSide};
  for (int i = 0; i < kProducts; ++i) put_product(false, 1, a, b, c_.data(), kSide);
}

OptimizerLoop::OptimizerLoop(std::int64_t elements)
    : gradient_(ramp(elements)), master_(elements), m_(elements), v_(elements) {}

void OptimizerLoop::run() { adamw_step({}, 1e-3, ++step_, 0.25, gradient_, master_, m_, v_); }

CopyLoop::CopyLoop(std::int64_t elements) : from_(ramp(elements)), to_(elements) {}

void CopyLoop::run() { std::copy(from_.begin(), from_.end(), to_.begin()); }

}  // namespace accocal
