#include "models/price/work.hpp"

#include <algorithm>

namespace accosim {
namespace {

// Collectives leave at least a tenth of the bandwidth.
constexpr double kMostMemoryShare = 0.9;

struct Sum {
  Seconds memory;
  std::array<Seconds, kHeld.size()> arithmetic;  ///< by what collectives hold
};

void add(Sum& sum, const PricedKernel& priced) {
  if (priced.kernel.kind == KernelKind::kMemory) {
    sum.memory += priced.time;
    return;
  }
  for (std::size_t i = 0; i < kHeld.size(); ++i) sum.arithmetic[i] += priced.held[i];
}

/// `launches` is the time that the host takes.
Work work_of(const Sum& sum, Seconds launches) {
  Work work;
  const Seconds all = std::max(sum.memory + sum.arithmetic[0], launches);
  if (all == Seconds{0}) return work;
  work.memory = sum.memory / all;
  work.arithmetic = sum.arithmetic[0] / all;
  if (sum.arithmetic[0] > Seconds{0})
    for (std::size_t i = 0; i < work.waves.size(); ++i)
      work.waves[i] = std::max(1.0, sum.arithmetic[i] / sum.arithmetic[0]);
  return work;
}

/// Adds `weight` of a work to a mean; waves are weighted by the arithmetic, and divided by it at the end.
void add(Work& mean, const Work& work, double weight) {
  mean.arithmetic += weight * work.arithmetic;
  mean.memory += weight * work.memory;
  for (std::size_t i = 0; i < mean.waves.size(); ++i) mean.waves[i] += weight * work.arithmetic * work.waves[i];
}

void close(Work& mean) {
  for (double& waves : mean.waves) waves = mean.arithmetic > 0 ? waves / mean.arithmetic : 1;
}

}  // namespace

double slowdown(const Work& work, int sms, double memory_share, double streaming) {
  const auto held = std::lower_bound(kHeld.begin(), kHeld.end() - 1, sms);
  const double waves = work.waves[static_cast<std::size_t>(held - kHeld.begin())];
  const double left = 1 - std::clamp(memory_share, 0.0, kMostMemoryShare);
  return std::max(1.0, work.arithmetic * waves + work.memory * (1 + streaming) / left);
}

LayerWork layer_work(const Bill& bill, const BilledLayer& layer) {
  Sum forward, backward;
  double forward_launches = 0, backward_launches = 0;
  for (const BilledOperator& op : layer.operators) {
    for (const BillLine& line : op.lines) add(line.backward ? backward : forward, bill.kernels[line.kernel]);
    forward_launches += op.forward_launches;
    backward_launches += op.backward_launches;
  }
  return {work_of(forward, forward_launches * bill.launch_interval),
          work_of(backward, backward_launches * bill.launch_interval)};
}

std::vector<LayerWork> layer_works(const Bill& bill) {
  return each_layer(bill,
                    mapped<LayerWork>(bill.layers, [&](const BilledLayer& layer) { return layer_work(bill, layer); }));
}

LayerWork total_work(const std::vector<LayerTime>& times, const std::vector<LayerWork>& works) {
  Seconds forward, backward;
  for (const LayerTime& time : times) {
    forward += time.forward;
    backward += time.backward;
  }
  LayerWork total;
  total.forward.waves = total.backward.waves = {};
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (forward > Seconds{0}) add(total.forward, works[i].forward, times[i].forward / forward);
    if (backward > Seconds{0}) add(total.backward, works[i].backward, times[i].backward / backward);
  }
  close(total.forward);
  close(total.backward);
  return total;
}

Work with_waits(const Work& work, Seconds computed, Seconds waits) {
  if (waits == Seconds{0}) return work;
  const double of_computed = computed / (computed + waits), of_waits = 1 - of_computed;
  Work both = work;
  both.memory *= of_computed;
  both.arithmetic = of_computed * work.arithmetic + of_waits;
  for (double& waves : both.waves) waves = (of_computed * work.arithmetic * waves + of_waits) / both.arithmetic;
  return both;
}

Work memory_work() { return Work{.memory = 1}; }

}  // namespace accosim
