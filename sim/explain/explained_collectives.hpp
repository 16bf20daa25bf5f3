// What the collectives of an update are and what each costs: algorithm, messages, steps, and which term binds. And how
// that grows with the number of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/cluster.hpp"
#include "sim/evaluation/steady.hpp"

namespace accosim {

/// A collective and what it costs where nothing else runs.
struct CollectiveRow {
  std::string name;        ///< as the schedule calls it, or its kind
  std::int64_t count = 0;  ///< in an update
  int ranks = 1, nodes = 1;
  Bytes bytes;  ///< the full buffer
  std::string algorithm, protocol;
  int channels = 0;  ///< 0: none that hold multiprocessors
  Bytes message;     ///< the largest between nodes; 0: none goes there, or its size is not followed
  double steps = 0, net_steps = 0, turns = 1;
  Seconds alone;
  double spread = 0;                                   ///< of log(measured / predicted)
  std::vector<std::pair<std::string, Seconds>> terms;  ///< which add up to `alone`
  std::string binds;                                   ///< the largest of them
};

/// One row for each collective of the first rank's last steady update that differs visibly from the others in kind,
/// bytes or ranks; the first that is made comes first.
std::vector<CollectiveRow> collectives_of_update(const SteadyPlay& play);

/// Of each kind of adapters in a cluster of several nodes: that its constants rest on one machine, or on none.
std::vector<std::string> evidence_notes(const Cluster& cluster);

/// An all-reduce and an all-gather of 8 B, 1 MiB, 25 MiB and 1 GiB over 2, 4, ... 1,024 nodes like the cluster's
/// first, by the cluster's own fabric and NCCL.
std::vector<CollectiveRow> growth_of(const Cluster& cluster);

/// For each of these rows the index of the next larger message of its collective that takes less time on as many nodes;
/// none where larger ones take longer, as they should.
std::vector<std::optional<std::size_t>> faster_though_larger(const std::vector<CollectiveRow>& rows);

}  // namespace accosim
