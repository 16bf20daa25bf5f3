// Changes of a scenario as the settings that make them: what knobs and ways to fit have in common. A change is applied
// by loading the scenario with its settings, and nowhere else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/spec/cluster.hpp"
#include "models/spec/training.hpp"
#include "sim/knobs/knob.hpp"

namespace accosim {

/// A value of the training: "implementation compiled".
Alternative of_training(const char* key, const std::string& value);
/// Fused attention that runs on the devices of each node group with naive attention; nothing where it is fused, or
/// where none runs.
std::vector<std::optional<Attention>> fused_where_naive(const Cluster& cluster);
/// "attention flash", in those groups.
Alternative of_groups(const Cluster& cluster, const std::vector<std::optional<Attention>>& attention);

/// What makes the training recompute that.
std::vector<std::string> recompute_settings(const Training& training, Recompute what, RecomputedBlocks blocks);
/// What writes down the micro-batches of all node groups, and the accumulation steps of those that have their own.
std::vector<std::string> work_settings(const Cluster& cluster);

}  // namespace accosim
