// The GPT's forward and backward pass, for who instantiates it: the library in fp32, the tests in fp64 too. Activations
// are matrices of features x tokens, a column a token, the sequences of a micro-batch side by side; so every product of
// a layer is one product for the whole micro-batch, and attention works on blocks of it.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>

#include "calibration/train/gpt.hpp"
#include "calibration/train/matrix_products.hpp"

namespace accocal {
template <typename Real>
struct Gpt<Real>::State {
  static constexpr double kNormEpsilon = 1e-5;
  // Of GELU(x) = x/2 (1 + tanh(c (x + k x^3))).
  static constexpr double kGeluScale = 0.7978845608028654;  // sqrt(2 / pi)
  static constexpr double kGeluCube = 0.044715;

  using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  using Row = Eigen::Matrix<Real, 1, Eigen::Dynamic>;
  using Weights = Eigen::Map<const Matrix>;
  using Gradients = Eigen::Map<Matrix>;

  // What the backward pass needs of a normalisation.
  struct Norm {
    Matrix normalised;  // before gain and bias
    Matrix out;
    Row scale;  // 1 / deviation, a token each
  };
  struct Layer {
    Norm norm1, norm2;
    Matrix qkv;
    Matrix weights;  // of attention: keys x (queries of a head, heads of a sequence, sequences)
    Matrix mixed;    // values, mixed
    Matrix up;       // before GELU
    Matrix gate;     // tanh(...) of GELU
    Matrix active;   // after GELU
  };

  GptShape shape;
  int sequences;
  int length;  // of a sequence
  Eigen::Index tokens;
  GptBlocks blocks;
  std::vector<Layer> layers;
  Norm last;
  Matrix x;              // the residual stream
  Matrix probabilities;  // logits, and in the backward pass their gradient
  Matrix dx, dy, dqkv, dmixed, dup, dweights;

  State(const GptShape& s, int n, int of)
      : shape(s), sequences(n), length(of > 0 ? of : s.context), tokens(Eigen::Index{n} * length), blocks(s) {
    if (length > s.context) throw std::invalid_argument("a sequence is at most as long as the context");
    if (n < 1) throw std::invalid_argument("a micro-batch has at least 1 sequence");
    layers.resize(static_cast<std::size_t>(s.layers));
  }

  Weights weights(std::span<const Real> p, int layer, int block) const { return map(p, blocks.of(layer, block)); }
  static Weights map(std::span<const Real> p, const ParameterBlock& b) {
    return {p.data() + b.offset, b.rows, b.columns};
  }
  Gradients gradients(std::span<Real> g, int layer, int block) const { return map(g, blocks.of(layer, block)); }
  static Gradients map(std::span<Real> g, const ParameterBlock& b) { return {g.data() + b.offset, b.rows, b.columns}; }

  void norm_forward(const Matrix& in, std::span<const Real> p, int l, int gain, Norm& norm) const {
    const Row mean = in.colwise().mean();
    norm.normalised = in.rowwise() - mean;
    norm.scale = (norm.normalised.array().square().colwise().mean() + static_cast<Real>(kNormEpsilon)).rsqrt().matrix();
    norm.normalised.array().rowwise() *= norm.scale.array();
    norm.out = norm.normalised.array().colwise() * weights(p, l, gain).col(0).array();
    norm.out.colwise() += weights(p, l, gain + 1).col(0);
  }

  // d: gradient of the norm's output, overwritten. Adds the gradient of its input to `into`.
  void norm_backward(const Norm& norm, std::span<Real> g, std::span<const Real> p, int l, int gain, Matrix& d,
                     Matrix& into) const {
    gradients(g, l, gain).col(0) += (d.array() * norm.normalised.array()).rowwise().sum().matrix();
    gradients(g, l, gain + 1).col(0) += d.rowwise().sum();
    d.array().colwise() *= weights(p, l, gain).col(0).array();
    const Row mean = d.colwise().mean();
    const Row along = (d.array() * norm.normalised.array()).colwise().mean().matrix();
    d.rowwise() -= mean;
    d.array() -= norm.normalised.array().rowwise() * along.array();
    into.array() += d.array().rowwise() * norm.scale.array();
  }

  template <typename M>
  static MatrixView<Real> view(const M& m) {
    return {m.data(), m.rows(), m.cols(), m.outerStride()};
  }
  template <typename M>
  static MatrixView<Real> transposed(const M& m) {
    return {m.data(), m.rows(), m.cols(), m.outerStride(), true};
  }
  /// into = scale a b, of the size that the product has.
  template <typename M>
  static void multiply(M& into, const MatrixView<Real>& a, const MatrixView<Real>& b, Real scale = 1) {
    into.resize(a.transposed ? a.columns : a.rows, b.transposed ? b.rows : b.columns);
    put_product(false, scale, a, b, into.data(), into.outerStride());
  }
  template <typename M>
  static void add_product(M&& into, const MatrixView<Real>& a, const MatrixView<Real>& b) {
    put_product(true, Real{1}, a, b, into.data(), into.outerStride());
  }

