// See spread.hpp.
#include "models/spread.hpp"

#include <algorithm>
#include <cmath>

namespace accosim {
namespace {

struct Use {
  const Kernel* kernel;
  double time;
};

/// What a micro-batch spends its time on; each different product with all of its time.
struct Uses {
  std::vector<Use> products;
  double memory = 0, host = 0, total = 0;
};

/// Kernels that were measured by themselves err each in their own way, as products do.
void add(const Kernel& kernel, const Device& device, double time, Uses& uses) {
  const bool measured = kernel.step && table_of(device, kernel) != nullptr;
  if (kernel.kind == KernelKind::kMemory && !measured) {
    uses.memory += time;
    return;
  }
  const auto same =
      std::find_if(uses.products.begin(), uses.products.end(), [&](const Use& use) { return *use.kernel == kernel; });
  if (same == uses.products.end())
    uses.products.push_back({&kernel, time});
  else
    same->time += time;
}

Uses uses_of(const RankKind& kind) {
  Uses uses;
  std::vector<std::pair<const Layer*, int>> layers;  // different ones, and how many
  for (const Layer& layer : kind.layers) {
    const auto same = std::find_if(layers.begin(), layers.end(),
                                   [&](const auto& each) { return each.first->operators == layer.operators; });
    if (same == layers.end())
      layers.push_back({&layer, 1});
    else
      ++same->second;
  }
  for (const auto& [layer, count] : layers) {
    double kernels[2] = {0, 0}, launches[2] = {0, 0};
    for (const Operator& op : layer->operators)
      for (const int backward : {0, 1})
        for (const Kernel& kernel : backward == 1 ? op.backward : op.forward) {
          const double time = step_time(kernel, kind.device, kind.workload.compute).value;
          add(kernel, kind.device, count * time, uses);
          kernels[backward] += count * time;
          launches[backward] += count * kernel.launches * kind.device.launch_interval.value;
        }
    for (const int backward : {0, 1}) {
      uses.total += std::max(kernels[backward], launches[backward]);
      uses.host += std::max(0.0, launches[backward] - kernels[backward]);
    }
  }
  return uses;
}

/// Of a kernel that was measured just so; a negative one: it was not.
double measured_spread(const Kernel& kernel, const RankKind& kind) {
  if (kernel.kind == KernelKind::kMemory) return std::max(kMeasured, table_of(kind.device, kernel)->spread);
  const Dtype dtype = kernel.dtype.value_or(kind.workload.compute);
  const bool product = kernel.kind == KernelKind::kGemm;
  return product && measured_product(kernel.gemm, kind.device, dtype) != nullptr ? kMeasured : -1;
}

/// nullptr: the device has constants of the user's.
const FitQuality* quality_of(const Kernel& kernel, const RankKind& kind) {
  const Dtype dtype = kernel.dtype.value_or(kind.workload.compute);
  if (kernel.kind == KernelKind::kGemm) {
    const std::optional<GemmFit>& fit = kind.device.gemm[static_cast<std::size_t>(dtype)];
    return fit ? &fit->quality : nullptr;
  }
  return kind.device.attention ? &kind.device.attention->quality : nullptr;
}

bool extrapolated(const Kernel& kernel, const FitQuality& quality) {
  const double flops = flops_of(kernel).value;
  return quality.samples > 0 && (2 * flops < quality.least || flops > 2 * quality.most);
}

}  // namespace

FitUse fit_use(const RankKind& kind) {
  const Uses uses = uses_of(kind);
  FitUse use;
  for (const Use& product : uses.products) {
    if (uses.total == 0 || measured_spread(*product.kernel, kind) >= 0) continue;
    const FitQuality* quality = quality_of(*product.kernel, kind);
    if (quality == nullptr) continue;
    if (quality->inherited) use.inherited += product.time / uses.total;
    if (extrapolated(*product.kernel, *quality)) use.extrapolated += product.time / uses.total;
  }
  return use;
}

double compute_spread(const RankKind& kind) {
  const Uses uses = uses_of(kind);
  if (uses.total == 0) return 0;
  const auto squared = [](double x) { return x * x; };
  const bool listed = kind.workload.implementation == Implementation::kAccocal;
  double variance = squared(listed ? kListed : kOperators) + squared(kMemory * uses.memory / uses.total) +
                    squared(kHost * uses.host / uses.total);
  double constant = 0;
  for (const Use& product : uses.products) {
    const double share = product.time / uses.total;
    if (const double own = measured_spread(*product.kernel, kind); own >= 0) {
      variance += squared(share * own);
      continue;
    }
    const FitQuality* quality = quality_of(*product.kernel, kind);
    if (quality == nullptr) {
      constant += share;
      continue;
    }
    const bool far = quality->inherited || extrapolated(*product.kernel, *quality);
    variance += squared(share) * (squared(quality->spread) + (far ? squared(kInherited) : 0));
  }
  return std::sqrt(variance + squared(kConstant * constant));
}

}  // namespace accosim
