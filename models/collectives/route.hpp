// Which links lie between two nodes, and how the members of a group share them. Prices, the player and messages all ask
// here; a fabric of another shape is another answer to these questions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// A link of the cluster, one direction: all of a node's adapters, those next to one GPU, the core of an oversubscribed
/// fabric, what joins a node group to others that are apart.
struct LinkName {
  enum Kind : std::uint8_t { kNode, kAdapter, kCore, kNodeGroup } kind = kNode;
  int number = 0;   ///< of the node, or the node group
  int adapter = 0;  ///< the first that is next to the GPU
  bool in = false;

  auto operator<=>(const LinkName&) const = default;
};
/// "node 3 adapter 1 out".
std::string in_words(const LinkName& link);

struct Hop {
  LinkName link;
  BytesPerSecond bandwidth;
  Bytes burst{};  ///< of its token bucket; 0: it has none
};

/// Where bytes leave a node or come into it: through all of its adapters together, or those next to some GPUs.
inline constexpr int kAllAdapters = -1;
struct Port {
  int node = 0, node_group = 0;
  int adapter = kAllAdapters;
};

/// The links from one node to another, in the order in which flows list them.
std::vector<Hop> route(const Cluster& cluster, const Port& from, const Port& to);
/// Of a wire between nodes of two groups, one way.
Seconds wire_latency(const Cluster& cluster, int node_group, int other);
/// What a message between two groups that are apart takes longer than one inside a group; 0: none are.
Seconds latency_apart(const Cluster& cluster);
/// The links that all flows may take, whoever meets; those of single adapters come with who uses them. None in a
/// cluster of one node.
std::vector<Hop> common_links(const Cluster& cluster);

/// The ports of the ring's edge `edge`, from its node to the next: one pair for each set of adapters that is next to
/// some of its GPUs. Where all GPUs of both nodes take part they use all adapters together.
struct PortPair {
  Port from, to;
};
std::vector<PortPair> ports_of(const Cluster& cluster, const Ring& ring, std::size_t edge);

/// Number of the ring's edges that lead from one node group to another that is apart from it.
int edges_apart(const Cluster& cluster, const Ring& ring);

/// What an edge of the ring carries while all of its edges carry the same: the slowest link's rate over the flows that
/// take it. `rings`: so many rings, alike, run at once, as those of ranks with one place in their nodes do.
BytesPerSecond edge_wire(CollectiveKind kind, const Cluster& cluster, const Ring& ring, std::size_t edge,
                         double rings = 1);
/// The slowest of all edges.
BytesPerSecond wire_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring, double rings = 1);

}  // namespace accosim
