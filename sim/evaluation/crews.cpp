#include "sim/evaluation/crews.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace accosim {
namespace {

bool alike(const NodeGroup& group, std::size_t a, std::size_t b) {
  const std::vector<int>& steps = group.accumulation_steps;
  return group.devices[a] == group.devices[b] && (steps.empty() || steps[a] == steps[b]);
}

}  // namespace

std::vector<Crew> crews_of(const Cluster& cluster) {
  std::vector<Crew> crews;
  int first_rank = 0;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    const NodeGroup& group = cluster.nodes[g];
    const auto first = static_cast<std::ptrdiff_t>(crews.size());
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      auto crew = std::find_if(crews.begin() + first, crews.end(), [&](const Crew& each) {
        return alike(group, static_cast<std::size_t>(each.gpus.front()), static_cast<std::size_t>(gpu));
      });
      if (crew == crews.end()) crew = crews.insert(crews.end(), Crew{static_cast<int>(g), {}, 0, first_rank + gpu});
      crew->gpus.push_back(gpu);
      crew->ranks += group.count;
    }
    first_rank += group.count * group.gpus;
  }
  return crews;
}

std::string name_of(const Cluster& cluster, const Crew& crew) {
  const NodeGroup& group = cluster.nodes[crew.group];
  const std::string device = device_name(cluster, group.devices[crew.gpus.front()]);
  return cluster.nodes.size() > 1 ? fmt::format("{} of \"{}\"", device, group.name) : device;
}

std::string of_group(const Cluster& cluster, std::size_t group, const char* key) {
  return fmt::format("/cluster/nodes/{}/{}", listed_index(cluster, static_cast<int>(group)), key);
}

}  // namespace accosim
