#include "models/price/kernel.hpp"

#include <algorithm>
#include <cmath>

#include "models/spec/training.hpp"

namespace accosim {

Kernel memory_kernel(Bytes bytes, int launches, double efficiency, double work) {
  return Kernel{.bytes = bytes, .efficiency = efficiency, .work = work, .launches = launches};
}

Kernel gemm_kernel(const Gemm& gemm) { return Kernel{.kind = KernelKind::kGemm, .gemm = gemm}; }

Kernel accocal_kernel(StepKernel step, Dtype storage, double rows, double columns) {
  Kernel kernel = memory_kernel(bytes_of(step, rows * columns, bytes_of(storage)), launches_of(step));
  kernel.step = step;
  kernel.dtype = storage;
  kernel.elements = rows * columns;
  kernel.rows = columns > 1 ? rows : 0;
  return kernel;
}

Kernel attention_kernel(const AttentionShape& shape, bool backward) {
  Kernel kernel{.kind = backward ? KernelKind::kAttentionBackward : KernelKind::kAttentionForward, .attention = shape};
  if (backward) kernel.launches = 3;  // rowsum(dO O), the fused kernel, the conversion of dQ
  return kernel;
}

Flops flops_of(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kMemory: return Flops{0};
    case KernelKind::kGemm: return kernel.repeats * flops_of(kernel.gemm);
    case KernelKind::kAttentionForward: return flops_of(kernel.attention, false);
    case KernelKind::kAttentionBackward: return flops_of(kernel.attention, true);
    case KernelKind::kAttentionBoth: return flops_of(kernel.attention, false) + flops_of(kernel.attention, true);
  }
  return Flops{0};
}

Bytes bytes_of(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kMemory: return kernel.bytes;
    case KernelKind::kGemm: return kernel.repeats * bytes_of(kernel.gemm);
    case KernelKind::kAttentionForward: return bytes_of(kernel.attention, false);
    case KernelKind::kAttentionBackward: return bytes_of(kernel.attention, true);
    case KernelKind::kAttentionBoth: return bytes_of(kernel.attention, false) + bytes_of(kernel.attention, true);
  }
  return Bytes{0};
}

const KernelTable* table_of(const Device& device, const Kernel& kernel) {
  const KernelTable* found = nullptr;
  const auto distance = [&](const KernelTable& table) {
    return table.rows > 0 && kernel.rows > 0 ? std::abs(std::log(table.rows / kernel.rows)) : 0;
  };
  for (const KernelTable& table : *device.kernels)
    if (table.kernel == kernel.step && table.dtype == kernel.dtype &&
        (found == nullptr || distance(table) < distance(*found)))
      found = &table;
  return found;
}

bool outside(const KernelTable& table, const Kernel& kernel) {
  const double rows = table.rows > 0 && kernel.rows > 0 ? kernel.rows / table.rows : 1;
  return kernel.elements * kSameSize < table.times.front().elements ||
         kernel.elements > kSameSize * table.times.back().elements || rows > kSameSize || rows * kSameSize < 1;
}

namespace {

/// Bytes, 16 at most, that divide the distances between the columns of all three operands as stored. On tensor cores
/// cuBLASLt loads 16 bytes at once, and what lies otherwise takes it several times as long: on an H200 a product of
/// 2305 x 4096 x 768 takes 166 us, one of 2312 rows 33 us.
double alignment(const Gemm& g) {
  const bool transpose_a = g.layout == GemmLayout::kTN || g.layout == GemmLayout::kTT;
  const bool transpose_b = g.layout == GemmLayout::kNT || g.layout == GemmLayout::kTT;
  const auto divides = [&](double bytes) {
    const auto whole = [&](double elements, Bytes each) { return std::fmod(elements * each.value, bytes) == 0; };
    return whole(transpose_a ? g.k : g.m, g.in) && whole(transpose_b ? g.n : g.k, g.in) && whole(g.m, g.out);
  };
  double bytes = 16;
  while (bytes > 1 && !divides(bytes)) bytes /= 2;
  return bytes;
}

}  // namespace

namespace {

/// A framework's product and one of a table say no layout: m are rows of tokens, or of a weight's gradient. BLAS has
/// the columns of both first, and a weight's gradient as NT.
bool is_of(const MeasuredProduct& product, const Gemm& g) {
  if (product.accumulate != g.accumulate || product.k != g.k || product.batch != g.batch) return false;
  if (g.layout == GemmLayout::kAny && product.layout != GemmLayout::kAny)
    return product.m == g.n && product.n == g.m && (product.layout == GemmLayout::kNT) == g.across;
  return product.layout == g.layout && product.m == g.m && product.n == g.n;
}

}  // namespace

