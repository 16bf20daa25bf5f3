// Every kernel against its formula in double, on sizes that divide by nothing, with outputs poisoned. Bounds are by
// rounding: u = 2^-24 for each operation in fp32, of the sum of the terms' sizes, a sum of n terms counting as n (what
// order it is made in does not matter then); the result in bf16 is rounded once more, by up to 2^-8 of itself.
#include "calibration/device/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/bf16.hpp"
#include "tests/on_host/on_host.hpp"
#include "tests/support/random.hpp"

namespace accocal {
namespace {

using Values = std::vector<double>;

constexpr double kUnit = 0x1p-24;

template <typename Real>
constexpr double kStorage = std::is_same_v<Real, Bf16> ? 0x1p-8 : kUnit;

template <typename Real>
Real real_of(double value) {
  if constexpr (std::is_same_v<Real, Bf16>) {
    return to_bf16(static_cast<float>(value));
  } else {
    return static_cast<Real>(value);
  }
}
template <typename Real>
double double_of(Real value) {
  if constexpr (std::is_same_v<Real, Bf16>) {
    return static_cast<double>(to_float(value));
  } else {
    return static_cast<double>(value);
  }
}

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
    Values values;
    for (const Real& value : bits()) values.push_back(double_of(value));
    return values;
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
Values random_values(std::size_t count, double low, double high, Random& random) {
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
std::size_t size_of(const TokenShape& s) { return std::size_t{1} * s.tokens() * s.width; }
std::size_t matrix_size(const TokenShape& s) { return size_of({s.sequences, s.context, s.heads * s.context, 1}); }
std::size_t at(std::int64_t column, int rows, int row) { return static_cast<std::size_t>(column * rows + row); }

// Sequences, context, width, heads: widths with and without packs, an unaligned one, tokens enough for several parts.
const std::vector<Case> kCases = {{{1, 1, 1, 1}},   {{3, 37, 1, 1}},   {{50, 41, 7, 7}},      {{3, 37, 64, 4}},
                                  {{2, 24, 64, 2}}, {{3, 13, 100, 5}}, {{2, 13, 768, 12}, 0}, {{2, 13, 64, 4}, 1}};

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

std::vector<double> random_text(const TokenShape& s, int vocabulary, Random& random) {
  Values text(size_of({s.sequences, s.context + 1, 1, 1}));
  for (double& token : text) token = random.integer(0, vocabulary - 1);
  return text;
}
int token_of(const Values& text, const TokenShape& s, int t, int ahead = 0) {
  const int place = t / s.context * (s.context + 1) + t % s.context + ahead;
  return static_cast<int>(text[static_cast<std::size_t>(place)]);
}

TYPED_TEST(Kernels, EmbedForward) {
  using Real = TypeParam;
  constexpr int kVocabulary = 11;
  for (const Case& sizes : kCases) {
    const TokenShape& s = sizes.s;
    const int shift = sizes.shift;
    Values token, position;
    const auto width = static_cast<std::size_t>(s.width);
    const Values text = random_text(s, kVocabulary, this->random_);
    const OnDevice<std::int32_t> words(text, 0, this->stream_);
    const auto tokens = this->random(kVocabulary * width, -1, 1, shift, token);
    const auto positions = this->random(static_cast<std::size_t>(s.context) * width, -1, 1, shift, position);
    const OnDevice<Real> x(size_of(s), shift, this->stream_);
    embed_forward<Real>(x.data(), words.data(), tokens.data(), positions.data(), s, this->stream_);
    Values want, bound;
    for (int t = 0; t < s.tokens(); ++t) {
      for (int f = 0; f < s.width; ++f) {
        want.push_back(token[at(token_of(text, s, t), s.width, f)] + position[at(t % s.context, s.width, f)]);
        bound.push_back(kUnit * std::abs(want.back()));
      }
    }
    expect_near<Real>("x", x.values(), want, bound);
  }
}

TYPED_TEST(Kernels, EmbedBackward) {
  using Real = TypeParam;
  constexpr int kVocabulary = 11;
  for (const Case& sizes : kCases) {
    const TokenShape& s = sizes.s;
    const int shift = sizes.shift;
    Values dx, dtoken, dposition;
    const auto width = static_cast<std::size_t>(s.width);
    const Values text = random_text(s, kVocabulary, this->random_);
    Values unique, first, columns;
    for (int word = 0; word < kVocabulary; ++word) {
      const std::size_t before = columns.size();
      for (int t = 0; t < s.tokens(); ++t) {
        if (token_of(text, s, t) == word) columns.push_back(t);
      }
      if (columns.size() == before) continue;
      unique.push_back(word);
      first.push_back(static_cast<double>(before));
    }
    first.push_back(static_cast<double>(columns.size()));
    const OnDevice<std::int32_t> u(unique, 0, this->stream_), f(first, 0, this->stream_), c(columns, 0, this->stream_);
    const auto d = this->random(size_of(s), -1, 1, shift, dx);
    const auto tokens = this->random(kVocabulary * width, -1, 1, shift, dtoken);
    const auto positions = this->random(static_cast<std::size_t>(s.context) * width, -1, 1, shift, dposition);
    embed_backward<Real>(tokens.data(), positions.data(), d.data(),
                         {u.data(), f.data(), c.data(), static_cast<int>(unique.size())}, s, this->stream_);
    Values token_bound(dtoken.size()), position_bound(dposition.size());
    for (std::size_t i = 0; i < dtoken.size(); ++i) token_bound[i] = std::abs(dtoken[i]);
    for (std::size_t i = 0; i < dposition.size(); ++i) position_bound[i] = std::abs(dposition[i]);
    for (int t = 0; t < s.tokens(); ++t) {
      for (int i = 0; i < s.width; ++i) {
        const double value = dx[at(t, s.width, i)];
        const std::size_t a = at(token_of(text, s, t), s.width, i), b = at(t % s.context, s.width, i);
        dtoken[a] += value;
        token_bound[a] += std::abs(value);
        dposition[b] += value;
        position_bound[b] += std::abs(value);
      }
    }
    for (double& bound : token_bound) bound *= (s.tokens() + 1) * kUnit;
    for (double& bound : position_bound) bound *= (s.sequences + 1) * kUnit;
    expect_near<Real>("dtoken", tokens.values(), dtoken, token_bound);
    expect_near<Real>("dposition", positions.values(), dposition, position_bound);
  }
}

// Of a token's column: mean, scale, and the mean size of its features.
struct NormOf {
  double mean = 0, scale = 0, size = 0;
};
NormOf norm_of(const Values& x, int width, int t) {
  NormOf norm;
  double square = 0;
  for (int f = 0; f < width; ++f) {
    norm.mean += x[at(t, width, f)] / width;
    norm.size += std::abs(x[at(t, width, f)]) / width;
  }
  for (int f = 0; f < width; ++f) square += std::pow(x[at(t, width, f)] - norm.mean, 2) / width;
  norm.scale = 1 / std::sqrt(square + 1e-5);
  return norm;
}
// The longest chain of additions of a warp over a column: a lane's, then the butterfly's.
double chain_of(int rows) { return rows / 32.0 + 16; }

TYPED_TEST(Kernels, NormForward) {
  using Real = TypeParam;
  for (const Case& sizes : kCases) {
    const TokenShape& s = sizes.s;
    const int shift = sizes.shift;
    Values x, gain, bias;
    const auto in = this->random(size_of(s), -2, 3, shift, x);
    const auto gains = this->random(static_cast<std::size_t>(s.width), 0.5, 2, shift, gain);
    const auto biases = this->random(static_cast<std::size_t>(s.width), -1, 1, shift, bias);
    const OnDevice<Real> out(size_of(s), shift, this->stream_);
    const OnDevice<float> mean(static_cast<std::size_t>(s.tokens()), 0, this->stream_);
    const OnDevice<float> scale(static_cast<std::size_t>(s.tokens()), 0, this->stream_);
    norm_forward<Real>(out.data(), mean.data(), scale.data(), in.data(), gains.data(), biases.data(), s, this->stream_);
    // The mean is wrong by a chain of the mean size at most, the sum of squares by a chain of itself (a wrong mean adds
    // its square only), its root by half of that; then a handful of operations.
    const double chain = (chain_of(s.width) + 8) * kUnit;
    Values want, bound, means, mean_bound, scales, scale_bound;
    for (int t = 0; t < s.tokens(); ++t) {
      const NormOf norm = norm_of(x, s.width, t);
      means.push_back(norm.mean);
      mean_bound.push_back(chain * norm.size);
      scales.push_back(norm.scale);
      scale_bound.push_back(chain * norm.scale);
      for (int f = 0; f < s.width; ++f) {
        const double normalised = (x[at(t, s.width, f)] - norm.mean) * norm.scale;
        const double g = gain[static_cast<std::size_t>(f)], b = bias[static_cast<std::size_t>(f)];
        want.push_back(g * normalised + b);
        bound.push_back(chain * (g * (norm.size * norm.scale + std::abs(normalised)) + std::abs(b)));
      }
    }
    expect_near<Real>("out", out.values(), want, bound);
    expect_near<float>("mean", mean.values(), means, mean_bound);
    expect_near<float>("scale", scale.values(), scales, scale_bound);
  }
}

TYPED_TEST(Kernels, NormBackward) {
  using Real = TypeParam;
  for (const Case& sizes : kCases) {
    const TokenShape& s = sizes.s;
    const int shift = sizes.shift;
    Values x, dy, dx, gain, dgain, dbias;
    const auto width = static_cast<std::size_t>(s.width), tokens = static_cast<std::size_t>(s.tokens());
    const auto in = this->random(size_of(s), -2, 3, shift, x);
    const auto d = this->random(size_of(s), -1, 1, shift, dy);
    const auto into = this->random(size_of(s), -1, 1, shift, dx);
    const auto gains = this->random(width, 0.5, 2, shift, gain);
    const auto gain_sums = this->random(width, -1, 1, shift, dgain);
    const auto bias_sums = this->random(width, -1, 1, shift, dbias);
    Values means(tokens), scales(tokens);
    for (int t = 0; t < s.tokens(); ++t) {
      const NormOf norm = norm_of(x, s.width, t);
      means[static_cast<std::size_t>(t)] = static_cast<double>(static_cast<float>(norm.mean));
      scales[static_cast<std::size_t>(t)] = static_cast<double>(static_cast<float>(norm.scale));
    }
    const OnDevice<float> mean(means, 0, this->stream_), scale(scales, 0, this->stream_);
    const OnDevice<float> workspace(norm_workspace(s), 0, this->stream_);
    norm_backward<Real>(into.data(), gain_sums.data(), bias_sums.data(), d.data(), in.data(), mean.data(), scale.data(),
                        gains.data(), workspace.data(), s, this->stream_);
    const double chain = (chain_of(s.width) + 12) * kUnit;
    Values bound(dx.size()), gain_bound(width), bias_bound(width);
    for (std::size_t f = 0; f < width; ++f) {
      gain_bound[f] = std::abs(dgain[f]);
      bias_bound[f] = std::abs(dbias[f]);
    }
    for (int t = 0; t < s.tokens(); ++t) {
      const double scale_here = scales[static_cast<std::size_t>(t)];
      const auto normalised = [&](int f) {
        return (x[at(t, s.width, f)] - means[static_cast<std::size_t>(t)]) * scale_here;
      };
      double sum = 0, along = 0, size = 0, along_size = 0;
      for (int f = 0; f < s.width; ++f) {
        const double g = dy[at(t, s.width, f)] * gain[static_cast<std::size_t>(f)] / s.width;
        sum += g;
        size += std::abs(g);
        along += g * normalised(f);
        along_size += std::abs(g * normalised(f));
      }
      for (int f = 0; f < s.width; ++f) {
        const std::size_t i = at(t, s.width, f), column = static_cast<std::size_t>(f);
        const double n = normalised(f), g = dy[i] * gain[column];
        bound[i] = chain * (std::abs(dx[i]) + scale_here * (std::abs(g) + size + std::abs(n) * along_size));
        dx[i] += (g - sum - n * along) * scale_here;
        dgain[column] += dy[i] * n;
        gain_bound[column] += std::abs(dy[i] * n);
        dbias[column] += dy[i];
        bias_bound[column] += std::abs(dy[i]);
      }
    }
    for (double& b : gain_bound) b *= (s.tokens() + 4) * kUnit;
    for (double& b : bias_bound) b *= (s.tokens() + 1) * kUnit;
    expect_near<Real>("dx", into.values(), dx, bound);
    expect_near<Real>("dgain", gain_sums.values(), dgain, gain_bound);
    expect_near<Real>("dbias", bias_sums.values(), dbias, bias_bound);
  }
}

TYPED_TEST(Kernels, BiasBackward) {
  using Real = TypeParam;
  for (const Case& sizes : kCases) {
    const TokenShape& s = sizes.s;
    const int shift = sizes.shift;
    Values dy, dbias;
    const auto d = this->random(size_of(s), -1, 1, shift, dy);
    const auto sums = this->random(static_cast<std::size_t>(s.width), -1, 1, shift, dbias);
    const OnDevice<float> workspace(bias_workspace(s.width, s.tokens()), 0, this->stream_);
    bias_backward<Real>(sums.data(), d.data(), s.width, s.tokens(), workspace.data(), this->stream_);
    Values bound;
    for (int f = 0; f < s.width; ++f) {
      double& sum = dbias[static_cast<std::size_t>(f)];
      double size = std::abs(sum);
      for (int t = 0; t < s.tokens(); ++t) {
        sum += dy[at(t, s.width, f)];
        size += std::abs(dy[at(t, s.width, f)]);
      }
      bound.push_back((s.tokens() + 1) * kUnit * size);
    }
    expect_near<Real>("dbias", sums.values(), dbias, bound);
  }
}

// Counts with and without a rest, aligned and not.
const std::vector<std::pair<std::size_t, int>> kCounts = {{1, 0}, {7, 0}, {1000, 0}, {4096, 0}, {4099, 0}, {1000, 3}};

constexpr double kGeluScale = 0.7978845608028654, kGeluCube = 0.044715;

TYPED_TEST(Kernels, Gelu) {
  using Real = TypeParam;
  for (const auto& [count, shift] : kCounts) {
    Values x, d;
    const auto in = this->random(count, -6, 6, shift, x);
    const auto back = this->random(count, -1, 1, shift, d);
    const OnDevice<Real> out(count, shift, this->stream_);
    gelu_forward<Real>(out.data(), in.data(), count, this->stream_);
    gelu_backward<Real>(back.data(), in.data(), count, this->stream_);
    // tanh is wrong by 8 u: 2 ulp of its own, of a value below 1, and an argument y wrong by 4 u y, of which tanh keeps
    // y / cosh(y)^2 < 0.45.
    Values want, bound, gradient, gradient_bound;
    for (std::size_t i = 0; i < count; ++i) {
      const double v = x[i], gate = std::tanh(kGeluScale * v * (1 + kGeluCube * v * v));
      const double slope = std::abs(v) * (1 + 3 * kGeluCube * v * v);
      want.push_back(0.5 * v * (1 + gate));
      bound.push_back(8 * kUnit * std::abs(v));
      gradient.push_back(d[i] *
                         (0.5 * (1 + gate) + 0.5 * kGeluScale * v * (1 - gate * gate) * (1 + 3 * kGeluCube * v * v)));
      gradient_bound.push_back(kUnit * std::abs(d[i]) * (10 + 12 * slope));
    }
    expect_near<Real>("gelu", out.values(), want, bound);
    expect_near<Real>("its gradient", back.values(), gradient, gradient_bound);
  }
}

TYPED_TEST(Kernels, SplitAndMergeHeads) {
  using Real = TypeParam;
  for (const Case& sizes : kCases) {
    const TokenShape& s = sizes.s;
    const int shift = sizes.shift;
    for (const int parts : {1, 3}) {
      Values x;
      const auto in = this->random(size_of(s) * static_cast<std::size_t>(parts), -1, 1, shift, x);
      const OnDevice<Real> split(x.size(), shift, this->stream_), merged(x.size(), shift, this->stream_);
      split_heads<Real>(split.data(), in.data(), parts, s, this->stream_);
      merge_heads<Real>(merged.data(), split.data(), parts, s, this->stream_);
      // In the order of the result: part, sequence, head, token, feature of the head.
      Values want;
      for (int part = 0; part < parts; ++part) {
        for (int sequence = 0; sequence < s.sequences; ++sequence) {
          for (int head = 0; head < s.heads; ++head) {
            for (int place = 0; place < s.context; ++place) {
              for (int f = 0; f < s.head_size(); ++f)
                want.push_back(
                    x[at(sequence * s.context + place, parts * s.width, part * s.width + head * s.head_size() + f)]);
            }
          }
        }
      }
      EXPECT_EQ(split.values(), want);
      expect_same(merged.bits(), in.bits());
    }
  }
}

TYPED_TEST(Kernels, SoftmaxForward) {
  using Real = TypeParam;
  for (const Case& sizes : kCases) {
    const TokenShape& s = sizes.s;
    const int shift = sizes.shift;
    if (s.tokens() > 1000) continue;  // matrices of context x context
    Values scores;
    const auto weights = this->random(matrix_size(s), -4, 4, shift, scores);
    softmax_forward<Real>(weights.data(), s, this->stream_);
    // exp's own 2 ulp, an argument of up to 8 wrong by u of itself, in the term and in each of the sum's.
    const double relative = (2 * 8 + chain_of(s.context) + 12) * kUnit;
    Values bound;
    for (int query = 0; query < s.tokens() * s.heads; ++query) {
      const int seen = query % s.context + 1;
      double sum = 0;
      for (int key = 0; key < seen; ++key) sum += std::exp(scores[at(query, s.context, key)]);
      for (int key = 0; key < s.context; ++key) {
        double& p = scores[at(query, s.context, key)];
        p = key < seen ? std::exp(p) / sum : 0;
        bound.push_back(relative * p);
      }
    }
    expect_near<Real>("weights", weights.values(), scores, bound);
  }
}

TYPED_TEST(Kernels, SoftmaxBackward) {
  using Real = TypeParam;
  constexpr double kFactor = 0.125;
  for (const Case& sizes : kCases) {
    const TokenShape& s = sizes.s;
    const int shift = sizes.shift;
    if (s.tokens() > 1000) continue;
    Values weights = random_values<Real>(matrix_size(s), 0, 0.2, this->random_), d;
    const auto gradient = this->random(matrix_size(s), -1, 1, shift, d);
    // What the mask hides is not read.
    Values poisoned = weights;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto context = static_cast<std::size_t>(s.context);
      if (i % context > i / context % context) poisoned[i] = std::numeric_limits<double>::quiet_NaN();
    }
    const OnDevice<Real> w(poisoned, shift, this->stream_);
    softmax_backward<Real>(gradient.data(), w.data(), static_cast<float>(kFactor), s, this->stream_);
    Values bound;
    for (int query = 0; query < s.tokens() * s.heads; ++query) {
      const int seen = query % s.context + 1;
      double along = 0, size = 0;
      for (int key = 0; key < seen; ++key) {
        along += weights[at(query, s.context, key)] * d[at(query, s.context, key)];
        size += std::abs(weights[at(query, s.context, key)] * d[at(query, s.context, key)]);
      }
      for (int key = 0; key < s.context; ++key) {
        const std::size_t i = at(query, s.context, key);
        const double weight = key < seen ? weights[i] : 0;
        bound.push_back((chain_of(s.context) + 8) * kUnit * kFactor * weight * (std::abs(d[i]) + size));
        d[i] = kFactor * weight * (d[i] - along);
      }
    }
    expect_near<Real>("scores' gradient", gradient.values(), d, bound);
  }
}

TYPED_TEST(Kernels, CrossEntropy) {
  using Real = TypeParam;
  struct Head {
    int vocabulary, leading;
  };
  const TokenShape s{3, 5, 1, 1};
  for (const Head head : {Head{1, 1}, Head{7, 7}, Head{97, 104}, Head{256, 256}, Head{5003, 5056}}) {
    for (const int shift : {0, 1}) {
      const Values text = random_text(s, head.vocabulary, this->random_);
      const OnDevice<std::int32_t> words(text, 0, this->stream_);
      // Products write the vocabulary alone; what pads a column is anything.
      Values logits = random_values<Real>(size_of({s.sequences, s.context, head.leading, 1}), -5, 5, this->random_);
      for (std::size_t i = 0; i < logits.size(); ++i) {
        if (static_cast<int>(i) % head.leading >= head.vocabulary) logits[i] = std::numeric_limits<double>::quiet_NaN();
      }
      const OnDevice<Real> gradient(logits, shift, this->stream_);
      const OnDevice<float> workspace(static_cast<std::size_t>(s.tokens()), 0, this->stream_);
      const OnDevice<float> loss(Values{0.75}, 0, this->stream_);
      cross_entropy<Real>(gradient.data(), loss.data(), words.data(), head.vocabulary, head.leading, workspace.data(),
                          s, this->stream_);
      // A thread's sum is scaled anew at each of its looks, by 4 u; logits lie up to 10 apart.
      const double relative = (2 * 10 + 5 * (head.vocabulary / 256.0 + 8) + 24) * kUnit;
      double mean = 0;
      Values bound;
      for (int t = 0; t < s.tokens(); ++t) {
        const int target = token_of(text, s, t, 1);
        double sum = 0;
        for (int i = 0; i < head.vocabulary; ++i) sum += std::exp(logits[at(t, head.leading, i)]);
        mean += (std::log(sum) - logits[at(t, head.leading, target)]) / s.tokens();
        for (int i = 0; i < head.leading; ++i) {
          double& value = logits[at(t, head.leading, i)];
          const double p = i < head.vocabulary ? std::exp(value) / sum : 0, one = i == target ? 1 : 0;
          value = (p - one) / s.tokens();
          bound.push_back(i < head.vocabulary ? relative * (p + one) / s.tokens() : 0);
        }
      }
      expect_near<Real>("logits' gradient", gradient.values(), logits, bound);
      // log of a sum wrong by `relative`, the highest logit and the target's of up to 5, a sum over 15 tokens.
      expect_near<float>("loss", loss.values(), {0.75 + mean}, {relative + 40 * kUnit * (0.75 + mean + 10)});
    }
  }
}

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
    std::vector<Real> copied;
    for (const double value : master.values()) copied.push_back(real_of<Real>(value));
    expect_same(parameters.bits(), copied);
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
