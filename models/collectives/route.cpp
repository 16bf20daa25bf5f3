// One fabric: every node has its adapters' rate into a core that never limits or is oversubscribed; node groups that
// are apart have one link each to all others. All edges of a ring cross the core at once and share it: with equal bytes
// on each, max-min sharing ends with the slowest adapter or, if the core is what limits, with all of them together.
#include "models/collectives/route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

bool are_apart(const Cluster& cluster, int node_group, int other) {
  return cluster.fabric.between_groups.has_value() && node_group != other;
}

std::size_t after(const Ring& ring, std::size_t edge) { return (edge + 1) % ring.node.size(); }

const NodeGroup& at(const Cluster& cluster, int node_group) {
  return cluster.nodes[static_cast<std::size_t>(node_group)];
}

Hop adapter_hop(const Cluster& cluster, const Port& port, bool in) {
  const NodeGroup& group = at(cluster, port.node_group);
  // With fewer adapters than GPUs each is a port; with more each GPU has several.
  return {{LinkName::kAdapter, port.node, port.adapter, in},
          node_bandwidth(group, {first_gpu_at(group, port.adapter)})};
}

Hop node_hop(const Cluster& cluster, int node, int node_group, bool in) {
  const NodeGroup& group = at(cluster, node_group);
  return {{LinkName::kNode, node, 0, in}, node_bandwidth(group), in ? Bytes{0} : group.nics.burst};
}

Hop group_hop(const Cluster& cluster, int node_group, bool in) {
  return {{LinkName::kNodeGroup, node_group, 0, in}, cluster.fabric.between_groups->bandwidth};
}

/// GPUs of a node that are next to an adapter.
int gpus_at(const NodeGroup& group, int adapter) {
  int gpus = 0;
  for (int gpu = 0; gpu < group.gpus; ++gpu) gpus += adapter_next_to(group, gpu) == adapter ? 1 : 0;
  return gpus;
}

/// Of the GPUs next to an adapter of the ring's node `end`, the share that is in the ring: the others have rings alike.
double share_of_adapter(const Cluster& cluster, const Ring& ring, std::size_t end, int adapter) {
  const NodeGroup& group = group_of(cluster, ring, end);
  int own = 0;
  for (const int gpu : ring.gpus[end]) own += adapter_next_to(group, gpu) == adapter ? 1 : 0;
  return 1.0 * own / gpus_at(group, adapter);
}

/// Of the edges of a ring, whose nodes are in order, one leaves a group; in an all-to-all every node of the group sends
/// to all that are elsewhere.
double flows_between_groups(CollectiveKind kind, const Ring& ring, std::size_t edge) {
  if (kind != CollectiveKind::kAllToAll) return 1;
  int in_group = 0, nodes = 0;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    if (ring.node_group[i] != ring.node_group[edge]) continue;
    in_group += ring.here(i);
    ++nodes;
  }
  // Of what a node sends to n - here ranks, that to n - in_group leaves the group.
  return 1.0 * nodes * (ring.ranks - in_group) / (ring.ranks - ring.here(edge));
}

/// The GPU that sends and the one that receives, of an exchange with a neighbour.
Ring one_to_one(const Ring& ring) {
  Ring pair = ring;
  for (std::vector<int>& gpus : pair.gpus) gpus.resize(1);
  pair.ranks = static_cast<int>(pair.node.size());
  return pair;
}

bool is_edge_like_the_one_before(const Ring& ring, std::size_t edge) {
  const std::size_t next = after(ring, edge);
  if (next > 0) return is_like_the_one_before(ring, edge) && is_like_the_one_before(ring, next);
  return is_like_the_one_before(ring, edge) && ring.node_group[0] == ring.node_group[edge] &&
         ring.gpus[0] == ring.gpus[edge];
}

}  // namespace

std::string in_words(const LinkName& link) {
  if (link.kind == LinkName::kCore) return "core";
  std::string name = fmt::format("{} {}", link.kind == LinkName::kNodeGroup ? "node group" : "node", link.number);
  if (link.kind == LinkName::kAdapter) name += fmt::format(" adapter {}", link.adapter);
  return name + (link.in ? " in" : " out");
}

std::vector<Hop> route(const Cluster& cluster, const Port& from, const Port& to) {
  std::vector<Hop> hops{node_hop(cluster, from.node, from.node_group, false),
                        node_hop(cluster, to.node, to.node_group, true)};
  if (from.adapter != kAllAdapters) hops.push_back(adapter_hop(cluster, from, false));
  if (to.adapter != kAllAdapters) hops.push_back(adapter_hop(cluster, to, true));
  if (const BytesPerSecond core = core_bandwidth(cluster); core > BytesPerSecond{0})
    hops.push_back({{LinkName::kCore}, core});
  if (are_apart(cluster, from.node_group, to.node_group)) {
    hops.push_back(group_hop(cluster, from.node_group, false));
    hops.push_back(group_hop(cluster, to.node_group, true));
  }
  return hops;
}

