// The order is by value: what the committed step predictions need, then what a fit of constants needs.
#include "calibration/measure/device_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/base/csv.hpp"
#include "models/base/errors.hpp"

namespace accocal {
namespace {

constexpr std::size_t kKiB = std::size_t{1} << 10;
constexpr std::size_t kMiB = std::size_t{1} << 20;

template <typename Case>
void append(std::vector<Case>& to, const std::vector<Case>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// m, n or k a tile of 128 less and more, and 1 and 8 more.
std::vector<ProductCase> neighbours(const ProductCase& one) {
  std::vector<ProductCase> all;
  for (const char which : {'m', 'n', 'k'}) {
    for (const int delta : {-128, 128, 1, 8}) {
      ProductCase other = one;
      int& size = which == 'm' ? other.product.m : which == 'n' ? other.product.n : other.product.k;
      if (size + delta < 1) continue;
      size += delta;
      other.model = fmt::format("{} {}{:+}", one.model, which, delta);
      all.push_back(other);
    }
  }
  return all;
}

/// Of three layouts at a middle size.
std::vector<ProductCase> off_tile(const ModelShape& model, int sequences) {
  std::vector<ProductCase> all;
  std::vector<std::string> taken;
  for (const ProductCase& one : step_products(model, sequences, ProductType::kBf16)) {
    const bool head = one.product.ldb != 0 || one.product.ldc != 0;
    const bool seen = std::ranges::find(taken, one.layout) != taken.end();
    if (one.product.batch != 1 || head || seen) continue;
    taken.push_back(one.layout);
    append(all, neighbours(one));
  }
  return all;
}

std::vector<ProductCase> other_type(const std::vector<ModelShape>& models, int sequences, ProductType type) {
  std::vector<ProductCase> all;
  for (const ModelShape& model : models) {
    for (ProductCase one : step_products(model, sequences, type))
      if (type != ProductType::kFp8 || as_fp8(one)) all.push_back(one);
  }
  return all;
}

/// The micro-batches, 4 sequences or the middle one first.
std::vector<int> middle_first(std::vector<int> sequences) {
  const auto four = std::ranges::find(sequences, 4);
  if (four != sequences.end()) std::rotate(sequences.begin(), four, four + 1);
  return sequences;
}

std::vector<ProductCase> plan_products(const PlanSizes& sizes) {
  std::vector<ProductCase> all;
  for (const ModelShape& model : sizes.first)
    for (const int sequences : sizes.sequences) append(all, step_products(model, sequences, ProductType::kBf16));
  const std::vector<int> order = middle_first(sizes.sequences);
  if (sizes.off_tile) {
    // A vocabulary that is no multiple of the tile, as GPT-2's own is not.
    ModelShape odd = sizes.first.front();
    odd.vocabulary -= 47;
    odd.name += " vocabulary-47";
    if (odd.vocabulary > 0) append(all, step_products(odd, order.front(), ProductType::kBf16));
    for (const ModelShape& model : sizes.first) append(all, off_tile(model, order.front()));
  }
  for (const int sequences : order)
    for (const ModelShape& model : sizes.then) append(all, step_products(model, sequences, ProductType::kBf16));
  for (const int sequences : order) {
    for (ProductCase one : step_products(sizes.first.front(), sequences, ProductType::kBf16)) {
      one.cold = true;
      all.push_back(one);
    }
  }
  if (sizes.other_types) {
    std::vector<ModelShape> models = sizes.first;
    append(models, sizes.then);
    for (const int sequences : order)
      for (const ProductType type : {ProductType::kFp16, ProductType::kTf32, ProductType::kFp8})
        append(all, other_type(models, sequences, type));
    // Without tensor cores a product takes some ten times as long: one size has to do.
    append(all, other_type(models, order.front(), ProductType::kFp32));
  }
  return without_duplicates(all);
}

/// Flat and matrix kernels that move about so many bytes: a point of each sort on the way from the L2 to the memory.
std::vector<KernelCase> sweep_kernels(std::size_t bytes, ElementType type, bool cold) {
  const std::size_t e = type == ElementType::kBf16 ? 2 : 4;
  std::vector<KernelCase> all;
  const auto flat = [&](StepKernel kind, std::size_t per_element) {
    all.push_back({kind, type, {}, 1, 0, std::max<std::size_t>(1, bytes / per_element), "", cold});
  };
  const auto matrix = [&](StepKernel kind, int width, int heads, int context, double moved) {
    const int sequences = std::max(1, static_cast<int>(static_cast<double>(bytes) / moved));
    const int parts = kind == StepKernel::kSplitHeads ? 3 : 1;
    all.push_back({kind, type, {sequences, context, width, heads}, parts, 0, 0, "", cold});
  };
  const double de = static_cast<double>(e);
  flat(StepKernel::kCopy, 2 * e);
  flat(StepKernel::kGeluForward, 2 * e);
  flat(StepKernel::kAdd, 3 * e);
  flat(StepKernel::kMemset, e);
  matrix(StepKernel::kNormForward, 1024, 16, 16, 2 * de * 1024 * 16);
  matrix(StepKernel::kSoftmaxForward, 64, 1, 128, 1.5 * de * 128 * 128);
  matrix(StepKernel::kSplitHeads, 1024, 16, 8, 6 * de * 1024 * 8);
  matrix(StepKernel::kBiasBackward, 1024, 16, 16, de * 1024 * 16);
  flat(StepKernel::kGeluBackward, 3 * e);
  if (type == ElementType::kBf16) flat(StepKernel::kCast, e + 4);
  return all;
}

std::vector<KernelCase> plan_kernels(const PlanSizes& sizes) {
  std::vector<KernelCase> all;
  const auto append_step = [&](const ModelShape& model, int sequences, ElementType type, bool cold) {
    for (KernelCase one : step_kernels(model, sequences, type)) {
      one.cold = cold;
      all.push_back(one);
    }
  };
  const auto append_sweep = [&](ElementType type) {
    for (const bool cold : {true, false})
      for (const std::size_t bytes : sizes.sweep) append(all, sweep_kernels(bytes, type, cold));
  };
  for (const ModelShape& model : sizes.first)
    for (const int sequences : sizes.sequences) append_step(model, sequences, ElementType::kBf16, false);
  for (const std::size_t count : sizes.optimizer)
    for (const ElementType type : {ElementType::kBf16, ElementType::kFloat32})
      all.push_back({StepKernel::kAdamw, type, {}, 1, 0, count, "", true});
  append_sweep(ElementType::kBf16);
  const std::vector<int> order = middle_first(sizes.sequences);
  for (const int sequences : order) append_step(sizes.first.front(), sequences, ElementType::kBf16, true);
  for (const std::size_t count : sizes.optimizer)
    all.push_back({StepKernel::kSgd, ElementType::kBf16, {}, 1, 0, count, "", true});
  for (const int sequences : order)
    for (const ModelShape& model : sizes.then) append_step(model, sequences, ElementType::kBf16, false);
  append_sweep(ElementType::kFloat32);
  for (const int sequences : order) append_step(sizes.first.front(), sequences, ElementType::kFloat32, false);
  return without_duplicates(all);
}

std::vector<CopyCase> plan_copies(const PlanSizes& sizes) {
  std::vector<CopyCase> all;
  for (const bool pinned : {true, false}) {
    for (const std::size_t bytes : sizes.copies) {
      for (const CopyDirection direction : {CopyDirection::kToDevice, CopyDirection::kToHost}) {
        all.push_back({direction, pinned, bytes});
      }
      if (!pinned) continue;
      all.push_back({CopyDirection::kBoth, true, bytes});
      all.push_back({CopyDirection::kOnDevice, true, bytes});
    }
  }
  return all;
}

/// One of each class: products of more and of less than a wave of most devices, memory-bound, softmax, the optimizer.
std::vector<InterferenceCase> plan_interference(const PlanSizes& sizes) {
  const ModelShape& model = sizes.first.front();
  const int sequences = middle_first(sizes.sequences).front();
  std::vector<InterferenceCase> kernels;
  const std::vector<ProductCase> products = step_products(model, sequences, ProductType::kBf16);
  for (const ProductCase& one : products) {
    const bool qkv = one.layout == "forward" && one.product.m == 3 * model.width;
    const bool down = one.layout == "forward" && one.product.m == model.width && one.product.k > model.width;
    if (qkv || down) kernels.push_back({true, one, {}, {}});
  }
  for (const KernelCase& one : step_kernels(model, sequences, ElementType::kBf16)) {
    const bool wanted = one.kind == StepKernel::kNormForward || one.kind == StepKernel::kGeluForward ||
                        one.kind == StepKernel::kSoftmaxForward;
    if (wanted) kernels.push_back({false, {}, one, {}});
  }
  KernelCase optimizer{StepKernel::kAdamw, ElementType::kBf16, {}, 1, 0, sizes.beside_elements, "", true};
  kernels.push_back({false, {}, optimizer, {}});

  std::vector<BesideCase> besides;
  for (const int blocks : sizes.hold_blocks) besides.push_back({Beside::kHoldMultiprocessors, blocks, 0});
  for (const int blocks : sizes.stream_blocks) besides.push_back({Beside::kStreamMemory, blocks, sizes.beside_bytes});
  besides.push_back({Beside::kCopyToDevice, 0, sizes.beside_bytes});
  besides.push_back({Beside::kCopyToHost, 0, sizes.beside_bytes});
  besides.push_back({Beside::kAdamW, 0, sizes.beside_elements});
  std::vector<InterferenceCase> all;
  for (const BesideCase& beside : besides) {
    for (InterferenceCase one : kernels) {
      one.beside = beside;
      all.push_back(one);
    }
  }
  return all;
}

}  // namespace

PlanSizes full_sizes() {
  PlanSizes sizes{.first = gpt2_models(),
                  .then = other_models(),
                  .sequences = {1, 2, 4, 8, 16},
                  .update_sequences = {4},
                  .step_sequences = {1, 2, 4, 8, 16, 32}};
  for (const std::size_t mib : {1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 1024}) sizes.sweep.push_back(mib * kMiB);
  sizes.sweep.insert(sizes.sweep.begin(), {64 * kKiB, 256 * kKiB});
  sizes.optimizer = {1000000, 4000000, 16000000, 64000000, 124000000, 200000000, 350000000, 800000000};
  sizes.copies = {64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB};
  sizes.hold_blocks = {1, 2, 4, 8, 16, 24, 32};
  sizes.stream_blocks = {1, 4, 16, 32};
  sizes.beside_bytes = 64 * kMiB;
  sizes.beside_elements = 16 * kMiB;
  return sizes;
}

PlanSizes quick_sizes() {
  return PlanSizes{.first = {gpt2_models().front()},
                   .sequences = {1},
                   .update_sequences = {1},
                   .step_sequences = {1},
                   .sweep = {kMiB, 256 * kMiB},
                   .optimizer = {16000000},
                   .copies = {kMiB, 64 * kMiB},
                   .hold_blocks = {8},
                   .stream_blocks = {8},
                   .beside_bytes = 64 * kMiB,
                   .beside_elements = 16 * kMiB,
                   .other_types = false,
                   .off_tile = false};
}

std::vector<ProductCase> products_of_table(const std::string& text, const std::string& name) {
  constexpr int kMostSide = 1 << 24;
  accosim::Diagnostics diagnostics;
  const accosim::CsvTable table = accosim::parse_csv(text, name, diagnostics);
  std::vector<ProductCase> all;
  for (const accosim::CsvRow& written : table.rows) {
    accosim::CsvRowReader row(table, written, diagnostics);
    if (row.text("kind") != "gemm") continue;
    const std::string dtype = row.text("dtype"), pass = row.text("pass");
    const std::optional<ProductType> type = accosim::value_named<ProductType>(dtype);
    if (!type) row.fail("dtype", "is " + dtype + "; write fp32, tf32, fp16, bf16 or fp8");
    ProductCase one;
    const auto side = [&](const char* column) { return row.integer(column, 1, kMostSide); };
    one.product = {.m = side("n"), .n = side("m"), .k = side("k"), .batch = row.integer("batch", 1, 1)};
    one.product.type = type.value_or(ProductType::kBf16);
    one.product.beta = row.integer("accumulate", 0, 1, 0) == 1 ? 1.0F : 0.0F;
    one.in_place = one.product.beta != 0;
    one.product.transpose_a = pass == "forward";
    one.product.transpose_b = pass == "weight_gradient";
    if (!one.product.transpose_a && !one.product.transpose_b && pass != "input_gradient")
      row.fail("pass", "is " + pass + "; write forward, input_gradient or weight_gradient");
    one.layout = pass == "forward" ? "forward" : pass == "input_gradient" ? "dgrad" : "wgrad";
    one.model = row.text("source", name);
    const ProductType own = one.product.type == ProductType::kFp8    ? ProductType::kBf16
                            : one.product.type == ProductType::kTf32 ? ProductType::kFp32
                                                                     : one.product.type;
    // A product here writes its own type, and an fp32 gradient in the parameters' place takes other bytes.
    if (row.text("out_dtype", accosim::name_of(own)) != accosim::name_of(own)) continue;
    if (one.product.type == ProductType::kFp8 && !as_fp8(one)) continue;
    all.push_back(std::move(one));
    if (diagnostics.enough()) break;
  }
  if (!diagnostics.errors.empty()) throw BadInput(fmt::format("{}", fmt::join(diagnostics.errors, "\n")));
  if (all.empty())
    throw BadInput(
        name +
        ": has no matrix product that writes its own type; write what accosim resolve SCENARIO --kernels prints");
  return without_duplicates(all);
}

DevicePlan make_device_plan(const PlanSizes& sizes) {
  DevicePlan plan{.products = plan_products(sizes),
                  .kernels = plan_kernels(sizes),
                  .copies = plan_copies(sizes),
                  .interference = plan_interference(sizes)};
  for (const int sequences : sizes.step_sequences)
    for (const ModelShape& model : sizes.first) plan.steps.push_back({model, sequences});
  if (sizes.off_tile) {
    StepCase odd{sizes.first.front(), middle_first(sizes.step_sequences).front()};
    odd.model.vocabulary -= 47;  // 50257 of 50304
    if (odd.model.vocabulary > 0) plan.steps.push_back(odd);
  }
  for (const int sequences : sizes.update_sequences)
    for (const ModelShape& model : sizes.first)
      for (const Algorithm algorithm : {Algorithm::kAcco, Algorithm::kDdp})
        plan.updates.push_back({{model, sequences}, algorithm, 4});
  return plan;
}

bool is_attention(const ProductCase& one) { return one.product.batch > 1; }
bool is_attention(const KernelCase& one) {
  return one.kind == StepKernel::kSoftmaxForward || one.kind == StepKernel::kSoftmaxBackward;
}

}  // namespace accocal
