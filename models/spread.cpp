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

/// What the price of a kernel rests on.
struct Trust {
  double spread = 0;
  bool inherited = false, extrapolated = false;
};

/// Of a product, of attention, or of a kernel that the device has a table of; nothing: constants of the user's.
std::optional<Trust> trust_of(const Kernel& kernel, const RankKind& kind) {
  if (kernel.kind == KernelKind::kMemory) {
    const KernelTable& table = *table_of(kind.device, kernel);
    return Trust{std::max(kMeasured, table.spread), false, outside(table, kernel)};
  }
  const Dtype dtype = kernel.dtype.value_or(kind.workload.compute);
  if (kernel.kind == KernelKind::kGemm && measured_product(kernel.gemm, kind.device, dtype) != nullptr)
    return Trust{kMeasured};
  const FitQuality* const quality = quality_of(kernel, kind);
  if (quality == nullptr) return std::nullopt;
  return Trust{quality->spread, quality->inherited, extrapolated(kernel, *quality)};
}

double squared(double x) { return x * x; }

}  // namespace

FitUse fit_use(const RankKind& kind) {
  const Uses uses = uses_of(kind);
  FitUse use;
  if (uses.total == 0) return use;
  for (const Use& product : uses.products) {
    const std::optional<Trust> trust = trust_of(*product.kernel, kind);
    if (trust && trust->inherited) use.inherited += product.time / uses.total;
    if (trust && trust->extrapolated) use.extrapolated += product.time / uses.total;
  }
  return use;
}

double compute_spread(const RankKind& kind) {
  const Uses uses = uses_of(kind);
  if (uses.total == 0) return 0;
  const bool listed = kind.workload.implementation == Implementation::kAccocal;
  double variance = squared(listed ? kListed : kOperators) + squared(kMemory * uses.memory / uses.total) +
                    squared(kHost * uses.host / uses.total);
  double constant = 0;
  for (const Use& product : uses.products) {
    const double share = product.time / uses.total;
    const std::optional<Trust> trust = trust_of(*product.kernel, kind);
    if (!trust) {
      constant += share;
      continue;
    }
    const bool far = trust->inherited || trust->extrapolated;
    variance += squared(share) * (squared(trust->spread) + (far ? squared(kInherited) : 0));
  }
  return std::sqrt(variance + squared(kConstant * constant));
}

double optimizer_spread(const Costs& costs) {
  const RankKind& kind = costs.kinds.front();
  const Kernel kernel = own_optimizer(costs.parameters, costs.parameter_dtype);
  if (costs.implementation != Implementation::kAccocal || table_of(kind.device, kernel) == nullptr) return kMemory;
  const Trust trust = *trust_of(kernel, kind);
  return std::hypot(trust.spread, trust.extrapolated ? kInherited : 0);
}

}  // namespace accosim
