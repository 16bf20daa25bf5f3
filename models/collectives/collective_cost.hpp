// What a collective costs, in parts that a network can play with contention; and what that takes alone.
#pragma once

#include "models/base/units.hpp"
#include "models/collectives/ring.hpp"
#include "models/collectives/steps.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// All zero for a single rank. Alone on the fabric it takes the sum of its terms.
struct CollectiveCost {
  Seconds latency{};    ///< launch, all steps and the pipeline's filling, paid once before the bytes flow
  Seconds intra{};      ///< the bytes of all steps through the slowest node's inner links
  Bytes edge_bytes{};   ///< what each edge between neighbouring nodes carries, flags of LL and contention() included; 0
                        ///< on one node
  BytesPerSecond edge;  ///< edge_bandwidth(); read where an edge carries bytes
  Bytes sent_per_rank{};  ///< mean over the ranks, payload only
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 0;                 ///< channels_of(): each holds a multiprocessor; 0: it takes none
  Bytes message{};                  ///< the largest on the wire between nodes, flags excluded; 0 on one node
  double turns = 1;                 ///< as StepTime has it, of what goes between nodes
  double steps = 0, net_steps = 0;  ///< on a chunk's longest way, and those of them between nodes
  StepTerms terms{};                ///< what it takes alone, by what takes it
};

/// What the slowest edge between nodes carries: its wire's rate (route.hpp), what may be under way, and what its ends
/// move.
BytesPerSecond edge_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring);

/// Time alone on the fabric: latency + max(intra, the slowest edge), an edge being as fast as the slower of its
/// adapters and its share of the core.
Seconds collective_time(const CollectiveCost& cost);

}  // namespace accosim
