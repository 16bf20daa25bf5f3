// The parts of an unlike cluster that could train alone: the GPUs of one kind, or the nodes of one group.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/spec/scenario.hpp"

namespace accosim {

/// GPUs of one device, in the order in which the cluster has them.
struct Kind {
  Device device;
  int gpus = 0;
};
std::vector<Kind> kinds_of(const Cluster& cluster);
/// "16 A100-SXM4-80GB".
std::string name_of(const Cluster& cluster, const Kind& kind);

/// Which GPUs a part has, by node group and by number in the node.
using Kept = std::vector<std::vector<bool>>;

struct Part {
  std::string name;    ///< "16 A100-SXM4-80GB", "56 A100-SXM4-80GB of \"a100\""
  std::string others;  ///< the GPUs that are not in it, likewise
  int gpus = 0;
  Kept kept;
};

inline constexpr std::size_t kMostParts = 8;  ///< that are played alone

/// Every part whose GPUs are of one kind and that is not the whole: the kinds, then node groups that are no kind by
/// themselves. Of more than kMostParts those with the most GPUs. None where all GPUs are alike and in one node group.
std::vector<Part> uniform_parts(const Cluster& cluster);

/// All GPUs of one device.
Kept kept_of(const Cluster& cluster, const Device& device);

/// The part by itself, with the work that is written for its GPUs and the pauses of its own ranks.
Scenario part_of(const Scenario& scenario, const Kept& kept);

/// How many samples an update a part is played at that should do `samples`. What communicates in every micro-batch is
/// played piece by piece: at no more of them than are written for its GPUs.
double samples_of(const Scenario& part, const ScheduleSpec& spec, double samples);

/// What a part cannot be trained for under a schedule: "hybrid sharding needs as many GPUs in every node"; empty where
/// it can.
std::string lacking_alone(const Scenario& part, const ScheduleSpec& spec);

}  // namespace accosim