  // into = [what is there +] weight in + bias, of all tokens.
  template <bool add>
  void linear(Matrix& into, std::span<const Real> p, int l, int weight, const Matrix& in) const {
    if constexpr (add)
      add_product(into, view(weights(p, l, weight)), view(in));
    else
      multiply(into, view(weights(p, l, weight)), view(in));
    into.colwise() += weights(p, l, weight + 1).col(0);
  }
  // The gradients of weight and bias are added to g, that of `in` becomes `din`.
  void linear_backward(Matrix& din, std::span<Real> g, std::span<const Real> p, int l, int weight, const Matrix& dout,
                       const Matrix& in) const {
    add_product(gradients(g, l, weight), view(dout), transposed(in));
    gradients(g, l, weight + 1).col(0) += dout.rowwise().sum();
    multiply(din, transposed(weights(p, l, weight)), view(dout));
  }

  int head_size() const { return shape.width / shape.heads; }
  Real attention_scale() const { return 1 / std::sqrt(static_cast<Real>(head_size())); }

  void attention_forward(Layer& layer) const {
    const Eigen::Index size = head_size(), width = shape.width;
    layer.weights.resize(length, length * shape.heads * sequences);
    layer.mixed.resize(width, tokens);
    for (Eigen::Index sequence = 0; sequence < sequences; ++sequence) {
      for (Eigen::Index head = 0; head < shape.heads; ++head) {
        const auto q = layer.qkv.block(head * size, sequence * length, size, length);
        const auto k = layer.qkv.block(width + head * size, sequence * length, size, length);
        const auto v = layer.qkv.block(2 * width + head * size, sequence * length, size, length);
        auto w = layer.weights.middleCols((sequence * shape.heads + head) * length, length);
        multiply(w, transposed(k), view(q), attention_scale());
        for (Eigen::Index query = 0; query < length; ++query) {
          auto seen = w.col(query).head(query + 1);
          const Real highest = seen.maxCoeff();
          seen = (seen.array() - highest).exp().matrix();
          const Real sum = seen.sum();
          seen *= 1 / sum;
          w.col(query).tail(length - query - 1).setZero();
        }
        auto mixed = layer.mixed.block(head * size, sequence * length, size, length);
        multiply(mixed, view(v), view(w));
      }
    }
  }

  void attention_backward(const Layer& layer) {
    const Eigen::Index size = head_size(), width = shape.width;
    dqkv.resize(3 * width, tokens);
    for (Eigen::Index sequence = 0; sequence < sequences; ++sequence) {
      for (Eigen::Index head = 0; head < shape.heads; ++head) {
        const Eigen::Index first = sequence * length;
        const auto q = layer.qkv.block(head * size, first, size, length);
        const auto k = layer.qkv.block(width + head * size, first, size, length);
        const auto v = layer.qkv.block(2 * width + head * size, first, size, length);
        const auto w = layer.weights.middleCols((sequence * shape.heads + head) * length, length);
        const auto dout = dmixed.block(head * size, first, size, length);
        auto dq = dqkv.block(head * size, first, size, length);
        auto dk = dqkv.block(width + head * size, first, size, length);
        auto dv = dqkv.block(2 * width + head * size, first, size, length);
        multiply(dv, view(dout), transposed(w));
        multiply(dweights, transposed(v), view(dout));
        // Of a softmax: ds = w (dw - sum of w dw), which the mask's zeros keep at zero.
        const Row along = (dweights.array() * w.array()).colwise().sum().matrix();
        dweights.rowwise() -= along;
        dweights.array() *= w.array() * attention_scale();
        multiply(dq, view(k), view(dweights));
        multiply(dk, view(q), transposed(dweights));
      }
    }
  }

  void check(std::span<const Real> p, std::span<const std::uint8_t> text) const {
    if (p.size() != blocks.count()) throw std::invalid_argument("not this GPT's parameters");
    if (text.size() != static_cast<std::size_t>(sequences) * static_cast<std::size_t>(length + 1))
      throw std::invalid_argument("a micro-batch has length + 1 tokens a sequence");
    for (const std::uint8_t token : text) {
      if (token >= shape.vocabulary) throw std::invalid_argument("a token beyond the vocabulary");
    }
  }

  // Where in the text the input token of column i is; its target is the next token.
  std::size_t place(Eigen::Index i) const { return static_cast<std::size_t>(i / length * (length + 1) + i % length); }

