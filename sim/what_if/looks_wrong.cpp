// Warnings of what a cluster says that no hardware has.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "models/base/quantity.hpp"
#include "models/base/text.hpp"
#include "models/spec/fabrics.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/what_if/warnings.hpp"

namespace accosim {
namespace {

/// The fastest GPU of a generation.
struct Generation {
  std::string_view architecture;
  BytesPerSecond
      nvlink;  ///< all of a GPU's NVLinks in one direction: NVIDIA's data sheets, which add up both, halved; 0: none
  BytesPerSecond pcie;   ///< 16 lanes
  FlopsPerSecond dense;  ///< matrix products in 16 bits, dense: half of what data sheets say with sparsity
};
constexpr Generation kGenerations[] = {
    {"volta", {150e9}, {16e9}, {130e12}},
    {"turing", {50e9}, {16e9}, {131e12}},
    {"ampere", {300e9}, {32e9}, {312e12}},
    {"ampere_rtx", {56.25e9}, {32e9}, {155e12}},
    {"ada", {0}, {32e9}, {366e12}},
    {"hopper", {450e9}, {64e9}, {990e12}},
    {"blackwell", {900e9}, {128e9}, {2500e12}},
    {"blackwell_rtx", {0}, {64e9}, {504e12}},
};

/// The fastest adapter of a kind that is sold, by the pages of those who sell or rent it.
struct FastestAdapter {
  std::string_view kind;
  BytesPerSecond bandwidth;
};
constexpr FastestAdapter kFastestAdapters[] = {
    {"infiniband", {100e9}}, {"infiniband_host", {100e9}}, {"roce", {100e9}}, {"tcp", {100e9}},
    {"omnipath", {50e9}},    {"slingshot", {50e9}},        {"efa", {50e9}},   {"efa_rdma", {50e9}},
    {"tcpx", {25e9}},        {"sockets", {100e9}},
};
constexpr double kRounding = 1.05;

Warning wrong(std::string message, std::string advice) {
  return {"looks_wrong", std::move(message), std::move(advice)};
}

const Generation* generation_of(const Device& device) {
  const auto known = std::ranges::find(kGenerations, device.architecture, &Generation::architecture);
  return known == std::end(kGenerations) ? nullptr : known;
}

std::optional<Warning> inside(const Cluster& cluster, std::size_t group) {
  const NodeGroup& nodes = cluster.nodes[group];
  const Generation* const known = generation_of(nodes.devices.front());
  if (known == nullptr || nodes.gpus < 2) return std::nullopt;
  const bool pcie = is_over_pcie(nodes.intra.kind);
  const BytesPerSecond most = pcie ? known->pcie : known->nvlink, written = nodes.intra.bandwidth;
  if (written <= kRounding * most) return std::nullopt;
  if (most <= BytesPerSecond{0})
    return wrong(fmt::format("{} is {}, and no GPU of the generation {} has NVLink",
                             of_group(cluster, group, "intra/kind"), nodes.intra.kind, known->architecture),
                 fmt::format("write \"pcie\", and the bandwidth of PCIe: {}", to_text(known->pcie)));
  return wrong(fmt::format("{} is {}, and {} of the generation {} has {} in one direction",
                           of_group(cluster, group, "intra/bandwidth"), to_text(written), pcie ? "PCIe" : "NVLink",
                           known->architecture, to_text(most)),
               fmt::format("data sheets add up both directions: write one of them, at most {}", to_text(most)));
}

/// How GPUs are joined, where no "links" say it.
std::optional<Warning> joined(const Cluster& cluster, std::size_t group) {
  const NodeGroup& nodes = cluster.nodes[group];
  const Device& device = nodes.devices.front();
  const IntraLink& intra = nodes.intra;
  if (generation_of(device) == nullptr) return std::nullopt;
  const bool volta = device.architecture == "volta";
  if (intra.kind == "cube_mesh" && !volta && intra.links == cube_mesh())
    return wrong(fmt::format("{} is cube_mesh, which joins the V100 of a DGX-1, and these are {}",
                             of_group(cluster, group, "intra/kind"), device.name),
                 "write \"nvswitch\", or the \"links\" between these GPUs");
  // Bridges join pairs of boards; on modules each pair of up to four GPUs has links of its own.
  const bool bridged = device.architecture == "turing" || device.architecture == "ampere_rtx";
  const int most = bridged ? 2 : 4;
  if (intra.kind != "nvlink" || !intra.links.empty() || nodes.gpus <= most) return std::nullopt;
  const char* const advice = bridged ? "bridges join pairs of boards, and a ring of all goes over PCIe: write \"pcie\""
                             : volta && nodes.gpus <= static_cast<int>(cube_mesh().size())
                                 ? "write \"cube_mesh\", which joins the V100 of a DGX-1, or the \"links\" that "
                                   "nvidia-smi topo -m shows"
                                 : "write \"nvswitch\"";
  return wrong(fmt::format("{} is nvlink, the same number of links between every two of {} {}, and no board has that "
                           "with more than {}",
                           of_group(cluster, group, "intra/kind"), nodes.gpus, device.name, most),
               advice);
}

std::optional<Warning> between(const Cluster& cluster, std::size_t group) {
  const NodeGroup& nodes = cluster.nodes[group];
  const auto fastest = std::ranges::find(kFastestAdapters, nodes.nics.kind, &FastestAdapter::kind);
  const BytesPerSecond written = nodes.nics.bandwidth;
  if (fastest == std::end(kFastestAdapters) || gpu_count(cluster) <= nodes.gpus ||
      written <= kRounding * fastest->bandwidth)
    return std::nullopt;
  return wrong(fmt::format("{} is {}, {:.0f} Gbit/s for each adapter, and the fastest of the kind {} has {:.0f}",
                           of_group(cluster, group, "nics/bandwidth"), to_text(written), 8 * written.value / 1e9,
                           nodes.nics.kind, 8 * fastest->bandwidth.value / 1e9),
               "adapters are sold by bits: write Gbit/s, of one adapter in one direction, and their number in count");
}

std::optional<Warning> peak(const Cluster& cluster, std::size_t group) {
  for (const Device& device : cluster.nodes[group].devices) {
    const Generation* const known = generation_of(device);
    if (known == nullptr) continue;
    for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
      const std::optional<FlopsPerSecond> written = device.peak[static_cast<std::size_t>(dtype)];
      if (!written || *written <= kRounding * known->dense) continue;
      return wrong(fmt::format("the peak of {} in {} is {:.0f} TFLOP/s, and the fastest GPU of the generation {} has "
                               "{:.0f}",
                               device.name, name_of(dtype), written->value / 1e12, known->architecture,
                               known->dense.value / 1e12),
                   "data sheets give twice as much, with sparsity; of a GPU of another generation write its "
                   "\"architecture\"");
    }
  }
  return std::nullopt;
}

std::optional<Warning> slower(const Cluster& cluster, std::size_t group) {
  constexpr double kMost = 10;  // a GPU that throttles or is shared is some times slower, or is taken out
  for (const Device& device : cluster.nodes[group].devices)
    if (device.slowdown > kMost || device.slowdown < 1 / kMost)
      return wrong(
          fmt::format("{} makes a GPU {:.3g} times {}", of_group(cluster, group, "device/slowdown"),
                      std::max(device.slowdown, 1 / device.slowdown), device.slowdown > 1 ? "slower" : "faster"),
          "it is how many times as long a micro-batch takes there: write 1.3 for a GPU that takes 30 % longer");
  return std::nullopt;
}

}  // namespace

std::vector<Warning> looks_wrong(const Cluster& cluster) {
  std::vector<Warning> warnings;
  if (!cluster.doubt.empty())
    warnings.push_back({"doubtful_network",
                        fmt::format("the links of {} were fitted to measurements of a network that may be set up "
                                    "wrongly: {}",
                                    in_quotes(cluster.name), cluster.doubt),
                        "mend the network, measure again and run accosim fit"});
  for (std::size_t group = 0; group < cluster.nodes.size(); ++group)
    for (std::optional<Warning> warning : {inside(cluster, group), joined(cluster, group), between(cluster, group),
                                           peak(cluster, group), slower(cluster, group)})
      if (warning) warnings.push_back(std::move(*warning));
  return warnings;
}

}  // namespace accosim
