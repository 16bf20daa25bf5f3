// The GPT of calibration/train/gpt.hpp as a list of kernels and products. Activations are matrices of features x
// tokens, a column a token, as there; in attention each head's part of a sequence is a matrix of its own, side by side,
// so that all heads are one product. What is launched, in which order and of which sizes, is stated in
// models/spec/accocal_step.hpp, by which others measure and price it; a test holds these calls to it.
#include "calibration/device/device_gpt.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "calibration/device/kernels.hpp"
#include "calibration/device/micro_batch_text.hpp"
#include "models/spec/accocal_step.hpp"

namespace accocal {
namespace {

// Where a product's or a norm's parameters are, in elements of the flat buffer; `weight` may be a gain.
struct Place {
  std::size_t weight = 0, bias = 0;
};

// `count` tensors of `size` elements in one allocation, each aligned to 256 bytes; its bytes are added to `all`.
template <typename T>
class Tensors {
 public:
  Tensors(int count, std::size_t size, std::int64_t& all)
      : step_((size * sizeof(T) + 255) / 256 * 256), memory_(step_ * static_cast<std::size_t>(count)) {
    all += bytes();
  }
  T* at(int i) const { return reinterpret_cast<T*>(memory_.template as<char>() + step_ * static_cast<std::size_t>(i)); }
  T* only() const { return at(0); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.size()); }

 private:
  std::size_t step_;
  DeviceMemory memory_;
};

// The sizes that the activations are made of.
struct Sizes {
  int layers, norms;
  std::size_t tokens, stream, wide, weights, logits, sums;  // elements

  Sizes(const GptShape& g, const TokenShape& s, int leading)
      : layers(g.layers),
        norms(2 * g.layers + 1),
        tokens(static_cast<std::size_t>(s.tokens())),
        stream(tokens * static_cast<std::size_t>(g.width)),
        wide(4 * stream),
        weights(tokens * static_cast<std::size_t>(g.heads) * static_cast<std::size_t>(g.context)),
        logits(tokens * static_cast<std::size_t>(leading)),
        sums(std::max(tokens, norm_workspace(s))) {
    for (const int features : {1, 3, 4}) sums = std::max(sums, bias_workspace(features * g.width, s.tokens()));
  }
};

// Everything on the device but parameters and gradients. A layer keeps 16 streams (residual 2, norms 2, qkv 3, mixed 1,
// up 4, active 4) and its attention weights; the head keeps 2 streams and the logits.
template <typename Real>
struct Activations {
  explicit Activations(const Sizes& sizes) : n(sizes) {}

  Sizes n;
  std::int64_t bytes = 0;
  // Kept from the forward pass: norm 2 l is the first of layer l, 2 l + 1 its second, the last that of the head.
  Tensors<Real> residual{n.norms, n.stream, bytes};    // what the norm sees
  Tensors<Real> normalised{n.norms, n.stream, bytes};  // what it makes of it
  Tensors<float> mean{n.norms, n.tokens, bytes}, scale{n.norms, n.tokens, bytes};
  Tensors<Real> qkv{n.layers, 3 * n.stream, bytes};   // apart, by heads
  Tensors<Real> weights{n.layers, n.weights, bytes};  // of attention: keys x queries, by heads
  Tensors<Real> mixed{n.layers, n.stream, bytes};     // values, mixed
  Tensors<Real> up{n.layers, n.wide, bytes}, active{n.layers, n.wide, bytes};
  Tensors<Real> logits{1, n.logits, bytes};  // then their gradient
  // Used again and again.
  Tensors<Real> wide{1, n.wide, bytes};  // qkv side by side, their gradient, and that of the MLP's inside
  Tensors<Real> dqkv{1, 3 * n.stream, bytes}, dweights{1, n.weights, bytes};  // by heads
  Tensors<Real> heads{1, n.stream, bytes};  // mixed values by heads, and their gradient
  Tensors<Real> dx{1, n.stream, bytes}, dy{1, n.stream, bytes};
  Tensors<float> sums{1, n.sums, bytes};
  Tensors<float> unasked{1, 1, bytes};  // a loss that nobody wants
};

template <typename Real>
ProductType product_type(ProductType fp32) {
  if constexpr (sizeof(Real) == sizeof(Bf16)) return ProductType::kBf16;
  if (fp32 != ProductType::kFp32 && fp32 != ProductType::kTf32)
    throw std::invalid_argument("products of a float model run in fp32 or tf32");
  return fp32;
}

TokenShape checked(const GptShape& shape, int sequences) {
  parameter_blocks(shape);  // refuses impossible shapes
  if (sequences < 1) throw std::invalid_argument("a micro-batch has at least 1 sequence");
  return {sequences, shape.context, shape.width, shape.heads};
}

}  // namespace

template <typename Real>
struct DeviceGpt<Real>::State {
  GptShape shape;
  TokenShape s;
  int leading;  // of the logits
  ProductType type;
  GptBlocks blocks;
  Activations<Real> a;
  MicroBatchText text;
  Products products;

