// What a collective costs on a two-level hierarchy, by the algorithm and protocol that NCCL would choose. The part
// inside nodes is a closed form; the part between nodes is given as bytes an edge of the ring (or tree) carries, so
// that a network can play it with contention.
#pragma once

#include <optional>

#include "models/base/units.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// The way that NCCL or a tuner chooses (nccl_cost.hpp), inside a node and between nodes. An exchange is its own way:
/// all-to-all, every pair at once; send/recv, from each rank to the next. accocal's own rings have neither trees nor
/// protocols, and a step takes one latency. `bytes` is the full buffer (what
/// nccl-tests calls size): all-reduce and broadcast of it, reduce-scatter from it, all-gather into it, all-to-all of
/// one rank's whole input. `only`: that algorithm, as NCCL_ALGO says; where the collective has it.
CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                               std::optional<Algorithm> only = {});

/// The time of it, alone on the fabric.
Seconds collective_time(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                        std::optional<Algorithm> only = {});

}  // namespace accosim
