// The kernels that go by elements (sums, casts, optimizers), random numbers, and the loads that hold a device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/device/kernel_cases.hpp"

namespace accocal {
namespace {

TYPED_TEST(Kernels, Add) {
  using Real = TypeParam;
  for (const auto& [count, shift] : kCounts) {
    Values a, b, bound;
    const auto to = this->random(count, -1, 1, shift, a);
    const auto from = this->random(count, -1, 1, 0, b);
    add<Real>(to.data(), from.data(), count, this->stream_);
    for (std::size_t i = 0; i < count; ++i) {
      a[i] += b[i];
      bound.push_back(kUnit * std::abs(a[i]));
    }
    expect_near<Real>("sum", to.values(), a, bound);
  }
}

TYPED_TEST(Kernels, Cast) {
  using Real = TypeParam;
  for (const auto& [count, shift] : kCounts) {
    Values from = random_values<float>(count, -1e3, 1e3, this->random_);
    if (count > 4) {
      from[1] = std::numeric_limits<double>::infinity();
      from[2] = -0.0;
      from[3] = 1 + 0x1p-8;  // a tie: to even, 1
      from[4] = 3e38;        // within bf16
    }
    const OnDevice<float> in(from, shift, this->stream_);
    const OnDevice<Real> out(count, shift, this->stream_);
    const OnDevice<float> back(count, 0, this->stream_);
    cast<Real, float>(out.data(), in.data(), count, this->stream_);
    cast<float, Real>(back.data(), out.data(), count, this->stream_);
    std::vector<Real> want;
    std::vector<float> again;
    for (const double value : from) {
      want.push_back(real_of<Real>(value));
      again.push_back(static_cast<float>(double_of(want.back())));
    }
    expect_same(out.bits(), want);
    expect_same(back.bits(), again);
  }
}

TYPED_TEST(Kernels, AdamW) {
  using Real = TypeParam;
  const DeviceAdamW options{1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 1 - 0.9f * 0.9f, 1 - 0.95f * 0.95f};
  const double beta1 = static_cast<double>(options.beta1), beta2 = static_cast<double>(options.beta2);
  const double rate = static_cast<double>(options.learning_rate);
  const double bias1 = static_cast<double>(options.correction1), bias2 = static_cast<double>(options.correction2);
  for (const auto& [count, shift] : kCounts) {
    Values g, w, m, v;
    const auto gradient = this->random(count, -3, 3, shift, g);
    w = random_values<float>(count, -1, 1, this->random_);
    m = random_values<float>(count, -1, 1, this->random_);
    v = random_values<float>(count, 0, 2, this->random_);
    const OnDevice<float> master(w, 0, this->stream_), first(m, 0, this->stream_), second(v, 0, this->stream_);
    const OnDevice<Real> parameters(count, shift, this->stream_);
    const OnDevice<std::int64_t> total(Values{3}, 0, this->stream_);
    adamw<Real>(master.data(), first.data(), second.data(), parameters.data(), gradient.data(), total.data(), options,
                count, this->stream_);
    Values w_bound, m_bound, v_bound;
    for (std::size_t i = 0; i < count; ++i) {
      const double mean = g[i] / 3;
      const double size = beta1 * std::abs(m[i]) + (1 - beta1) * std::abs(mean);
      m[i] = beta1 * m[i] + (1 - beta1) * mean;
      v[i] = beta2 * v[i] + (1 - beta2) * mean * mean;
      m_bound.push_back(6 * kUnit * size);
      v_bound.push_back(8 * kUnit * v[i]);
      const double divisor = std::sqrt(v[i] / bias2) + static_cast<double>(options.epsilon);
      w_bound.push_back(kUnit * (4 * std::abs(w[i]) + 20 * rate / bias1 * size / divisor));
      w[i] = (1 - rate * static_cast<double>(options.weight_decay)) * w[i] - rate / bias1 * m[i] / divisor;
    }
    expect_near<float>("master", master.values(), w, w_bound);
    expect_near<float>("m", first.values(), m, m_bound);
    expect_near<float>("v", second.values(), v, v_bound);
    expect_same(parameters.bits(),
                mapped<Real>(master.values(), [](const double value) { return real_of<Real>(value); }));
  }
}

TYPED_TEST(Kernels, Sgd) {
  using Real = TypeParam;
  for (const auto& [count, shift] : kCounts) {
    Values g, w = random_values<float>(count, -1, 1, this->random_), bound;
    const auto gradient = this->random(count, -3, 3, shift, g);
    const OnDevice<float> master(w, 0, this->stream_);
    const OnDevice<Real> parameters(count, shift, this->stream_);
    const OnDevice<std::int64_t> total(Values{7}, 0, this->stream_);
    sgd<Real>(master.data(), parameters.data(), gradient.data(), total.data(), 0.5f, count, this->stream_);
    for (std::size_t i = 0; i < count; ++i) {
      bound.push_back(kUnit * (std::abs(w[i]) + 5 * std::abs(g[i]) / 14));
      w[i] -= 0.5 * g[i] / 7;
    }
    expect_near<float>("master", master.values(), w, bound);
    std::vector<Real> copied;
    for (const double value : master.values()) copied.push_back(real_of<Real>(value));
    expect_same(parameters.bits(), copied);
  }
}

TYPED_TEST(Kernels, RandomNumbersAreSpreadAndDifferBySeed) {
  using Real = TypeParam;
  constexpr std::size_t kCount = 20001;
  const OnDevice<Real> a(kCount, 1, this->stream_), b(kCount, 0, this->stream_), c(kCount, 0, this->stream_);
  fill_random<Real>(a.data(), kCount, 2, 1, this->stream_);
  fill_random<Real>(b.data(), kCount, 2, 1, this->stream_);
  fill_random<Real>(c.data(), kCount, 2, 2, this->stream_);
  expect_same(a.bits(), b.bits());
  const Values one = b.values(), other = c.values();
  // Means of 20001 numbers of deviation 2, and of their squares (deviation of a square: at most sqrt(2) 4), within 5
  // standard errors; products of independent ones likewise.
  double mean = 0, square = 0, product = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    mean += one[i] / kCount;
    square += one[i] * one[i] / kCount;
    product += one[i] * other[i] / kCount;
  }
  const double root = std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(mean, 0, 5 * 2 / root);
  EXPECT_NEAR(square, 4, 5 * std::sqrt(2) * 4 / root);
  EXPECT_NEAR(product, 0, 5 * 4 / root);
}

// Sums in one order, whatever the order in which threads and blocks run.
TYPED_TEST(Kernels, EqualInputsGiveEqualBits) {
  using Real = TypeParam;
  const TokenShape s{3, 37, 100, 5};
  const auto width = static_cast<std::size_t>(s.width), tokens = static_cast<std::size_t>(s.tokens());
  const Values x = random_values<Real>(size_of(s), -2, 3, this->random_);
  const Values dy = random_values<Real>(size_of(s), -1, 1, this->random_);
  const Values gain = random_values<Real>(width, -1, 1, this->random_);
  const OnDevice<std::int32_t> text(random_text(s, s.width, this->random_), 0, this->stream_);
  std::vector<std::vector<Real>> results;
  std::vector<std::vector<float>> losses;
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    set_interleaving(seed);
    const OnDevice<Real> in(x, 0, this->stream_), d(dy, 0, this->stream_), gains(gain, 0, this->stream_);
    const OnDevice<Real> out(size_of(s), 0, this->stream_), dx(x, 0, this->stream_);
    const OnDevice<Real> dgain(gain, 0, this->stream_), dbias(gain, 0, this->stream_), bias(gain, 0, this->stream_);
    const OnDevice<float> mean(tokens, 0, this->stream_), scale(tokens, 0, this->stream_);
    const OnDevice<float> workspace(norm_workspace(s) + bias_workspace(s.width, s.tokens()), 0, this->stream_);
    const OnDevice<float> loss(Values{0}, 0, this->stream_);
    norm_forward<Real>(out.data(), mean.data(), scale.data(), in.data(), gains.data(), gains.data(), s, this->stream_);
    norm_backward<Real>(dx.data(), dgain.data(), dbias.data(), d.data(), in.data(), mean.data(), scale.data(),
                        gains.data(), workspace.data(), s, this->stream_);
    bias_backward<Real>(bias.data(), d.data(), s.width, s.tokens(), workspace.data(), this->stream_);
    cross_entropy<Real>(d.data(), loss.data(), text.data(), s.width, s.width, workspace.data(), s, this->stream_);
    for (const auto* each : {&out, &dx, &dgain, &dbias, &bias, &d}) results.push_back(each->bits());
    losses.push_back(loss.bits());
  }
  for (std::size_t i = 6; i < results.size(); ++i) expect_same(results[i], results[i % 6]);
  for (const auto& loss : losses) expect_same(loss, losses[0]);
}

