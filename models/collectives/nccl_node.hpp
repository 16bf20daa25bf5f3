// Nodes of a cluster as NCCL sees them.
#pragma once

#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/nccl_graph.hpp"

namespace accosim {

/// NCCL's rate of an NVLink over its own: 20 GB/s of 25, 20.6 of 25, 40.1 of 50 (src/graph/topo.h).
inline constexpr double kNvlinkCounted = 0.8;

Cpu cpu_of(const NodeGroup& group);  ///< AMD's with Ampere, Intel's otherwise, unless NodeGroup::cpu says it
/// Of an adapter's or a GPU's slot, GB/s as NCCL counts PCIe: 12 up to Volta and Turing, 24 for Ampere and Ada, 48
/// since Hopper, unless Nics::slot says otherwise.
double slot_of(const NodeGroup& group);

/// The most that a ring of several nodes moves each way, whatever other rings leave of adapters and fabric: what its
/// threads copy, what its GPUs' slots carry, and the adapters that its channels use, of which the search finds one or
/// more channels each. Infinite for plain networks and accocal's own rings.
BytesPerSecond ends_bandwidth(const Cluster& cluster, const Ring& ring);

/// What the search finds for a ring of several nodes: Cluster::graphs, where it has all GPUs of its nodes, or the least
/// of all nodes (nccl_search.hpp).
NcclGraphs graphs_between(const Cluster& cluster, const Ring& ring);

}  // namespace accosim
