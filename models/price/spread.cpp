#include "models/price/spread.hpp"

#include <algorithm>
#include <cmath>

#include "models/spec/constants.hpp"

namespace accosim {
namespace {

/// What a micro-batch spends its time on.
struct Uses {
  std::vector<double> kernels;  ///< one a kernel of the bill, with all of its time
  double memory = 0;            ///< of these, in what is priced by the bandwidth
  double host = 0, total = 0;
};

Uses uses_of(const Bill& bill) {
  Uses uses;
  uses.kernels.resize(bill.kernels.size());
  for (const BilledLayer& layer : bill.layers) {
    double kernels[2] = {0, 0}, launches[2] = {0, 0};
    for (const BilledOperator& op : layer.operators)
      for (const BillLine& line : op.lines) {
        const PricedKernel& priced = bill.kernels[line.kernel];
        const double time = layer.times() * priced.time.value;
        if (priced.trust.basis == Basis::kBandwidth) uses.memory += time;
        uses.kernels[line.kernel] += time;
        kernels[line.backward ? 1 : 0] += time;
        launches[line.backward ? 1 : 0] += layer.times() * priced.kernel.launches * bill.launch_interval.value;
      }
    for (const int backward : {0, 1}) {
      uses.total += std::max(kernels[backward], launches[backward]);
      uses.host += std::max(0.0, launches[backward] - kernels[backward]);
    }
  }
  return uses;
}

double squared(double x) { return x * x; }

}  // namespace

FitUse fit_use(const RankKind& kind) {
  const Uses uses = uses_of(kind.bill);
  FitUse use;
  if (uses.total == 0) return use;
  for (std::size_t i = 0; i < uses.kernels.size(); ++i) {
    const Trust& trust = kind.bill->kernels[i].trust;
    if (trust.inherited) use.inherited += uses.kernels[i] / uses.total;
    if (trust.other_generation) use.other_generation += uses.kernels[i] / uses.total;
    if (trust.extrapolated) use.extrapolated += uses.kernels[i] / uses.total;
  }
  return use;
}

double compute_spread(const RankKind& kind) {
  const Uses uses = uses_of(kind.bill);
  if (uses.total == 0) return 0;
  if (kind.device.step_spread) return std::hypot(*kind.device.step_spread, kHost * uses.host / uses.total);
  const bool listed = kind.workload.implementation == Implementation::kAccocal;
  double variance = squared(listed ? kListed : kOperators) + squared(kBandwidthSpread * uses.memory / uses.total) +
                    squared(kHost * uses.host / uses.total);
  double constant = 0, other_generation = 0;
  for (std::size_t i = 0; i < uses.kernels.size(); ++i) {
    const Trust& trust = kind.bill->kernels[i].trust;
    const double share = uses.kernels[i] / uses.total;
    if (trust.basis == Basis::kConstants) constant += share;
    if (trust.basis != Basis::kMeasured) continue;
    if (trust.other_generation) other_generation += share;
    const bool far = trust.inherited || trust.extrapolated;
    variance += squared(share) * (squared(trust.spread) + (far ? squared(kInheritedSpread) : 0));
  }
  if (kind.device.steps == StepEvidence::kOtherGeneration) other_generation = 1;
  if (kind.device.steps == StepEvidence::kRelative) variance += squared(kInheritedSpread);
  return std::sqrt(variance + squared(kConstantSpread * constant) + squared(kGenerationSpread * other_generation));
}

double step_spread(const Cluster& cluster, const Parallel& parallel) {
  const double split = model_ranks_of(parallel) > 1 ? constants().split.spread : 0;
  if (!mixes_gpus(cluster)) return split;
  double worst = 0;
  for (const StepSpread& known : constants().devices)
    for (const NodeGroup& group : cluster.nodes)
      for (const Device& device : group.devices)
        if (device.name == known.name) worst = std::max(worst, known.spread);
  return std::hypot(split, constants().mixed.spread, worst);
}

double optimizer_spread(const Costs& costs) {
  const RankKind& kind = costs.kinds.front();
  const Trust trust =
      trust_of(own_optimizer(kind.parameters, costs.parameter_dtype), kind.device, kind.workload.compute);
  if (costs.implementation != Implementation::kAccocal || trust.basis == Basis::kBandwidth) return kBandwidthSpread;
  return std::hypot(trust.spread, trust.extrapolated ? kInheritedSpread : 0);
}

}  // namespace accosim