TEST(Loads, MemoryIsCopiedAgainAndAgainUntilTheLimitAndNotAfterTheStop) {
  use_device(0);
  Stream stream;
  Random random(1);
  const Values values = random_values<float>(300000, -1, 1, random);  // 1.2 MB, a multiple of 16 bytes
  constexpr std::size_t kBytes = 1200000;
  const OnDevice<float> from(values, 0, stream), to(values.size(), 0, stream);
  const OnDevice<std::int64_t> moved(Values{5}, 0, stream);
  const PinnedMemory stop(sizeof(std::int32_t));
  auto* counter = reinterpret_cast<std::uint64_t*>(moved.data());
  for (const int blocks : {1, 3}) {
    // The played device looks at its clock twenty times a second, and between two looks a block copies 512 KB at most:
    // alone it comes round more than five times.
    const double before = moved.values()[0];
    *stop.as<std::int32_t>() = 1;
    stream_memory(to.data(), from.data(), kBytes, blocks, stop.as<std::int32_t>(), Seconds{1}, counter, stream);
    hold_multiprocessors(2, stop.as<std::int32_t>(), Seconds{1}, stream);
    stream.synchronise();
    EXPECT_EQ(moved.values()[0], before);
    *stop.as<std::int32_t>() = 0;
    stream_memory(to.data(), from.data(), kBytes, blocks, stop.as<std::int32_t>(), Seconds{1}, counter, stream);
    hold_multiprocessors(2, stop.as<std::int32_t>(), Seconds{0.1}, stream);
    stream.synchronise();
    expect_same(to.bits(), from.bits());
    EXPECT_GE(moved.values()[0], before + 5 * kBytes);
    EXPECT_EQ(std::fmod(moved.values()[0] - before, 16), 0);
  }
}

TEST(Loads, AnEmptyKernelIsOne) {
  use_device(0);
  Stream stream;
  Event begin(true), end(true);
  stream.record(begin);
  nothing(stream);
  stream.record(end);
  stream.synchronise();
  EXPECT_GT(elapsed(begin, end).value, 0);
}

}  // namespace
}  // namespace accocal
