// Every kernel against its formula in double, on sizes that divide by nothing, with outputs poisoned. Bounds are by
// rounding: u = 2^-24 for each operation in fp32, of the sum of the terms' sizes, a sum of n terms counting as n (what
// order it is made in does not matter then); the result in bf16 is rounded once more, by up to 2^-8 of itself.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/device/kernel_cases.hpp"

namespace accocal {
namespace {

TYPED_TEST(Kernels, EmbedForward) {
  using Real = TypeParam;
  constexpr int kVocabulary = 11;
  for (const auto& [s, shift] : kCases) {
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
  for (const auto& [s, shift] : kCases) {
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
  for (const auto& [s, shift] : kCases) {
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
  for (const auto& [s, shift] : kCases) {
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
  for (const auto& [s, shift] : kCases) {
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
  for (const auto& [s, shift] : kCases) {
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
  for (const auto& [s, shift] : kCases) {
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

}  // namespace
}  // namespace accocal