  // Leaves softmax(logits) in `probabilities`.
  double forward(std::span<const Real> p, std::span<const std::uint8_t> text) {
    check(p, text);
    const Weights token = map(p, blocks.token()), position = map(p, blocks.position());
    x.resize(shape.width, tokens);
    for (Eigen::Index i = 0; i < tokens; ++i) x.col(i) = token.col(text[place(i)]) + position.col(i % length);
    for (int l = 0; l < shape.layers; ++l) {
      Layer& layer = layers[static_cast<std::size_t>(l)];
      norm_forward(x, p, l, kNorm1Gain, layer.norm1);
      linear<false>(layer.qkv, p, l, kQkvWeight, layer.norm1.out);
      attention_forward(layer);
      linear<true>(x, p, l, kOutWeight, layer.mixed);
      norm_forward(x, p, l, kNorm2Gain, layer.norm2);
      linear<false>(layer.up, p, l, kUpWeight, layer.norm2.out);
      const auto up = layer.up.array();
      // tanh(y) = 1 - 2 / (1 + exp(2 y)), since only exp is vectorised.
      layer.gate =
          (1 -
           2 / (1 + (static_cast<Real>(2 * kGeluScale) * up * (1 + static_cast<Real>(kGeluCube) * up.square())).exp()))
              .matrix();
      layer.active = (static_cast<Real>(0.5) * up * (1 + layer.gate.array())).matrix();
      linear<true>(x, p, l, kDownWeight, layer.active);
    }
    norm_forward(x, p, shape.layers, kNorm1Gain, last);
    multiply(probabilities, transposed(token), view(last.out));
    double sum = 0;
    for (Eigen::Index i = 0; i < tokens; ++i) {
      auto column = probabilities.col(i);
      const Real highest = column.maxCoeff();
      const Real target = column(text[place(i) + 1]) - highest;
      column = (column.array() - highest).exp().matrix();
      const Real total = column.sum();
      column *= 1 / total;
      sum += std::log(static_cast<double>(total)) - static_cast<double>(target);
    }
    return sum / static_cast<double>(tokens);
  }

  void backward(std::span<const Real> p, std::span<const std::uint8_t> text, std::span<Real> g) {
    const Weights token = map(p, blocks.token());
    for (Eigen::Index i = 0; i < tokens; ++i) probabilities(text[place(i) + 1], i) -= 1;
    probabilities *= 1 / static_cast<Real>(tokens);
    Gradients dtoken = map(g, blocks.token()), dposition = map(g, blocks.position());
    add_product(dtoken, view(last.out), transposed(probabilities));
    multiply(dy, view(token), view(probabilities));
    dx.setZero(shape.width, tokens);
    norm_backward(last, g, p, shape.layers, kNorm1Gain, dy, dx);
    for (int l = shape.layers - 1; l >= 0; --l) {
      const Layer& layer = layers[static_cast<std::size_t>(l)];
      // MLP. dx is the gradient of the residual stream behind it, and stays so but for what goes through the norm.
      linear_backward(dup, g, p, l, kDownWeight, dx, layer.active);
      const auto up = layer.up.array();
      const auto gate = layer.gate.array();
      dup.array() *= static_cast<Real>(0.5) * (1 + gate) + static_cast<Real>(0.5 * kGeluScale) * up *
                                                               (1 - gate.square()) *
                                                               (1 + static_cast<Real>(3 * kGeluCube) * up.square());
      linear_backward(dy, g, p, l, kUpWeight, dup, layer.norm2.out);
      norm_backward(layer.norm2, g, p, l, kNorm2Gain, dy, dx);
      // Attention.
      linear_backward(dmixed, g, p, l, kOutWeight, dx, layer.mixed);
      attention_backward(layer);
      linear_backward(dy, g, p, l, kQkvWeight, dqkv, layer.norm1.out);
      norm_backward(layer.norm1, g, p, l, kNorm1Gain, dy, dx);
    }
    for (Eigen::Index i = 0; i < tokens; ++i) {
      dtoken.col(text[place(i)]) += dx.col(i);
      dposition.col(i % length) += dx.col(i);
    }
  }
};

template <typename Real>
Gpt<Real>::Gpt(const GptShape& shape, int sequences, int length)
    : state_(make_hidden<State>(shape, sequences, length)) {}

template <typename Real>
double Gpt<Real>::loss(std::span<const Real> parameters, std::span<const std::uint8_t> tokens) {
  return state_->forward(parameters, tokens);
}

template <typename Real>
double Gpt<Real>::accumulate(std::span<const Real> parameters, std::span<const std::uint8_t> tokens,
                             std::span<Real> gradient) {
  if (gradient.size() != parameters.size()) throw std::invalid_argument("a gradient has the size of the parameters");
  const double loss = state_->forward(parameters, tokens);
  state_->backward(parameters, tokens, gradient);
  return loss;
}

}  // namespace accocal