const MeasuredProduct* measured_product(const Gemm& g, const Device& device, Dtype dtype) {
  const std::optional<GemmFit>& fit = device.gemm[static_cast<std::size_t>(dtype)];
  if (!fit) return nullptr;
  const auto found = std::ranges::find_if(*fit->products, [&](const MeasuredProduct& each) { return is_of(each, g); });
  return found == fit->products->end() ? nullptr : &*found;
}

double measured_ratio(const Gemm& g, const Device& device, Dtype dtype) {
  if (const MeasuredProduct* const same = measured_product(g, device, dtype)) return same->ratio;
  const std::optional<GemmFit>& fit = device.gemm[static_cast<std::size_t>(dtype)];
  if (!fit || g.layout == GemmLayout::kAny) return 1;
  constexpr double kFarthest = 2;
  double nearest = kFarthest * (1 + 1e-9), ratio = 1;
  for (const MeasuredProduct& product : *fit->products) {
    if (product.layout != g.layout || product.accumulate != g.accumulate) continue;
    int different = 0;
    double factor = 1;
    for (const auto& [a, b] :
         {std::pair(product.m, g.m), {product.n, g.n}, {product.k, g.k}, {product.batch, g.batch}}) {
      if (a == b) continue;
      ++different;
      factor = std::max(a, b) / std::min(a, b);
    }
    if (different != 1 || factor >= nearest) continue;
    Gemm other = g;
    other.m = product.m, other.n = product.n, other.k = product.k;
    if (alignment(other) != alignment(g)) continue;
    nearest = factor;
    ratio = product.ratio;
  }
  return std::sqrt(ratio);
}

namespace {

Seconds time_alone(const Kernel& kernel, const Device& device, Dtype compute) {
  switch (kernel.kind) {
    case KernelKind::kMemory: {
      const KernelTable* const table = kernel.step ? table_of(device, kernel) : nullptr;
      if (table != nullptr) return time_at(table->times, kernel.elements);
      const BytesPerSecond bandwidth = kernel.efficiency * device.memory_efficiency * device.memory_bandwidth;
      const double elements = device.sm_count * kElementRate;
      const Seconds work{elements > 0 ? kernel.work / elements : 0};
      return kernel.launches * kKernelOverhead + overlapped(kernel.bytes / bandwidth, work);
    }
    case KernelKind::kGemm: {
      const Dtype dtype = kernel.dtype.value_or(compute);
      return kernel.repeats * measured_ratio(kernel.gemm, device, dtype) * gemm_time(kernel.gemm, device, dtype);
    }
    case KernelKind::kAttentionForward: return attention_time(kernel.attention, false, device, compute);
    case KernelKind::kAttentionBackward: return attention_time(kernel.attention, true, device, compute);
    case KernelKind::kAttentionBoth:
      return attention_time(kernel.attention, false, device, compute) +
             attention_time(kernel.attention, true, device, compute);
  }
  return Seconds{0};
}

}  // namespace

Seconds kernel_time(const Kernel& kernel, const Device& device, Dtype compute) {
  const Seconds alone = time_alone(kernel, device, compute);
  if (kernel.beside == Bytes{0}) return alone;
  return alone + time_alone(memory_kernel(kernel.beside), device, compute);
}

double flops_per_watt(const Device& device) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
    const std::size_t i = static_cast<std::size_t>(dtype);
    if (!device.peak[i]) continue;
    const double reference = device.gemm[i] ? device.gemm[i]->reference_power : 0;
    const double power = reference > 0 ? reference : device.power;
    return power > 0 ? 1e-12 * device.peak[i]->value * power_factor(power, device.power) / power : 0;
  }
  return 0;
}

double product_overhead(double slope, double x) {
  return x > kHeldBackFrom ? 1 + slope * std::log(x / kHeldBackFrom) : 1;
}

double product_overhead(const Device& device) {
  return device.product_overhead ? *device.product_overhead
                                 : product_overhead(device.product_slope, flops_per_watt(device));
}

Seconds step_time(const Kernel& kernel, const Device& device, Dtype compute) {
  const Seconds alone = device.step_factor * kernel_time(kernel, device, compute);
  if (kernel.kind == KernelKind::kMemory) return device.memory_overhead * alone;
  if (kernel.kind != KernelKind::kGemm) return device.attention_overhead * alone;
  return kernel.dtype.value_or(compute) == Dtype::kFp32 ? alone : product_overhead(device) * alone;
}

}  // namespace accosim
