#include "models/price/trust.hpp"

#include <algorithm>

#include "models/spec/device.hpp"

namespace accosim {
namespace {

/// nullptr: the device has constants of the user's.
const FitQuality* quality_of(const Kernel& kernel, const Device& device, Dtype compute) {
  if (kernel.kind == KernelKind::kGemm) {
    const std::optional<GemmFit>& fit = device.gemm[static_cast<std::size_t>(kernel.dtype.value_or(compute))];
    return fit ? &fit->quality : nullptr;
  }
  const AttentionFit* const fit = attention_fit(device, kernel.attention.flash_3);
  return fit != nullptr ? &fit->quality : nullptr;
}

bool extrapolated(const Kernel& kernel, const FitQuality& quality) {
  const double flops = flops_of(kernel).value;
  return quality.samples > 0 && (2 * flops < quality.least || flops > 2 * quality.most);
}

}  // namespace

Trust trust_of(const Kernel& kernel, const Device& device, Dtype compute) {
  if (kernel.kind == KernelKind::kMemory) {
    const KernelTable* const table = kernel.step ? table_of(device, kernel) : nullptr;
    if (table == nullptr) return {Basis::kBandwidth, kBandwidthSpread};
    return {Basis::kMeasured, std::max(kMeasuredSpread, table->spread), false, false, outside(*table, kernel)};
  }
  const FitQuality* const quality = quality_of(kernel, device, compute);
  if (kernel.kind == KernelKind::kGemm && quality != nullptr && !quality->inherited &&
      measured_product(kernel.gemm, device, kernel.dtype.value_or(compute)) != nullptr)
    return {Basis::kMeasured, kMeasuredSpread};
  if (quality == nullptr) return {Basis::kConstants, kConstantSpread};
  return {Basis::kMeasured, quality->spread, quality->inherited, quality->other_generation,
          extrapolated(kernel, *quality)};
}

}  // namespace accosim
