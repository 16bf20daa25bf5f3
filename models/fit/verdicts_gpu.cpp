// GPUs of one kind as things that should be alike.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "models/base/quantity.hpp"
#include "models/collectives/nccl_node.hpp"
#include "models/fit/verdicts.hpp"
#include "models/price/kernel.hpp"
#include "models/price/spread.hpp"

namespace accosim {
namespace {

// What a shipped profile says of another machine's kernels: with their source left out of the fits they are off by
// 10.6 % in the mean, those of other devices by 22 %, which are spreads of 0.133 and 0.277; bandwidths by less. A bus
// that has lost half of its lanes takes twice as long.
constexpr double kKnownSpread = 0.133, kInheritedSpread = 0.277, kBandwidthSpread = 0.1, kBusSpread = 0.11;
constexpr double kStreams = 8;       ///< so many times the L2 passes the memory
constexpr double kLargeCopy = 67e6;  ///< B of a copy whose begin does not count

/// By group and shape, in the order of the parts.
using AlikeGpus = std::map<std::pair<std::string, std::string>, Alike>;

struct GpuPlace {
  AlikeGpus& all;
  const InspectedGpu& gpu;
  std::size_t place, places;

  void add(Alike one, Seconds time, Seconds expected) const {
    Alike& at =
        all.try_emplace({fmt::format("{} {}", static_cast<int>(one.part), one.group), one.shape}, one).first->second;
    at.times.resize(places);
    at.expected.resize(places);
    at.times[place] = std::max(0.0, time.value);
    at.expected[place] = expected.value;
  }
};

void add_products(const GpuPlace& to) {
  for (const GpuProductSample& one : to.gpu.samples.products) {
    const Gemm& g = one.gemm;
    const std::size_t dtype = static_cast<std::size_t>(one.dtype);
    const bool known = to.gpu.kind && to.gpu.kind->peak[dtype];
    const bool own = known && to.gpu.kind->gemm[dtype] && !to.gpu.kind->gemm[dtype]->quality.inherited;
    to.add({.part = MachinePart::kKernels,
            .sample = "gemm",
            .group = fmt::format("GEMMs in {}", name_of(one.dtype)),
            .shape = fmt::format("{:.0f} x {:.0f} x {:.0f} x {:.0f} {}{}{}", g.m, g.n, g.k, g.batch, name_of(g.layout),
                                 g.accumulate ? ", added" : "", one.cold ? ", cold" : ""),
            .spread = own ? kKnownSpread : kInheritedSpread,
            .usual = kUsualOfGpus},
           one.time.mean(), known ? kernel_time(gemm_kernel(g), *to.gpu.kind, one.dtype) : Seconds{});
  }
}

void add_kernels(const GpuPlace& to) {
  for (const GpuKernelSample& one : to.gpu.samples.kernels) {
    if (one.bytes < kStreams * to.gpu.samples.l2) continue;
    const Kernel kernel = accocal_kernel(one.kernel, one.dtype, one.rows, one.columns);
    to.add({.part = MachinePart::kMemory,
            .sample = "kernel",
            .group = "memory-bound kernels",
            .shape = fmt::format("{} of {:.0f} x {:.0f} {}{}", name_of(one.kernel), one.rows, one.columns,
                                 name_of(one.dtype), one.cold ? ", cold" : ""),
            .spread = kBandwidthSpread,
            .usual = kUsualOfGpus},
           one.time.mean(), to.gpu.kind ? kernel_time(kernel, *to.gpu.kind, one.dtype) : Seconds{});
  }
}

void add_host(const GpuPlace& to) {
  NodeGroup node;
  if (to.gpu.kind) node.devices = {*to.gpu.kind};
  for (const GpuLaunchSample& one : to.gpu.samples.launches)
    if (one.kind == "host_launch")
      to.add({.part = MachinePart::kHost,
              .sample = "launch",
              .group = "launch of a kernel",
              .spread = kHost,
              .usual = kUsualOfHosts},
             one.time.mean(), to.gpu.kind ? to.gpu.kind->launch_interval : Seconds{});
  for (const GpuCopySample& one : to.gpu.samples.copies) {
    const bool out = one.direction == "to_host", crosses = out || one.direction == "to_device";
    if (!crosses || one.memory != "pinned" || one.bytes.value < kLargeCopy) continue;
    to.add({.part = MachinePart::kBus,
            .sample = "copy",
            .group = out ? "copies to the host" : "copies to the GPU",
            .shape = print_quantity(one.bytes.value, Dimension::kData),
            .spread = kBusSpread,
            .bytes = one.bytes.value},
           one.time.mean(), to.gpu.kind ? one.bytes / BytesPerSecond{1e9 * slot_of(node)} : Seconds{});
  }
}

const char* look_at(MachinePart part) {
  switch (part) {
    case MachinePart::kMemory:
      return "ECC errors and remapped rows (nvidia-smi -q -d ECC,ROW_REMAPPER), the memory clock, and whether "
             "something else runs on it (nvidia-smi)";
    case MachinePart::kHost:
      return "the host: its frequency governor, who else uses its cores, pinning to the GPU's NUMA node (nvidia-smi "
             "topo -m), CUDA_LAUNCH_BLOCKING and profilers";
    case MachinePart::kBus:
      return "the width and generation of its PCIe link (nvidia-smi -q -d PCIE; lspci -vv: LnkSta), and whether the "
             "host's memory is on the GPU's NUMA node";
    default:
      return "clocks and throttling (nvidia-smi -q -d CLOCK,PERFORMANCE), the power limit, temperature, and whether "
             "something else runs on it (nvidia-smi)";
  }
}

}  // namespace

std::vector<Verdict> verdicts_of(const std::vector<InspectedGpu>& gpus) {
  AlikeGpus by_shape;
  for (std::size_t place = 0; place < gpus.size(); ++place) {
    const GpuPlace to{by_shape, gpus[place], place, gpus.size()};
    add_products(to);
    add_kernels(to);
    add_host(to);
  }
  std::vector<Alike> all;
  for (auto& [key, one] : by_shape) {
    one.times.resize(gpus.size());
    one.expected.resize(gpus.size());
    all.push_back(std::move(one));
  }
  std::vector<Verdict> verdicts = judged(all, gpus.size());
  for (Verdict& one : verdicts) {
    const InspectedGpu& gpu = gpus[one.place];
    one.where = "GPU " + gpu.name;
    one.against = one.against.empty() ? "the other GPUs'" : fmt::format("the profile {} says", gpu.kind->name);
    if (!one.slow()) continue;
    one.look_at = look_at(one.part);
    if (!gpu.samples.throttled.empty())
      one.look_at += fmt::format("; it said that its clocks were held down: {}", gpu.samples.throttled);
  }
  return verdicts;
}

}  // namespace accosim
