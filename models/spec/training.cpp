#include "models/spec/training.hpp"

#include <fmt/format.h>

#include "models/spec/cluster.hpp"

namespace accosim {

std::string in_words(const RecomputedBlocks& blocks) {
  if (blocks.first > 0) return fmt::format(" of the first {} blocks of each chunk", blocks.first);
  if (blocks.every > 1) {
    const char* const ending = blocks.every == 2 ? "nd" : blocks.every == 3 ? "rd" : "th";
    return fmt::format(" of every {}{} block", blocks.every, ending);
  }
  return blocks.fraction < 1 ? fmt::format(" of {:.3g} of the blocks", blocks.fraction) : "";
}

std::vector<std::vector<int>> teams_of(const Cluster& cluster, const Parallel& parallel, Island island) {
  std::vector<std::size_t> first_of_group, joined;  // by GPU of every node group one of its team, which is no later
  for (const NodeGroup& group : cluster.nodes) {
    const std::size_t first = joined.size();
    first_of_group.push_back(first);
    for (const Device& device : group.devices) {
      const auto same = std::ranges::find(group.devices, device);
      joined.push_back(first + static_cast<std::size_t>(same - group.devices.begin()));
    }
  }
  const auto root = [&](std::size_t gpu) {
    while (joined[gpu] != gpu) gpu = joined[gpu];
    return gpu;
  };
  if (model_ranks_of(parallel) > 1) {
    const std::vector<Place> places = places_of(cluster);
    const auto gpu_of = [&](int rank) {
      const Place& place = places[static_cast<std::size_t>(rank)];
      return first_of_group[static_cast<std::size_t>(place.group)] + static_cast<std::size_t>(place.gpu);
    };
    for (const std::vector<int>& replica : groups_of(layout_of(cluster, island, parallel), {kOneModel}).members)
      for (const int rank : replica) {
        const std::size_t a = root(gpu_of(replica.front())), b = root(gpu_of(rank));
        joined[std::max(a, b)] = std::min(a, b);
      }
  }
  std::vector<std::size_t> roots;
  std::vector<std::vector<int>> teams;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    teams.emplace_back();
    for (std::size_t gpu = 0; gpu < cluster.nodes[g].devices.size(); ++gpu) {
      const std::size_t own = root(first_of_group[g] + gpu);
      const auto known = std::ranges::find(roots, own);
      teams.back().push_back(static_cast<int>(known - roots.begin()));
      if (known == roots.end()) roots.push_back(own);
    }
  }
  return teams;
}

bool can_be_divided(const Cluster& cluster, const Training& training, Island island) {
  const int model = model_ranks_of(training.parallel);
  if (identical_ranks(cluster)) return false;
  if (model == 1) return true;
  if (static_cast<int>(gpu_count(cluster)) % model != 0) return false;  // no whole replicas
  const std::vector<std::vector<int>> teams = teams_of(cluster, training.parallel, island);
  return std::ranges::any_of(teams, [](const std::vector<int>& group) {
    return std::ranges::any_of(group, [](int team) { return team != 0; });
  });
}

bool has_one_micro_batch(const Cluster& cluster, const Training& training) {
  return std::ranges::all_of(cluster.nodes, [&](const NodeGroup& group) {
    return group.micro_batch_size == training.micro_batch_size && group.accumulation_steps.empty();
  });
}

int accumulation_steps_of(const NodeGroup& group, int gpu, const Training& training) {
  if (group.accumulation_steps.empty()) return training.gradient_accumulation_steps;
  return group.accumulation_steps[static_cast<std::size_t>(gpu)];
}

}  // namespace accosim
