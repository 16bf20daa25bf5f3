// Kernels on a device against fp64 on the host: arrays, shapes, and how near a result has to be.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/device/kernels.hpp"
#include "tests/device/reals.hpp"
#include "tests/on_host/on_host.hpp"
#include "tests/support/random.hpp"

namespace accocal {

using Values = std::vector<double>;

constexpr double kUnit = 0x1p-24;

template <typename Real>
constexpr double kStorage = std::is_same_v<Real, Bf16> ? 0x1p-8 : kUnit;

/// Numbers on the device, `shift` elements behind an alignment, poisoned behind their end and, unless given, all over.
template <typename Real>
class OnDevice {
 public:
  OnDevice(std::size_t count, int shift, Stream& stream)
      : count_(count), shift_(static_cast<std::size_t>(shift)), stream_(&stream), memory_(bytes()) {
    const std::vector<unsigned char> poison(bytes(), kPoison);
    write(poison.data());
  }
  OnDevice(const Values& values, int shift, Stream& stream) : OnDevice(values.size(), shift, stream) {
    std::vector<Real> all = read();
    for (std::size_t i = 0; i < count_; ++i) all[shift_ + i] = real_of<Real>(values[i]);
    write(all.data());
  }

  Real* data() const { return memory_.as<Real>() + shift_; }

  std::vector<Real> bits() const {
    const std::vector<Real> all = read();
    const auto* bytes = reinterpret_cast<const unsigned char*>(all.data());
    for (std::size_t i = 0; i < all.size() * sizeof(Real); ++i) {
      const std::size_t element = i / sizeof(Real);
      if (element >= shift_ && element < shift_ + count_) continue;
      EXPECT_EQ(int{bytes[i]}, int{kPoison}) << "written outside, at " << element;
    }
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(shift_);
    return {begin, begin + static_cast<std::ptrdiff_t>(count_)};
  }
  Values values() const {
    return mapped<double>(bits(), [](const Real& value) { return double_of(value); });
  }

 private:
  static constexpr unsigned char kPoison = 0xff;
  static constexpr std::size_t kBehind = 16;

  std::size_t bytes() const { return (shift_ + count_ + kBehind) * sizeof(Real); }
  void write(const void* from) {
    stream_->copy_to_device(memory_.data(), from, bytes());
    stream_->synchronise();
  }
  std::vector<Real> read() const {
    std::vector<Real> all(shift_ + count_ + kBehind);
    stream_->copy_to_host(all.data(), memory_.data(), bytes());
    stream_->synchronise();
    return all;
  }

  std::size_t count_, shift_;
  Stream* stream_;
  DeviceMemory memory_;
};

// As Real keeps them.
template <typename Real>
inline Values random_values(std::size_t count, double low, double high, Random& random) {
  Values values(count);
  for (double& v : values) v = double_of(real_of<Real>(random.uniform(low, high)));
  return values;
}

// `bound` is of what comes before the result is stored.
template <typename Real>
void expect_near(const char* what, const Values& got, const Values& want, const Values& bound) {
  ASSERT_EQ(got.size(), want.size());
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double allowed = bound[i] + kStorage<Real> * (std::abs(want[i]) + bound[i]) + 1e-38;
    const double error = std::abs(got[i] - want[i]) / allowed;
    if (error > worst || std::isnan(error)) {
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
      at = i;
    }
  }
  EXPECT_LE(worst, 1) << what << ": " << got[at] << " for " << want[at] << " at " << at << " of " << got.size();
}

template <typename Real>
void expect_same(const std::vector<Real>& a, const std::vector<Real>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)), 0);
}

struct Case {
  TokenShape s;
  int shift = 0;
};
inline std::size_t size_of(const TokenShape& s) { return std::size_t{1} * s.tokens() * s.width; }
inline std::size_t matrix_size(const TokenShape& s) {
  return size_of({s.sequences, s.context, s.heads * s.context, 1});
}
inline std::size_t at(std::int64_t column, int rows, int row) { return static_cast<std::size_t>(column * rows + row); }

// Sequences, context, width, heads: widths with and without packs, an unaligned one, tokens enough for several parts.
inline const std::vector<Case> kCases = {{{1, 1, 1, 1}},        {{3, 37, 1, 1}},    {{50, 41, 7, 7}},
                                         {{3, 37, 64, 4}},      {{2, 24, 64, 2}},   {{3, 13, 100, 5}},
                                         {{2, 13, 768, 12}, 0}, {{2, 13, 64, 4}, 1}};

template <typename Real>
class Kernels : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_device(0); }

  OnDevice<Real> random(std::size_t count, double low, double high, int shift, Values& values) {
    values = random_values<Real>(count, low, high, random_);
    return OnDevice<Real>(values, shift, stream_);
  }

  Stream stream_;
  Random random_{1};
};

struct Names {
  template <typename Real>
  static std::string GetName(int) {  // NOLINT(readability-identifier-naming): GoogleTest's
    return std::is_same_v<Real, float> ? "Fp32" : "Bf16";
  }
};
using Reals = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(Kernels, Reals, Names);

inline std::vector<double> random_text(const TokenShape& s, int vocabulary, Random& random) {
  Values text(size_of({s.sequences, s.context + 1, 1, 1}));
  for (double& token : text) token = random.integer(0, vocabulary - 1);
  return text;
}
inline int token_of(const Values& text, const TokenShape& s, int t, int ahead = 0) {
  const int place = t / s.context * (s.context + 1) + t % s.context + ahead;
  return static_cast<int>(text[static_cast<std::size_t>(place)]);
}

// Counts with and without a rest, aligned and not.
inline const std::vector<std::pair<std::size_t, int>> kCounts = {{1, 0},    {7, 0},    {1000, 0},
                                                                 {4096, 0}, {4099, 0}, {1000, 3}};

}  // namespace accocal