  State(const GptShape& g, int sequences, ProductType fp32)
      : shape(g),
        s(checked(g, sequences)),
        leading(static_cast<int>(padded_vocabulary(g.vocabulary))),
        type(product_type<Real>(fp32)),
        blocks(g),
        a(Sizes(g, s, leading)),
        text(s, g.vocabulary) {
    Stream stream;
    stream.set_zero(a.unasked.only(), sizeof(float));
    // Beyond the vocabulary nothing writes logits, and what reads them does so by packs.
    stream.set_zero(a.logits.only(), static_cast<std::size_t>(a.logits.bytes()));
    stream.synchronise();
  }

  // --- The parts of a layer.

  Place place(int layer, int weight) const {
    return {blocks.of(layer, weight).offset, blocks.of(layer, weight + 1).offset};
  }

  // out = weight (rows x columns) in + bias [+ residual], for all tokens.
  void linear(Real* out, const Real* p, const Place& at, const Real* in, const Real* residual, int rows, int columns,
              Stream& stream) {
    Product product{.m = rows, .n = s.tokens(), .k = columns, .type = type};
    if (residual != nullptr) product.beta = 1;
    products.multiply(product, out, p + at.weight, in, p + at.bias, residual, stream);
  }
  // The gradients of weight and bias are added to g, that of `in` replaces `din`.
  void linear_backward(Real* din, Real* g, const Real* p, const Place& at, const Real* dout, const Real* in, int rows,
                       int columns, Stream& stream) {
    bias_backward(g + at.bias, dout, rows, s.tokens(), a.sums.only(), stream);
    weight_backward(g + at.weight, dout, in, rows, columns, stream);
    products.multiply({.m = columns, .n = s.tokens(), .k = rows, .transpose_a = true, .type = type}, din, p + at.weight,
                      dout, nullptr, nullptr, stream);
  }
  void weight_backward(Real* dweight, const Real* dout, const Real* in, int rows, int columns, Stream& stream) {
    products.multiply({.m = rows, .n = columns, .k = s.tokens(), .transpose_b = true, .type = type, .beta = 1}, dweight,
                      dout, in, nullptr, dweight, stream);
  }

  void normalise(int norm, const Real* p, const Place& at, Stream& stream) {
    norm_forward(a.normalised.at(norm), a.mean.at(norm), a.scale.at(norm), a.residual.at(norm), p + at.weight,
                 p + at.bias, s, stream);
  }
  // dy is the gradient of what the norm made; that of what it saw is added to dx.
  void normalise_backward(int norm, Real* g, const Real* p, const Place& at, Stream& stream) {
    norm_backward(a.dx.only(), g + at.weight, g + at.bias, a.dy.only(), a.residual.at(norm), a.mean.at(norm),
                  a.scale.at(norm), p + at.weight, a.sums.only(), s, stream);
  }

  // Of every head of every sequence: context x context, summed over the head's features...
  Product keys_by_queries(float alpha) const {
    return {.m = s.context,
            .n = s.context,
            .k = s.head_size(),
            .batch = s.sequences * s.heads,
            .transpose_a = true,
            .type = type,
            .alpha = alpha};
  }
  // ... and features x context, summed over the context.
  Product features_by_tokens(bool transpose_b) const {
    return {.m = s.head_size(),
            .n = s.context,
            .k = s.context,
            .batch = s.sequences * s.heads,
            .transpose_b = transpose_b,
            .type = type};
  }
  float attention_scale() const { return 1 / std::sqrt(static_cast<float>(s.head_size())); }
  std::size_t part() const { return static_cast<std::size_t>(s.tokens()) * static_cast<std::size_t>(s.width); }

  // From qkv side by side in `wide`.
  void attention(int l, Stream& stream) {
    Real *const q = a.qkv.at(l), *const k = q + part(), *const v = k + part();
    split_heads(q, a.wide.only(), 3, s, stream);
    products.multiply(keys_by_queries(attention_scale()), a.weights.at(l), k, q, nullptr, nullptr, stream);
    softmax_forward(a.weights.at(l), s, stream);
    products.multiply(features_by_tokens(false), a.heads.only(), v, a.weights.at(l), nullptr, nullptr, stream);
    merge_heads(a.mixed.at(l), a.heads.only(), 1, s, stream);
  }
  // From the gradient of `mixed` in dy to that of qkv, side by side in `wide`.
  void attention_backward(int l, Stream& stream) {
    const Real *const q = a.qkv.at(l), *const k = q + part(), *const v = k + part();
    Real *const dq = a.dqkv.only(), *const dk = dq + part(), *const dv = dk + part();
    Real* const dweights = a.dweights.only();
    split_heads(a.heads.only(), a.dy.only(), 1, s, stream);
    products.multiply(features_by_tokens(true), dv, a.heads.only(), a.weights.at(l), nullptr, nullptr, stream);
    products.multiply(keys_by_queries(1), dweights, v, a.heads.only(), nullptr, nullptr, stream);
    softmax_backward(dweights, a.weights.at(l), attention_scale(), s, stream);
    products.multiply(features_by_tokens(false), dq, k, dweights, nullptr, nullptr, stream);
    products.multiply(features_by_tokens(true), dk, q, dweights, nullptr, nullptr, stream);
    merge_heads(a.wide.only(), a.dqkv.only(), 3, s, stream);
  }

