// Settings are written for the place that decides: a node group's own micro-batch and attention stand before those of
// the training.
#include "sim/knobs/settings.hpp"

#include <fmt/format.h>

#include "sim/evaluation/crews.hpp"

namespace accosim {
namespace {

/// Nothing where one of the group's devices has none.
std::optional<Attention> fused_on(const NodeGroup& group) {
  Attention fused = Attention::kFlash;
  for (const Device& device : group.devices) {
    if (!device.attention && device.flash_attention_efficiency == 0) return std::nullopt;
    if (!runs_on(device.architecture, fused)) fused = Attention::kMemoryEfficient;
  }
  return fused;
}

}  // namespace

Alternative of_training(const char* key, const std::string& value) {
  return {fmt::format("{} {}", key, value), {}, {fmt::format("/training/{}={}", key, value)}};
}

std::vector<std::optional<Attention>> fused_where_naive(const Cluster& cluster) {
  return mapped<std::optional<Attention>>(cluster.nodes, [](const NodeGroup& group) {
    return group.attention == Attention::kNaive ? fused_on(group) : std::nullopt;
  });
}

Alternative of_groups(const Cluster& cluster, const std::vector<std::optional<Attention>>& attention) {
  Alternative all;
  for (std::size_t g = 0; g < attention.size(); ++g) {
    if (!attention[g]) continue;
    const std::string name = name_of(*attention[g]);
    all.set.push_back(fmt::format("{}={}", of_group(cluster, g, "attention"), name));
    if (all.text.find(name) == std::string::npos) all.text += (all.text.empty() ? "attention " : " and ") + name;
  }
  return all;
}

std::vector<std::string> recompute_settings(const Training& training, Recompute what, RecomputedBlocks blocks) {
  std::vector<std::string> set = of_training("activation_recompute", name_of(what)).set;
  const RecomputedBlocks now = training.recomputed_blocks;
  // All are of whole blocks, and only one of them may be written.
  const bool whole = what == Recompute::kFull || what == Recompute::kFullEarlyStop;
  const auto write = [&](const char* key, auto before, auto then, auto usual) {
    if (then == before) return;
    set.push_back(fmt::format("/training/{}={}", key, whole && then != usual ? fmt::to_string(then) : "null"));
  };
  write("recompute_every", now.every, blocks.every, 1);
  write("recompute_fraction", now.fraction, blocks.fraction, 1.0);
  write("recompute_layers", now.first, blocks.first, 0);
  return set;
}

std::vector<std::string> work_settings(const Cluster& cluster) {
  std::vector<std::string> set;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    const NodeGroup& group = cluster.nodes[g];
    set.push_back(fmt::format("{}={}", of_group(cluster, g, "micro_batch_size"), group.micro_batch_size));
    if (!group.accumulation_steps.empty())
      set.push_back(fmt::format("{}=[{}]", of_group(cluster, g, "gradient_accumulation_steps"),
                                fmt::join(group.accumulation_steps, ",")));
  }
  return set;
}

}  // namespace accosim
