#include "sim/result/looks_wrong.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "models/base/quantity.hpp"
#include "sim/evaluation/crews.hpp"

namespace accosim {
namespace {

/// The fastest link of a GPU, in one direction.
struct Generation {
  std::string_view architecture;
  BytesPerSecond nvlink;  ///< all of a GPU's NVLinks: NVIDIA's data sheets, which add up both directions, halved
  BytesPerSecond pcie;    ///< 16 lanes
};
constexpr Generation kGenerations[] = {
    {"volta", {150e9}, {16e9}},
    {"ampere", {300e9}, {32e9}},
    {"hopper", {450e9}, {64e9}},
    {"blackwell", {900e9}, {128e9}},
};
constexpr BytesPerSecond kFastestAdapter{100e9};  ///< 800 Gbit/s
constexpr double kRounding = 1.05;

std::optional<Warning> inside(const Cluster& cluster, std::size_t group) {
  const NodeGroup& nodes = cluster.nodes[group];
  const auto known = std::find_if(std::begin(kGenerations), std::end(kGenerations), [&](const Generation& each) {
    return each.architecture == nodes.devices.front().architecture;
  });
  if (known == std::end(kGenerations) || nodes.gpus < 2) return std::nullopt;
  const bool pcie = nodes.intra.kind == "pcie";
  const BytesPerSecond most = pcie ? known->pcie : known->nvlink, written = nodes.intra.bandwidth;
  if (written <= kRounding * most) return std::nullopt;
  return Warning{"looks_wrong",
                 fmt::format("{} is {}, and {} of the generation {} has {} in one direction",
                             of_group(cluster, group, "intra/bandwidth"), to_text(written), pcie ? "PCIe" : "NVLink",
                             known->architecture, to_text(most)),
                 fmt::format("data sheets add up both directions: write one of them, at most {}", to_text(most))};
}

std::optional<Warning> between(const Cluster& cluster, std::size_t group) {
  const BytesPerSecond written = cluster.nodes[group].nics.bandwidth;
  if (gpu_count(cluster) <= cluster.nodes[group].gpus || written <= kRounding * kFastestAdapter) return std::nullopt;
  return Warning{"looks_wrong",
                 fmt::format("{} is {}, {:.0f} Gbit/s for each adapter, and the fastest that is sold has 800",
                             of_group(cluster, group, "nics/bandwidth"), to_text(written), 8 * written.value / 1e9),
                 "adapters are sold by bits: write Gbit/s, of one adapter in one direction, and their number in count"};
}

}  // namespace

std::vector<Warning> looks_wrong(const Cluster& cluster) {
  std::vector<Warning> warnings;
  for (std::size_t group = 0; group < cluster.nodes.size(); ++group)
    for (std::optional<Warning> warning : {inside(cluster, group), between(cluster, group)})
      if (warning) warnings.push_back(std::move(*warning));
  return warnings;
}

}  // namespace accosim
