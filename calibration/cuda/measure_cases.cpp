// The list of a step's kernels, as device_gpt.cpp gives them to the stream.
#include "calibration/cuda/measure_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "calibration/cuda/product_shape.hpp"
#include "calibration/elements.hpp"

namespace accosim {
namespace {

/// A product as it is thought of; `more` sets what is not the same for all.
ProductCase case_of(const char* layout, int m, int n, int k, bool transpose_a, bool transpose_b) {
  ProductCase one;
  one.layout = layout;
  one.product.m = m;
  one.product.n = n;
  one.product.k = k;
  one.product.transpose_a = transpose_a;
  one.product.transpose_b = transpose_b;
  return one;
}

/// Y (out x t) = W X: the input was just written, the weights were not.
ProductCase forward(int out, int t, int in, bool bias, bool residual) {
  ProductCase one = case_of("forward", out, t, in, false, false);
  one.bias = bias;
  one.product.beta = residual ? 1.0F : 0.0F;
  one.fresh_b = true;
  return one;
}

/// dX (in x t) = W^T dY.
ProductCase dgrad(int in, int t, int out) {
  ProductCase one = case_of("dgrad", in, t, out, true, false);
  one.fresh_b = true;
  return one;
}

/// dW (out x in) += dY X^T; X is of the forward pass.
ProductCase wgrad(int out, int in, int t) {
  ProductCase one = case_of("wgrad", out, in, t, false, true);
  one.product.beta = 1;
  one.in_place = true;
  one.fresh_a = true;
  return one;
}

/// Of every sequence and head.
ProductCase attention(const char* layout, int m, int n, int k, bool transpose_a, bool transpose_b, int batch,
                      bool fresh_a, bool fresh_b) {
  ProductCase one = case_of(layout, m, n, k, transpose_a, transpose_b);
  one.product.batch = batch;
  one.fresh_a = fresh_a;
  one.fresh_b = fresh_b;
  return one;
}

/// token (width x vocabulary) is the head too: logits = token^T X, their columns a multiple of 64 apart.
void add_tied_head(std::vector<ProductCase>& all, int d, int t, int vocabulary) {
  const int apart = padded_vocabulary(vocabulary);
  ProductCase logits = case_of("forward", vocabulary, t, d, true, false);
  logits.product.ldc = apart;
  logits.fresh_b = true;
  ProductCase weights = case_of("wgrad", d, vocabulary, t, false, true);
  weights.product.ldb = apart;
  weights.product.beta = 1;
  weights.in_place = true;
  weights.fresh_b = true;
  ProductCase back = case_of("dgrad", d, t, vocabulary, false, false);
  back.product.ldb = apart;
  back.fresh_b = true;
  all.insert(all.end(), {logits, weights, back});
}

auto key_of(const ProductCase& one) {
  const Product& p = one.product;
  return std::make_tuple(p.m, p.n, p.k, p.batch, p.transpose_a, p.transpose_b, p.lda, p.ldb, p.ldc, p.type, p.beta != 0,
                         one.in_place, one.bias, one.cold);
}

auto key_of(const KernelCase& one) {
  // A flat kernel's other sizes say nothing.
  const TokenShape s = is_flat(one.kind) ? TokenShape{} : one.shape;
  return std::make_tuple(one.kind, one.type, s.sequences, s.context, s.width, s.heads, one.parts, one.vocabulary,
                         one.count, one.cold);
}

template <typename Case>
std::vector<Case> first_of_each(const std::vector<Case>& all) {
  std::set<decltype(key_of(all.front()))> seen;
  std::vector<Case> kept;
  for (const Case& one : all)
    if (seen.insert(key_of(one)).second) kept.push_back(one);
  return kept;
}

}  // namespace

std::vector<ModelShape> gpt2_models() {
  return {{"gpt2-124m", 12, 768, 12, 1024, 50304},
          {"gpt2-350m", 24, 1024, 16, 1024, 50304},
          {"gpt2-774m", 36, 1280, 20, 1024, 50304}};
}

std::vector<ModelShape> other_models() {
  return {{"gpt-neo-125m", 12, 768, 12, 2048, 50257},
          {"gpt-neo-2.7b", 32, 2560, 20, 2048, 50257},
          {"llama-7b", 32, 4096, 32, 2048, 32000, 11008}};
}

std::vector<ProductCase> step_products(const ModelShape& model, int sequences, ProductType type) {
  const int d = model.width, length = model.context, t = sequences * length, h = d / model.heads;
  const int pairs = sequences * model.heads;
  const bool biases = model.gated == 0;
  const int up = biases ? 4 * d : 2 * model.gated, down = biases ? 4 * d : model.gated;
  std::vector<ProductCase> all = {
      forward(3 * d, t, d, biases, false),
      attention("scores", length, length, h, true, false, pairs, true, true),
      attention("mixed", h, length, length, false, false, pairs, true, true),
      forward(d, t, d, biases, true),
      forward(up, t, d, biases, false),
      forward(d, t, down, biases, true),
  };
  if (biases)
    add_tied_head(all, d, t, model.vocabulary);
  else
    all.insert(all.end(), {forward(model.vocabulary, t, d, false, false), wgrad(model.vocabulary, d, t),
                           dgrad(d, t, model.vocabulary)});
  all.insert(all.end(), {wgrad(d, down, t), dgrad(down, t, d), wgrad(up, d, t), dgrad(d, t, up), wgrad(d, d, t),
                         dgrad(d, t, d), attention("d_values", h, length, length, false, true, pairs, true, false),
                         attention("d_weights", length, length, h, true, false, pairs, false, true),
                         attention("d_queries", h, length, length, false, false, pairs, false, true),
                         attention("d_keys", h, length, length, false, true, pairs, false, true), wgrad(3 * d, d, t),
                         dgrad(d, t, 3 * d)});
  for (ProductCase& one : all) {
    one.model = model.name;
    one.product.type = type;
    if (one.layout == "scores") one.product.alpha = static_cast<float>(1 / std::sqrt(static_cast<double>(h)));
  }
  return all;
}

bool as_fp8(ProductCase& one) {
  Product& p = one.product;
  if (p.batch != 1 || p.m % 16 != 0 || p.n % 16 != 0 || p.k % 16 != 0) return false;
  p.type = ProductType::kFp8;
  p.transpose_a = true;
  p.transpose_b = false;
  p.lda = p.ldb = p.ldc = 0;
  p.beta = 0;
  one.bias = one.in_place = false;
  return true;
}

std::vector<ProductCase> without_duplicates(const std::vector<ProductCase>& all) { return first_of_each(all); }
std::vector<KernelCase> without_duplicates(const std::vector<KernelCase>& all) { return first_of_each(all); }

std::size_t operand_size(ProductType type) {
  switch (type) {
    case ProductType::kFp32:
    case ProductType::kTf32: return 4;
    case ProductType::kFp16:
    case ProductType::kBf16: return 2;
    case ProductType::kFp8: return 1;
  }
  return 0;
}

std::size_t result_size(ProductType type) { return type == ProductType::kFp8 ? 2 : operand_size(type); }

double flops_of(const Product& product) { return 2.0 * product.m * product.n * product.k * product.batch; }

std::string text_of(const ProductCase& one) {
  const Product& p = one.product;
  const std::string batch = p.batch == 1 ? "" : fmt::format(" ({} of them)", p.batch);
  return fmt::format("{} {}x{}x{}{} {} of {}", name_of(p.type), p.m, p.n, p.k, batch, one.layout, one.model);
}

std::vector<KernelCase> step_kernels(const ModelShape& model, int sequences, ElementType type) {
  using Kind = DeviceKernel;
  const TokenShape shape{sequences, model.context, model.width, model.heads};
  const std::size_t inner = static_cast<std::size_t>(model.gated == 0 ? 4 * model.width : model.gated) *
                            static_cast<std::size_t>(shape.tokens());
  std::vector<KernelCase> all;
  const auto add = [&](Kind kind, int parts) {
    KernelCase one{kind, type, shape, parts, 0, 0, model.name, false};
    if (kind == Kind::kEmbedForward || kind == Kind::kEmbedBackward || kind == Kind::kCrossEntropy)
      one.vocabulary = model.vocabulary;
    if (is_flat(kind)) one.count = inner;
    all.push_back(one);
  };
  add(Kind::kEmbedForward, 1);
  add(Kind::kNormForward, 1);
  add(Kind::kSplitHeads, 3);
  add(Kind::kSoftmaxForward, 1);
  add(Kind::kMergeHeads, 1);
  add(Kind::kGeluForward, 1);
  add(Kind::kCrossEntropy, 1);
  add(Kind::kNormBackward, 1);
  add(Kind::kBiasBackward, 1);
  add(Kind::kGeluBackward, 1);
  add(Kind::kBiasBackward, 4);
  add(Kind::kSplitHeads, 1);
  add(Kind::kSoftmaxBackward, 1);
  add(Kind::kMergeHeads, 3);
  add(Kind::kBiasBackward, 3);
  add(Kind::kEmbedBackward, 1);
  return all;
}

std::string name_of(DeviceKernel kind) {
  switch (kind) {
    case DeviceKernel::kEmbedForward: return "embed_forward";
    case DeviceKernel::kEmbedBackward: return "embed_backward";
    case DeviceKernel::kNormForward: return "norm_forward";
    case DeviceKernel::kNormBackward: return "norm_backward";
    case DeviceKernel::kBiasBackward: return "bias_backward";
    case DeviceKernel::kGeluForward: return "gelu_forward";
    case DeviceKernel::kGeluBackward: return "gelu_backward";
    case DeviceKernel::kSplitHeads: return "split_heads";
    case DeviceKernel::kMergeHeads: return "merge_heads";
    case DeviceKernel::kSoftmaxForward: return "softmax_forward";
    case DeviceKernel::kSoftmaxBackward: return "softmax_backward";
    case DeviceKernel::kCrossEntropy: return "cross_entropy";
    case DeviceKernel::kAdd: return "add";
    case DeviceKernel::kCast: return "cast";
    case DeviceKernel::kAdamW: return "adamw";
    case DeviceKernel::kSgd: return "sgd";
    case DeviceKernel::kMemset: return "memset";
    case DeviceKernel::kCopy: return "copy";
  }
  return "";
}

bool is_flat(DeviceKernel kind) {
  switch (kind) {
    case DeviceKernel::kGeluForward:
    case DeviceKernel::kGeluBackward:
    case DeviceKernel::kAdd:
    case DeviceKernel::kCast:
    case DeviceKernel::kAdamW:
    case DeviceKernel::kSgd:
    case DeviceKernel::kMemset:
    case DeviceKernel::kCopy: return true;
    default: return false;
  }
}

std::int64_t rows_of(const KernelCase& one) {
  if (is_flat(one.kind)) return static_cast<std::int64_t>(one.count);
  switch (one.kind) {
    case DeviceKernel::kSoftmaxForward:
    case DeviceKernel::kSoftmaxBackward: return one.shape.context;
    case DeviceKernel::kCrossEntropy: return one.vocabulary;
    case DeviceKernel::kBiasBackward:
    case DeviceKernel::kSplitHeads:
    case DeviceKernel::kMergeHeads: return std::int64_t{one.parts} * one.shape.width;
    default: return one.shape.width;
  }
}

std::int64_t columns_of(const KernelCase& one) {
  if (is_flat(one.kind)) return 1;
  const bool softmax = one.kind == DeviceKernel::kSoftmaxForward || one.kind == DeviceKernel::kSoftmaxBackward;
  return std::int64_t{one.shape.tokens()} * (softmax ? one.shape.heads : 1);
}

double bytes_of(const KernelCase& one) {
  const auto e = static_cast<double>(size_of(one.type));
  const double n = static_cast<double>(rows_of(one)) * static_cast<double>(columns_of(one));
  switch (one.kind) {
    case DeviceKernel::kBiasBackward:
    case DeviceKernel::kMemset: return n * e;
    case DeviceKernel::kSoftmaxForward: return 1.5 * n * e;
    case DeviceKernel::kEmbedForward:
    case DeviceKernel::kNormForward:
    case DeviceKernel::kGeluForward:
    case DeviceKernel::kSplitHeads:
    case DeviceKernel::kMergeHeads:
    case DeviceKernel::kSoftmaxBackward:
    case DeviceKernel::kCrossEntropy:
    case DeviceKernel::kCopy: return 2 * n * e;
    case DeviceKernel::kGeluBackward:
    case DeviceKernel::kAdd: return 3 * n * e;
    case DeviceKernel::kEmbedBackward:
    case DeviceKernel::kNormBackward: return 4 * n * e;
    case DeviceKernel::kCast: return n * (e + 4);
    case DeviceKernel::kAdamW: return n * (24 + 2 * e);
    case DeviceKernel::kSgd: return n * (8 + 2 * e);
  }
  return 0;
}

std::string byte_formulas() {
  return "n = rows x columns elements of e bytes each. memset and bias_backward ne; softmax_forward 1.5ne and "
         "softmax_backward 2ne, since what lies beyond the query is written and not read; embed_forward, norm_forward, "
         "gelu_forward, split_heads, merge_heads, cross_entropy and copy 2ne; gelu_backward and add 3ne; "
         "embed_backward "
         "(the gradient for the tokens and for the positions, the tokens' rows read and written) and norm_backward "
         "4ne; "
         "cast (to fp32) n(e + 4); sgd n(8 + 2e); adamw n(24 + 2e). What is a number a token or a feature is not "
         "counted.";
}

std::string text_of(const KernelCase& one) {
  return fmt::format("{} {} {}x{}{}", name_of(one.kind), one.type == ElementType::kBf16 ? "bf16" : "fp32", rows_of(one),
                     columns_of(one), one.model.empty() ? "" : " of " + one.model);
}

}  // namespace accosim
