// See work.hpp.
#include "models/work.hpp"

#include <algorithm>

#include "models/kernel.hpp"

namespace accosim {
namespace {

// Collectives leave at least a tenth of the bandwidth, and at least an eighth of the multiprocessors.
constexpr double kMostMemoryShare = 0.9;

struct Sum {
  Seconds memory;
  std::array<Seconds, kHeld.size()> arithmetic;  ///< by what collectives hold
};

using Devices = std::vector<Device>;

void add(Sum& sum, const std::vector<Kernel>& kernels, const Devices& devices, Dtype compute) {
  for (const Kernel& kernel : kernels) {
    if (kernel.kind == KernelKind::kMemory) {
      sum.memory += step_time(kernel, devices[0], compute);
      continue;
    }
    for (std::size_t i = 0; i < kHeld.size(); ++i)
      sum.arithmetic[i] += step_time(kernel, devices[std::min(i, devices.size() - 1)], compute);
  }
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

Device without(const Device& device, int sms) {
  Device left = device;
  if (device.sm_count == 0) return left;
  left.sm_count = std::max(device.sm_count - sms, (device.sm_count + 7) / 8);
  const double share = static_cast<double>(left.sm_count) / device.sm_count;
  for (auto& peak : left.peak)
    if (peak) peak = share * *peak;
  return left;
}

double slowdown(const Work& work, int sms, double memory_share) {
  const auto held = std::lower_bound(kHeld.begin(), kHeld.end() - 1, sms);
  const double waves = work.waves[static_cast<std::size_t>(held - kHeld.begin())];
  const double left = 1 - std::clamp(memory_share, 0.0, kMostMemoryShare);
  return std::max(1.0, work.arithmetic * waves + work.memory / left);
}

LayerWork layer_work(const Layer& layer, const Device& device, Dtype compute) {
  // As many as three collectives may hold; a device whose collectives hold none is priced once.
  Devices devices{device};
  for (std::size_t i = 1; i < kHeld.size() && kHeld[i - 1] < 3 * device.collective_sms; ++i)
    devices.push_back(without(device, kHeld[i]));
  Sum forward, backward;
  double forward_launches = 0, backward_launches = 0;
  for (const Operator& op : layer.operators) {
    add(forward, op.forward, devices, compute);
    add(backward, op.backward, devices, compute);
    forward_launches += op.forward_kernels;
    backward_launches += op.backward_kernels;
  }
  return {work_of(forward, forward_launches * device.launch_interval),
          work_of(backward, backward_launches * device.launch_interval)};
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

Work memory_work() {
  Work work;
  work.memory = 1;
  return work;
}

}  // namespace accosim
