#include "models/spec/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "models/base/text.hpp"

namespace accosim {

int capability_of(const NodeGroup& group) {
  int least = std::numeric_limits<int>::max();
  const std::string* last = nullptr;  // of most nodes all GPUs are alike
  for (const Device& device : group.devices) {
    if (last == nullptr || *last != device.architecture) least = std::min(least, capability_of(device.architecture));
    last = &device.architecture;
  }
  return least;
}

std::vector<Place> places_of(const Cluster& cluster) {
  std::vector<Place> places;
  int node = 0;
  for (std::size_t group = 0; group < cluster.nodes.size(); ++group) {
    for (int i = 0; i < cluster.nodes[group].count; ++i, ++node) {
      for (int gpu = 0; gpu < cluster.nodes[group].gpus; ++gpu) {
        places.push_back(Place{static_cast<int>(group), node, gpu});
      }
    }
  }
  return places;
}

int listed_index(const Cluster& cluster, int group) {
  return group + cluster.nodes[static_cast<std::size_t>(group)].absent_before;
}

std::string device_name(const Cluster& cluster, const Device& device) {
  const auto other = [&](const Device& d) { return d.name == device.name && d.slowdown != device.slowdown; };
  const bool ambiguous = std::ranges::any_of(
      cluster.nodes, [&](const NodeGroup& group) { return std::ranges::any_of(group.devices, other); });
  if (!ambiguous || device.slowdown == 1) return device.name;
  return fmt::format("{} ({:.3g} times slower)", device.name, device.slowdown);
}

double gpu_count(const Cluster& cluster) {
  double gpus = 0;
  for (const NodeGroup& group : cluster.nodes) gpus += static_cast<double>(group.count) * group.gpus;
  return gpus;
}

int node_count(const Cluster& cluster) {
  int nodes = 0;
  for (const NodeGroup& group : cluster.nodes) nodes += group.count;
  return nodes;
}

std::optional<double> price_per_hour(const Cluster& cluster) {
  double price = 0;
  for (const NodeGroup& group : cluster.nodes) {
    if (!group.price_per_gpu_hour) return std::nullopt;
    price += static_cast<double>(group.count) * group.gpus * *group.price_per_gpu_hour;
  }
  return price;
}

bool all_have_own_steps(const Cluster& cluster) {
  return std::ranges::none_of(cluster.nodes, [](const NodeGroup& group) { return group.accumulation_steps.empty(); });
}

bool identical_ranks(const Cluster& cluster) {
  const NodeGroup& first = cluster.nodes.front();
  return std::ranges::all_of(cluster.nodes, [&](const NodeGroup& group) {
    return group.micro_batch_size == first.micro_batch_size && group.accumulation_steps == first.accumulation_steps &&
           group.precision == first.precision && group.attention == first.attention &&
           std::ranges::all_of(group.devices, [&](const Device& device) { return device == first.devices.front(); });
  });
}

bool mixes_gpus(const Cluster& cluster) {
  const Device& first = cluster.nodes.front().devices.front();
  const auto other = [&](const Device& device) {
    if (device == first) return false;
    Device alike = device;
    alike.name = first.name;
    alike.slowdown = first.slowdown;
    return !(alike == first);
  };
  return std::ranges::any_of(cluster.nodes,
                             [&](const NodeGroup& group) { return std::ranges::any_of(group.devices, other); });
}

std::string unequal_in_words(const std::vector<NodeGroup>& groups, bool whole_groups) {
  const NodeGroup& first = groups.front();
  for (const NodeGroup& group : groups) {
    if (group.gpus != first.gpus)
      return fmt::format("as many GPUs in every node, and {} has {} where {} has {}", in_quotes(group.name), group.gpus,
                         in_quotes(first.name), first.gpus);
    if (whole_groups && group.count != first.count)
      return fmt::format("as many nodes in every node group, and {} has {} where {} has {}", in_quotes(group.name),
                         group.count, in_quotes(first.name), first.count);
  }
  return {};
}

}  // namespace accosim
