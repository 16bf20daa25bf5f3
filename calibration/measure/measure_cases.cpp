// The list of a step's kernels, from the step as models/spec/accocal_step.hpp states it.
#include "calibration/measure/measure_cases.hpp"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "calibration/ranks/elements.hpp"
#include "models/spec/accocal_step.hpp"

namespace accocal {
namespace {

AccocalSizes sizes_of(const ModelShape& model, int sequences) {
  AccocalSizes sizes;
  sizes.sequences = sequences;
  sizes.context = model.context;
  sizes.width = model.width;
  sizes.heads = model.heads;
  sizes.vocabulary = model.vocabulary;
  return sizes;
}

ProductCase case_of(const StepProduct& step, const ModelShape& model, ProductType type) {
  const auto whole = [](double size) { return static_cast<int>(size); };
  ProductCase one;
  one.product = {.m = whole(step.m),
                 .n = whole(step.n),
                 .k = whole(step.k),
                 .batch = whole(step.batch),
                 .transpose_a = step.transpose_a,
                 .transpose_b = step.transpose_b,
                 .ldb = whole(step.ldb),
                 .ldc = whole(step.ldc),
                 .type = type,
                 .alpha = static_cast<float>(step.alpha),
                 .beta = step.added_to == AddedTo::kNothing ? 0.0F : 1.0F};
  one.layout = step.name;
  one.model = model.name;
  one.bias = step.bias;
  one.in_place = step.added_to == AddedTo::kItself;
  one.fresh_a = step.fresh_a;
  one.fresh_b = step.fresh_b;
  return one;
}

/// `inner`: elements that the MLP's activation works on.
KernelCase case_of(const StepLaunch& step, const ModelShape& model, int sequences, ElementType type, double inner) {
  KernelCase one{.kind = step.kernel,
                 .type = type,
                 .shape = {sequences, model.context, model.width, model.heads},
                 .model = model.name};
  switch (step.kernel) {
    case StepKernel::kEmbedForward:
    case StepKernel::kEmbedBackward:
    case StepKernel::kCrossEntropy: one.vocabulary = model.vocabulary; break;
    case StepKernel::kBiasBackward:
    case StepKernel::kSplitHeads:
    case StepKernel::kMergeHeads: one.parts = static_cast<int>(step.rows) / model.width; break;
    default: break;
  }
  if (is_flat(step.kernel)) one.count = static_cast<std::size_t>(inner);
  return one;
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
  return matching(all, [&](const Case& one) { return seen.insert(key_of(one)).second; });
}

}  // namespace

std::vector<ModelShape> gpt2_models() {
  return {{{12, 768, 12, 1024, 50304}, "gpt2-124m"},
          {{24, 1024, 16, 1024, 50304}, "gpt2-350m"},
          {{36, 1280, 20, 1024, 50304}, "gpt2-774m"}};
}

std::vector<ModelShape> other_models() {
  return {{{12, 768, 12, 2048, 50257}, "gpt-neo-125m"},
          {{32, 2560, 20, 2048, 50257}, "gpt-neo-2.7b"},
          {{32, 4096, 32, 2048, 32000}, "llama-7b", 11008}};
}

std::vector<ProductCase> step_products(const ModelShape& model, int sequences, ProductType type) {
  AccocalSizes sizes = sizes_of(model, sequences);
  sizes.gated = model.gated;
  std::vector<ProductCase> all;
  for (const StepLaunch& each : accocal_micro_batch(sizes))
    if (each.product) all.push_back(case_of(*each.product, model, type));
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

std::string text_of(const ProductCase& one) {
  const Product& p = one.product;
  const std::string batch = p.batch == 1 ? "" : fmt::format(" ({} of them)", p.batch);
  return fmt::format("{} {}x{}x{}{} {} of {}", name_of(p.type), p.m, p.n, p.k, batch, one.layout, one.model);
}

std::vector<KernelCase> step_kernels(const ModelShape& model, int sequences, ElementType type) {
  // A gated model's kernels are accocal's, but for its activation's size.
  const AccocalSizes sizes = sizes_of(model, sequences);
  AccocalSizes gated = sizes;
  gated.gated = model.gated;
  std::vector<KernelCase> all;
  for (const StepLaunch& each : accocal_micro_batch(sizes))
    if (!each.product && each.kernel != StepKernel::kMemset)
      all.push_back(case_of(each, model, sequences, type, gated.down() * gated.tokens()));
  return without_duplicates(all);
}

std::int64_t rows_of(const KernelCase& one) {
  if (is_flat(one.kind)) return static_cast<std::int64_t>(one.count);
  switch (one.kind) {
    case StepKernel::kSoftmaxForward:
    case StepKernel::kSoftmaxBackward: return one.shape.context;
    case StepKernel::kCrossEntropy: return one.vocabulary;
    case StepKernel::kBiasBackward:
    case StepKernel::kSplitHeads:
    case StepKernel::kMergeHeads: return std::int64_t{one.parts} * one.shape.width;
    default: return one.shape.width;
  }
}

std::int64_t columns_of(const KernelCase& one) {
  if (is_flat(one.kind)) return 1;
  const bool softmax = one.kind == StepKernel::kSoftmaxForward || one.kind == StepKernel::kSoftmaxBackward;
  return std::int64_t{one.shape.tokens()} * (softmax ? one.shape.heads : 1);
}

double bytes_of(const KernelCase& one) {
  const double elements = static_cast<double>(rows_of(one)) * static_cast<double>(columns_of(one));
  return bytes_of(one.kind, elements, Bytes{static_cast<double>(size_of(one.type))}).value;
}

std::string text_of(const KernelCase& one) {
  return fmt::format("{} {} {}x{}{}", name_of(one.kind), one.type == ElementType::kBf16 ? "bf16" : "fp32", rows_of(one),
                     columns_of(one), one.model.empty() ? "" : " of " + one.model);
}

}  // namespace accocal
