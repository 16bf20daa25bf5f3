// What a prediction rests on.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "reports/human.hpp"
#include "reports/page.hpp"

namespace accosim {
namespace {

constexpr double kGiga = 1e9;

/// "81 measured kernels, typical error 5.1 %"; of a relative where they were measured on one.
std::string in_words(const FitQuality& quality) {
  std::string text = quality.samples > 0 ? fmt::format("{} measured kernels", quality.samples) : "measured kernels";
  if (quality.inherited) text += " of a relative of the device";
  if (quality.other_generation) text += " of another generation";
  return fmt::format("{}, typical error {}", text, human_percent(quality.spread));
}

std::string known(const Device& device, Dtype dtype) {
  const auto& fit = device.gemm[static_cast<std::size_t>(dtype)];
  std::string text = fit ? "matrix products: fitted to " + in_words(fit->quality)
                         : std::string("matrix products: a share of the peak that the profile gives, not fitted");
  if (device.attention) text += "; fused attention: fitted to " + in_words(device.attention->quality);
  if (!device.kernels->empty()) text += "; kernels that accocal measured on it";
  return text;
}

std::string known(const LinkQuality& quality) {
  return fmt::format("typical error of collectives {} from 1 MiB, {} below", human_percent(quality.spread),
                     human_percent(quality.spread_small));
}

std::string figures(const Device& device, Dtype dtype) {
  const auto& peak = device.peak[static_cast<std::size_t>(dtype)];
  return fmt::format("{}{} at {} of memory",
                     peak ? fmt::format("{}/s {}, ", human_flops(Flops{peak->value}), name_of(dtype)) : "",
                     human_memory(device.memory), human_rate(device.memory_bandwidth));
}

class Ground {
 public:
  void add(const std::string& what, const std::string& name, const std::string& figures, const std::string& known) {
    JsonValue row = json_object({{"what", what}, {"name", name}, {"figures", figures}, {"known", known}});
    const std::string text = dump_json(row);
    if (std::find(seen_.begin(), seen_.end(), text) != seen_.end()) return;
    seen_.push_back(text);
    rows_.push_back(std::move(row));
  }
  std::vector<JsonValue> take() { return std::move(rows_); }

 private:
  std::vector<std::string> seen_;
  std::vector<JsonValue> rows_;
};

}  // namespace

JsonValue ground_json(const Scenario& scenario) {
  Ground ground;
  const std::vector<NodeGroup>& groups = scenario.cluster.nodes;
  for (const NodeGroup& group : groups)
    for (const Device& device : group.devices)
      ground.add("GPU", device_name(scenario.cluster, device), figures(device, group.precision),
                 known(device, group.precision));
  int nodes = 0;
  for (const NodeGroup& group : groups) nodes += group.count;
  for (const NodeGroup& group : groups)
    if (group.gpus > 1)
      ground.add("links in a node", group.intra.kind, human_rate(group.intra.bandwidth) + " a GPU and direction",
                 known(group.intra.quality));
  for (const NodeGroup& group : groups)
    if (nodes > 1)
      ground.add("links between nodes", group.nics.kind,
                 fmt::format("{} x {:.4g} Gbit/s a node and direction", group.nics.count,
                             8 * group.nics.bandwidth.value / kGiga),
                 known(group.nics.quality));
  if (nodes > 1 && (scenario.cluster.fabric.oversubscription > 1 || scenario.cluster.fabric.latency.value > 0))
    ground.add("fabric", "",
               fmt::format("oversubscribed {:.3g} to 1, {} of wire", scenario.cluster.fabric.oversubscription,
                           human_time(scenario.cluster.fabric.latency)),
               "as the scenario says");
  if (scenario.cluster.fabric.between_groups)
    ground.add(
        "links between sites", "",
        fmt::format("{:.4g} Gbit/s, {} one way", 8 * scenario.cluster.fabric.between_groups->bandwidth.value / kGiga,
                    human_time(scenario.cluster.fabric.between_groups->latency)),
        "as the scenario says");
  return ground.take();
}

}  // namespace accosim
