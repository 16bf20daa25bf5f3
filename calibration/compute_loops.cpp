// The optimizer's step stands here as its arithmetic.
#include "calibration/compute_loops.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>

namespace accosim {
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
  using Matrix = Eigen::Map<Eigen::MatrixXf>;
  const Matrix a(a_.data(), kSide, kSide);
  const Matrix b(b_.data(), kSide, kSide);
  Matrix c(c_.data(), kSide, kSide);
  for (int i = 0; i < kProducts; ++i) c.noalias() = a * b;
}

OptimizerLoop::OptimizerLoop(std::int64_t elements)
    : gradient_(ramp(elements)), master_(elements), m_(elements), v_(elements) {}

void OptimizerLoop::run() {
  ++step_;
  const float rate = 1e-3F;
  const auto unbiased = [this](double beta) {
    return static_cast<float>(1 / (1 - std::pow(beta, static_cast<double>(step_))));
  };
  const float of_m = unbiased(0.9);
  const float of_v = unbiased(0.95);
  for (std::size_t i = 0; i < master_.size(); ++i) {
    const float g = gradient_[i];
    m_[i] = 0.9F * m_[i] + 0.1F * g;
    v_[i] = 0.95F * v_[i] + 0.05F * g * g;
    master_[i] -= rate * (of_m * m_[i] / (std::sqrt(of_v * v_[i]) + 1e-8F) + 0.1F * master_[i]);
  }
}

CopyLoop::CopyLoop(std::int64_t elements) : from_(ramp(elements)), to_(elements) {}

void CopyLoop::run() { std::copy(from_.begin(), from_.end(), to_.begin()); }

}  // namespace accosim
