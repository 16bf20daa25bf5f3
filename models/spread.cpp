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

void add(const Kernel& kernel, double time, Uses& uses) {
  if (kernel.kind == KernelKind::kMemory) {
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
          add(kernel, count * time, uses);
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
    const FitQuality* quality = quality_of(*product.kernel, kind);
    if (quality == nullptr || uses.total == 0) continue;
    if (quality->inherited) use.inherited += product.time / uses.total;
    if (extrapolated(*product.kernel, *quality)) use.extrapolated += product.time / uses.total;
  }
  return use;
}

double compute_spread(const RankKind& kind) {
  const Uses uses = uses_of(kind);
  if (uses.total == 0) return 0;
  const auto squared = [](double x) { return x * x; };
  double variance =
      squared(kOperators) + squared(kMemory * uses.memory / uses.total) + squared(kHost * uses.host / uses.total);
  double constant = 0;
  for (const Use& product : uses.products) {
    const double share = product.time / uses.total;
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