Seconds wire_latency(const Cluster& cluster, int node_group, int other) {
  return cluster.fabric.latency + (are_apart(cluster, node_group, other) ? latency_apart(cluster) : Seconds{0});
}

Seconds latency_apart(const Cluster& cluster) {
  return cluster.fabric.between_groups ? cluster.fabric.between_groups->latency : Seconds{0};
}

std::vector<Hop> common_links(const Cluster& cluster) {
  std::vector<Hop> links;
  if (node_count(cluster) < 2) return links;
  int node = 0;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g)
    for (int i = 0; i < cluster.nodes[g].count; ++i, ++node)
      for (const bool in : {false, true}) links.push_back(node_hop(cluster, node, static_cast<int>(g), in));
  if (const BytesPerSecond core = core_bandwidth(cluster); core > BytesPerSecond{0})
    links.push_back({{LinkName::kCore}, core});
  if (!cluster.fabric.between_groups) return links;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g)
    for (const bool in : {false, true}) links.push_back(group_hop(cluster, static_cast<int>(g), in));
  return links;
}

std::vector<PortPair> ports_of(const Cluster& cluster, const Ring& ring, std::size_t edge) {
  const std::size_t next = after(ring, edge);
  const Port from{ring.node[edge], ring.node_group[edge]}, to{ring.node[next], ring.node_group[next]};
  const auto is_whole = [&](std::size_t i) { return ring.here(i) == group_of(cluster, ring, i).gpus; };
  if (is_whole(edge) && is_whole(next)) return {{from, to}};
  const auto adapters = [&](std::size_t i) {
    std::vector<int> all;
    for (const int gpu : ring.gpus[i]) all.push_back(adapter_next_to(group_of(cluster, ring, i), gpu));
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  const std::vector<int> out = adapters(edge), in = adapters(next);
  std::vector<PortPair> pairs;
  for (std::size_t i = 0; i < std::max(out.size(), in.size()); ++i) {
    pairs.push_back({from, to});
    pairs.back().from.adapter = out[i % out.size()];
    pairs.back().to.adapter = in[i % in.size()];
  }
  return pairs;
}

int edges_apart(const Cluster& cluster, const Ring& ring) {
  int edges = 0;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    edges += are_apart(cluster, ring.node_group[i], ring.node_group[after(ring, i)]) ? 1 : 0;
  return edges;
}

BytesPerSecond edge_wire(CollectiveKind kind, const Cluster& cluster, const Ring& ring, std::size_t edge,
                         double rings) {
  constexpr BytesPerSecond kNothing{std::numeric_limits<double>::infinity()};
  BytesPerSecond adapters{0}, slowest = kNothing;
  bool single = false;
  for (const PortPair& pair : ports_of(cluster, ring, edge)) {
    BytesPerSecond own = kNothing;
    for (const Hop& hop : route(cluster, pair.from, pair.to)) switch (hop.link.kind) {
        case LinkName::kNode: {
          // What a host copies is shared by all rings of the node; adapters have their shares below.
          const std::size_t end = hop.link.in ? after(ring, edge) : edge;
          const NodeGroup& group = group_of(cluster, ring, end);
          const bool staged = data_path(group.nics.kind) == DataPath::kStaged && rings > 1;
          slowest = std::min(slowest, staged ? 1.0 * ring.here(end) / group.gpus * hop.bandwidth : hop.bandwidth);
          break;
        }
        case LinkName::kAdapter: {
          const std::size_t end = hop.link.in ? after(ring, edge) : edge;
          own = std::min(
              own, rings > 1 ? share_of_adapter(cluster, ring, end, hop.link.adapter) * hop.bandwidth : hop.bandwidth);
          single = true;
          break;
        }
        case LinkName::kCore:
          // Rings that have their share of it do not count each other.
          slowest = std::min(
              slowest, ring.core_share * hop.bandwidth / (edges_of(kind, ring) * (ring.core_share < 1 ? 1 : rings)));
          break;
        case LinkName::kNodeGroup:
          slowest = std::min(slowest, hop.bandwidth / (flows_between_groups(kind, ring, edge) * rings));
          break;
      }
    if (single) adapters += own;
  }
  return single ? std::min(slowest, adapters) : slowest;
}

BytesPerSecond wire_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring, double rings) {
  if (is_to_one(kind) && ring.ranks > static_cast<int>(ring.node.size()))
    return wire_bandwidth(kind, cluster, one_to_one(ring), rings);
  BytesPerSecond slowest;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    if (!is_edge_like_the_one_before(ring, i)) take_slowest(slowest, edge_wire(kind, cluster, ring, i, rings));
  return slowest;
}

}  // namespace accosim
