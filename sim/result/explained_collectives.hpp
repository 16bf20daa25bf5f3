// What the collectives of an update are and what each costs: algorithm, messages, steps, and which term binds. And how
// that grows with the number of nodes.
#pragma once

#include <string>
#include <vector>

#include "models/spec/cluster.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/explain.hpp"

namespace accosim {

/// One row for each collective of the first rank's last steady update that differs visibly from the others in kind,
/// bytes or ranks; the first that is made comes first.
std::vector<CollectiveRow> collectives_of_update(const SteadyPlay& play);

/// Of each kind of adapters in a cluster of several nodes: that its constants rest on one machine, or on none.
std::vector<std::string> evidence_notes(const Cluster& cluster);

/// An all-reduce and an all-gather of 8 B, 1 MiB, 25 MiB and 1 GiB over 2, 4, ... 1,024 nodes like the cluster's
/// first, by the cluster's own fabric and NCCL.
std::vector<CollectiveRow> growth_of(const Cluster& cluster);

}  // namespace accosim
