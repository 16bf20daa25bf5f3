#include "sim/what_if/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/read/read_parallel.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

/// Pauses of the ranks that are kept, by their new numbers; those without any are gone. `kept`: by rank of the whole.
void keep_pauses(std::vector<Pause>& pauses, const std::vector<bool>& kept) {
  std::vector<Pause> left;
  for (Pause& pause : pauses) {
    const bool all = pause.ranks.empty();
    std::vector<int> ranks;
    for (const int rank : pause.ranks)
      if (kept[rank]) ranks.push_back(static_cast<int>(std::count(kept.begin(), kept.begin() + rank, true)));
    pause.ranks = std::move(ranks);
    if (all || !pause.ranks.empty()) left.push_back(std::move(pause));
  }
  pauses = std::move(left);
}

Kept all_of(const Cluster& cluster, bool kept) {
  Kept all;
  for (const NodeGroup& group : cluster.nodes) all.emplace_back(group.devices.size(), kept);
  return all;
}

bool is_uniform(const NodeGroup& group) {
  return std::ranges::all_of(group.devices, [&](const Device& device) { return device == group.devices.front(); });
}

int gpus_of(const Cluster& cluster, const Kept& kept) {
  int gpus = 0;
  for (std::size_t g = 0; g < kept.size(); ++g)
    gpus += cluster.nodes[g].count * static_cast<int>(std::ranges::count(kept[g], true));
  return gpus;
}

/// The names of all that is not kept, by kind; by node group too where a kind is kept in part.
std::string others_of(const Cluster& cluster, const Kept& kept, const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) {
    int left = 0;
    for (std::size_t g = 0; g < kept.size(); ++g)
      for (std::size_t gpu = 0; gpu < kept[g].size(); ++gpu)
        if (!kept[g][gpu] && cluster.nodes[g].devices[gpu] == kind.device) left += cluster.nodes[g].count;
    if (left > 0) names.push_back((left < kind.gpus ? "other " : "") + name_of(cluster, {kind.device, left}));
  }
  constexpr std::size_t kMostNames = 4;
  if (names.size() > kMostNames) return fmt::format("GPUs of {} other kinds", names.size());
  return in_words(names);
}

}  // namespace

std::vector<Kind> kinds_of(const Cluster& cluster) {
  std::vector<Kind> kinds;
  for (const NodeGroup& group : cluster.nodes)
    for (const Device& device : group.devices) {
      auto kind = std::ranges::find(kinds, device, &Kind::device);
      if (kind == kinds.end()) kind = kinds.insert(kinds.end(), Kind{device, 0});
      kind->gpus += group.count;
    }
  return kinds;
}

std::string name_of(const Cluster& cluster, const Kind& kind) {
  return fmt::format("{} {}", kind.gpus, device_name(cluster, kind.device));
}

Kept kept_of(const Cluster& cluster, const Device& device) {
  Kept kept = all_of(cluster, false);
  for (std::size_t g = 0; g < kept.size(); ++g)
    for (std::size_t gpu = 0; gpu < kept[g].size(); ++gpu) kept[g][gpu] = cluster.nodes[g].devices[gpu] == device;
  return kept;
}

std::vector<Part> uniform_parts(const Cluster& cluster) {
  const std::vector<Kind> kinds = kinds_of(cluster);
  std::vector<Part> parts;
  const auto add = [&](std::string name, Kept kept) {
    if (kept == all_of(cluster, true)) return;
    if (std::ranges::any_of(parts, [&](const Part& part) { return part.kept == kept; })) return;
    parts.push_back({std::move(name), others_of(cluster, kept, kinds), gpus_of(cluster, kept), std::move(kept)});
  };
  for (const Kind& kind : kinds) add(name_of(cluster, kind), kept_of(cluster, kind.device));
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    const NodeGroup& group = cluster.nodes[g];
    if (!is_uniform(group)) continue;
    Kept kept = all_of(cluster, false);
    kept[g].assign(kept[g].size(), true);
    const Kind kind{group.devices.front(), gpus_of(cluster, kept)};
    add(fmt::format("{} of \"{}\"", name_of(cluster, kind), group.name), std::move(kept));
  }
  std::ranges::stable_sort(parts, [](const Part& a, const Part& b) { return a.gpus > b.gpus; });
  if (parts.size() > kMostParts) parts.resize(kMostParts);
  return parts;
}

Scenario part_of(const Scenario& scenario, const Kept& kept) {
  Scenario part = scenario;
  std::vector<bool> ranks;
  for (const Place& place : places_of(scenario.cluster)) ranks.push_back(kept[place.group][place.gpu]);
  keep_pauses(part.training.unsteady.pauses, ranks);
  part.cluster.nodes.clear();
  for (std::size_t g = 0; g < kept.size(); ++g) {
    const NodeGroup& group = scenario.cluster.nodes[g];
    std::vector<std::size_t> gpus;
    for (std::size_t gpu = 0; gpu < kept[g].size(); ++gpu)
      if (kept[g][gpu]) gpus.push_back(gpu);
    if (gpus.empty()) continue;
    NodeGroup left = group;
    left.gpus = static_cast<int>(gpus.size());
    left.devices.clear();
    left.accumulation_steps.clear();
    for (const std::size_t gpu : gpus) left.devices.push_back(group.devices[gpu]);
    const std::vector<std::vector<int>>& links = group.intra.links;
    if (!links.empty()) {
      left.intra.links.assign(gpus.size(), std::vector<int>(gpus.size()));
      for (std::size_t i = 0; i < gpus.size(); ++i)
        for (std::size_t j = 0; j < gpus.size(); ++j) left.intra.links[i][j] = links[gpus[i]][gpus[j]];
    }
    part.cluster.nodes.push_back(std::move(left));
  }
  return part;
}

double samples_of(const Scenario& part, const ScheduleSpec& spec, double samples) {
  return meets_every_micro_batch(spec) ? std::min(samples, samples_asked(part)) : samples;
}

std::string lacking_alone(const Scenario& part, const ScheduleSpec& spec) {
  const Parallel& parallel = part.training.parallel;
  const int model = model_ranks_of(parallel);
  if (static_cast<int>(gpu_count(part.cluster)) % model != 0 ||
      !can_split_tensors(part.model, part.cluster, parallel.tensor) ||
      !holds_replicas(part.cluster, island_of(spec), parallel))
    return "they hold no whole replicas of a model that is split as here";
  const int first = part.cluster.nodes.front().gpus;
  const bool alike =
      std::ranges::all_of(part.cluster.nodes, [&](const NodeGroup& group) { return group.gpus == first; });
  return is_hybrid(spec) && !alike ? "hybrid sharding needs as many GPUs in every node" : "";
}

}  // namespace accosim