  // --- The passes.

  void forward(const Real* p, float* loss, Stream& stream) {
    const int d = shape.width;
    embed_forward(a.residual.at(0), text.tokens(), p + blocks.token().offset, p + blocks.position().offset, s, stream);
    for (int l = 0; l < shape.layers; ++l) {
      const int first = 2 * l, second = first + 1;
      normalise(first, p, place(l, kNorm1Gain), stream);
      linear(a.wide.only(), p, place(l, kQkvWeight), a.normalised.at(first), nullptr, 3 * d, d, stream);
      attention(l, stream);
      linear(a.residual.at(second), p, place(l, kOutWeight), a.mixed.at(l), a.residual.at(first), d, d, stream);
      normalise(second, p, place(l, kNorm2Gain), stream);
      linear(a.up.at(l), p, place(l, kUpWeight), a.normalised.at(second), nullptr, 4 * d, d, stream);
      gelu_forward(a.active.at(l), a.up.at(l), 4 * part(), stream);
      linear(a.residual.at(second + 1), p, place(l, kDownWeight), a.active.at(l), a.residual.at(second), d, 4 * d,
             stream);
    }
    const int last = 2 * shape.layers;
    normalise(last, p, place(shape.layers, kNorm1Gain), stream);
    products.multiply(
        {.m = shape.vocabulary, .n = s.tokens(), .k = d, .transpose_a = true, .ldc = leading, .type = type},
        a.logits.only(), p + blocks.token().offset, a.normalised.at(last), nullptr, nullptr, stream);
    cross_entropy(a.logits.only(), loss != nullptr ? loss : a.unasked.only(), text.tokens(), shape.vocabulary, leading,
                  a.sums.only(), s, stream);
  }

  void backward(const Real* p, Real* g, Stream& stream) {
    const int d = shape.width, last = 2 * shape.layers;
    Real *const dx = a.dx.only(), *const dy = a.dy.only(), *const wide = a.wide.only();
    Real* const dtoken = g + blocks.token().offset;
    products.multiply(
        {.m = d, .n = shape.vocabulary, .k = s.tokens(), .transpose_b = true, .ldb = leading, .type = type, .beta = 1},
        dtoken, a.normalised.at(last), a.logits.only(), nullptr, dtoken, stream);
    products.multiply({.m = d, .n = s.tokens(), .k = shape.vocabulary, .ldb = leading, .type = type}, dy,
                      p + blocks.token().offset, a.logits.only(), nullptr, nullptr, stream);
    stream.set_zero(dx, part() * sizeof(Real));
    normalise_backward(last, g, p, place(shape.layers, kNorm1Gain), stream);
    for (int l = shape.layers - 1; l >= 0; --l) {
      const int first = 2 * l, second = first + 1;
      // dx is the gradient of the residual stream behind the layer, and stays so but for what goes through the norms.
      linear_backward(wide, g, p, place(l, kDownWeight), dx, a.active.at(l), d, 4 * d, stream);
      gelu_backward(wide, a.up.at(l), 4 * part(), stream);
      linear_backward(dy, g, p, place(l, kUpWeight), wide, a.normalised.at(second), 4 * d, d, stream);
      normalise_backward(second, g, p, place(l, kNorm2Gain), stream);
      linear_backward(dy, g, p, place(l, kOutWeight), dx, a.mixed.at(l), d, d, stream);
      attention_backward(l, stream);
      linear_backward(dy, g, p, place(l, kQkvWeight), wide, a.normalised.at(first), 3 * d, d, stream);
      normalise_backward(first, g, p, place(l, kNorm1Gain), stream);
    }
    embed_backward(dtoken, g + blocks.position().offset, dx, text.index(), s, stream);
  }
};

template <typename Real>
DeviceGpt<Real>::DeviceGpt(const GptShape& shape, int sequences, ProductType fp32)
    : state_(make_hidden<State>(shape, sequences, fp32)) {}

template <typename Real>
void DeviceGpt<Real>::accumulate(const Real* parameters, std::span<const std::int32_t> text, Real* gradient,
                                 float* loss, Stream& stream) {
  state_->text.give(text, stream);
  state_->forward(parameters, loss, stream);
  state_->backward(parameters, gradient, stream);
}

template <typename Real>
void DeviceGpt<Real>::forward(const Real* parameters, std::span<const std::int32_t> text, float* loss, Stream& stream) {
  state_->text.give(text, stream);
  state_->forward(parameters, loss, stream);
}

template <typename Real>
std::int64_t DeviceGpt<Real>::memory() const {
  return state_->a.bytes + state_->text.memory() + state_->products.memory();
}

template class DeviceGpt<float>;
template class DeviceGpt<Bf16>;

}  // namespace accocal
