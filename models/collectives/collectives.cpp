// Costs of collectives. The latency counts steps as NCCL's tuner does (src/graph/tuning.cc: of nsteps, those between
// nodes pay the network's latency, the rest the inner link's), the bytes are those of the ring algorithm (Patarasu and
// Yuan 2009), so that nccl-tests' bus bandwidth of a large collective is the achieved bandwidth of the slowest edge.
// Between the two a pipeline fills: a message of time T cut in k pieces, each with an overhead d, on a pipeline of p
// stages takes (T/k + d)(k + p), at the best k T + 2 sqrt(p d T) + p d; `chunk` stands for p d.
#include "models/collectives/collectives.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/collectives/channels.hpp"
#include "models/collectives/links.hpp"
#include "models/collectives/window.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

const NodeGroup& group_of(const Cluster& cluster, const Ring& ring, std::size_t i) {
  return cluster.nodes[static_cast<std::size_t>(ring.node_group[i])];
}

/// What the links that a collective uses have in common: the slowest of each.
struct Path {
  Seconds launch, hop, net_hop, chunk;
  Seconds ll_launch, ll_hop, ll_net_hop;
  BytesPerSecond ring, ll_ring;      ///< achieved inside nodes; 0 while no inner link is used
  BytesPerSecond pair, ll_exchange;  ///< to one neighbour; and LL to all
  BytesPerSecond exchange;           ///< and of all pairs at once
  BytesPerSecond multicast;          ///< 0: not on every node
  Seconds apart;                     ///< what a step to another node group takes more, where groups are apart
  int edges_apart = 0;               ///< of the ring, that lead to another such group
  double turnaround = 0;
  double ll_net = 1;  ///< what LL achieves between nodes, of what Simple does
  bool ll = true;     ///< every link has LL
  bool rings_only = false;
  bool switches = true;  ///< every node with several ranks has a switch inside
};

void take_slowest(BytesPerSecond& slowest, BytesPerSecond bandwidth) {
  slowest = slowest == BytesPerSecond{0} ? bandwidth : std::min(slowest, bandwidth);
}

Path path_of(const Cluster& cluster, const Ring& ring) {
  Path path;
  const bool between = ring.node.size() > 1;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    const NodeGroup& group = group_of(cluster, ring, i);
    const IntraLink& link = group.intra;
    path.launch = std::max(path.launch, link.launch);
    path.ll_launch = std::max(path.ll_launch, link.ll.launch);
    if (between) {
      const Nics& nics = group.nics;
      path.net_hop = std::max(path.net_hop, nics.latency);
      path.chunk = std::max(path.chunk, nics.chunk);
      path.rings_only = path.rings_only || nics.kind == kOwnRings;
      path.ll = path.ll && nics.ll.efficiency > 0;
      path.ll_net_hop = std::max(path.ll_net_hop, nics.ll.hop);
      path.ll_net = std::min(path.ll_net, nics.ll.efficiency / nics.efficiency);
    }
    const int here = ring.ranks_here[i];
    if (here < 2) continue;
    const BytesPerSecond wire = ring_bandwidth(link, group.gpus, here);
    const BytesPerSecond pairs = exchange_bandwidth(link, group.gpus, here);
    path.hop = std::max(path.hop, link.latency);
    if (!between) path.chunk = std::max(path.chunk, link.chunk);
    path.turnaround = std::max(path.turnaround, link.turnaround);
    path.ll = path.ll && link.ll.efficiency > 0;
    path.ll_hop = std::max(path.ll_hop, link.ll.hop);
    take_slowest(path.ring, link.efficiency * wire);
    take_slowest(path.ll_ring, link.ll.efficiency * wire);
    take_slowest(path.pair, link.efficiency * exchange_bandwidth(link, group.gpus, 2));
    take_slowest(path.exchange, (link.exchange > 0 ? link.exchange : link.efficiency) * pairs);
    take_slowest(path.ll_exchange, link.ll.efficiency * pairs);
    path.switches = path.switches && link.kind == "nvswitch";
    path.multicast = link.multicast * link.bandwidth;
  }
  path.net_hop += cluster.fabric.latency;
  path.ll_net_hop += cluster.fabric.latency;
  path.edges_apart = edges_apart(cluster, ring);
  if (path.edges_apart > 0) path.apart = cluster.fabric.between_groups->latency;
  return path;
}

/// One way to do it: steps, and bytes that the slowest place carries.
struct Way {
  Algorithm algorithm;
  double steps, net_steps;  ///< inside and between nodes
  double apart_steps;       ///< of net_steps, those between node groups that are apart
  Bytes inside;             ///< through a GPU's links
  Bytes edge;               ///< between two nodes
  bool one_way = false;     ///< of an exchange: to one neighbour, from another
};

double edges_of(CollectiveKind kind, const Ring& ring) {
  return static_cast<double>(ring.node.size()) - (kind == CollectiveKind::kBroadcast ? 1 : 0);
}

/// The share of a group's link to other groups that one of the edges over it has. A ring, whose nodes are in order,
/// leaves a group once; in an all-to-all every node of the group sends to all that are elsewhere.
BytesPerSecond slowest_share_between_groups(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  const BytesPerSecond link = cluster.fabric.between_groups->bandwidth;
  if (kind != CollectiveKind::kAllToAll) return link;
  double most = 0;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    int in_group = 0, nodes = 0;
    for (std::size_t j = 0; j < ring.node.size(); ++j) {
      if (ring.node_group[j] != ring.node_group[i]) continue;
      in_group += ring.ranks_here[j];
      ++nodes;
    }
    // Of what a node sends to n - here ranks, that to n - in_group leaves the group.
    most = std::max(most, 1.0 * nodes * (ring.ranks - in_group) / (ring.ranks - ring.ranks_here[i]));
  }
  return link / most;
}

/// All edges cross the core at once and share it: with equal bytes on each, max-min sharing ends with the slowest
/// adapter or, if the core is what limits, with all of them together.
BytesPerSecond wire_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  BytesPerSecond slowest;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    // Of a node's ranks one sends to the next node, through the adapter next to it.
    take_slowest(slowest, node_bandwidth(group_of(cluster, ring, i),
                                         kind == CollectiveKind::kSendRecv ? 1 : ring.ranks_here[i]));
  if (edges_apart(cluster, ring) > 0) take_slowest(slowest, slowest_share_between_groups(kind, cluster, ring));
  const BytesPerSecond core = core_bandwidth(cluster);
  return core > BytesPerSecond{0} ? std::min(slowest, core / edges_of(kind, ring)) : slowest;
}

/// What the slowest edge carries of its wire's rate and of what may be under way.
BytesPerSecond edge_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  return std::min(wire_bandwidth(kind, cluster, ring), slowest_window(cluster, ring));
}

/// Share of the bandwidth that a collective on few of the communicator's channels has.
struct Share {
  double inside = 1, edge = 1;
};

/// Inside nodes each channel carries its part; between nodes it uses one adapter. LL's bandwidths are those of few
/// channels already: it is measured where it is used, which is where channels have been dropped.
Share share_of(Protocol protocol, int own, int communicator, const Cluster& cluster, const Ring& ring) {
  if (protocol != Protocol::kSimple || own == communicator) return {};
  int adapters = own;
  for (std::size_t i = 0; i < ring.node.size() && ring.node.size() > 1; ++i)
    adapters = std::max(adapters, adapters_of(group_of(cluster, ring, i), ring.ranks_here[i]));
  return {static_cast<double>(own) / communicator, static_cast<double>(own) / adapters};
}

/// Simple, or LL whose flags are counted as bytes.
CollectiveCost cost_of(const Way& way, Protocol protocol, const Path& path, BytesPerSecond edge, BytesPerSecond wire,
                       const Share& share) {
  const bool simple = protocol == Protocol::kSimple;
  CollectiveCost cost;
  cost.algorithm = way.algorithm;
  cost.protocol = protocol;
  const bool exchange = way.algorithm == Algorithm::kExchange;
  BytesPerSecond inside = simple ? (exchange ? (way.one_way ? path.pair : path.exchange) : path.ring)
                                 : (exchange ? path.ll_exchange : path.ll_ring);
  if (way.algorithm == Algorithm::kNvls) inside = path.multicast;
  cost.latency = (simple ? path.launch : path.ll_launch) + way.steps * (simple ? path.hop : path.ll_hop) +
                 way.net_steps * (simple ? path.net_hop : path.ll_net_hop) + way.apart_steps * path.apart;
  if (inside > BytesPerSecond{0}) cost.intra = way.inside / (share.inside * inside);
  if (simple && way.algorithm == Algorithm::kRing && way.steps > 0)
    cost.intra = (1 + path.turnaround / (way.steps + way.net_steps)) * cost.intra;
  cost.edge_bytes = simple ? way.edge : way.edge / path.ll_net;
  if (simple) {
    Seconds bytes = cost.intra;
    if (way.edge > Bytes{0}) bytes = std::max(bytes, way.edge / edge);
    cost.latency += Seconds{2 * std::sqrt(path.chunk.value * bytes.value)};
  }
  // What few channels cost between nodes is taken as latency: the network shares out bandwidth, not channels. So few
  // bytes find their window open.
  if (cost.edge_bytes > Bytes{0}) cost.latency += (1 / share.edge - 1) * (cost.edge_bytes / wire);
  return cost;
}

std::vector<Way> ways_of(CollectiveKind kind, Bytes bytes, const Ring& ring, const Path& path) {
  const double n = ring.ranks;
  const double nodes = static_cast<double>(ring.node.size());
  const bool between = nodes > 1;
  const double here = *std::max_element(ring.ranks_here.begin(), ring.ranks_here.end());
  const double apart = path.edges_apart > 0 ? 1 : 0;
  if (kind == CollectiveKind::kSendRecv)
    return {{Algorithm::kExchange, between ? 0.0 : 1.0, between ? 1.0 : 0.0, apart, bytes, between ? bytes : Bytes{0},
             true}};
  if (kind == CollectiveKind::kAllToAll) {
    // Each rank keeps 1/n and sends what others of its node get over its links, the rest through the node's adapters.
    const Bytes out = between ? here * (n - here) / n * bytes : Bytes{0};
    return {{Algorithm::kExchange, here > 1 ? 1.0 : 0.0, between ? 1.0 : 0.0, apart, (here - 1) / n * bytes, out}};
  }
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  const double passes = all_reduce ? 2 : 1;  // around the ring
  const double net_steps = passes * (nodes - 1), chain = kind == CollectiveKind::kBroadcast ? 1 : 0;
  const double apart_steps = passes * std::min(std::max(0.0, path.edges_apart - chain), nodes - 1);
  // Each edge of the ring carries (n-1)/n of the buffer in a pass. A broadcast is a chain: every edge carries it all.
  const Bytes edge = kind == CollectiveKind::kBroadcast ? bytes : passes * (n - 1) / n * bytes;
  std::vector<Way> ways = {
      {Algorithm::kRing, passes * (n - 1) - net_steps, net_steps, apart_steps, edge, between ? edge : Bytes{0}}};
  if (!all_reduce || path.rings_only) return ways;
  const double levels = 2 * std::ceil(std::log2(nodes));  // a tree is built without regard to groups that are apart
  if (between)
    ways.push_back({Algorithm::kTree, 2 * (here - 1), levels, apart * levels, 2 * (here - 1) / here * bytes,
                    (nodes > 2 ? 2 : 1) * bytes});
  else if (path.multicast > BytesPerSecond{0} && n > 2)
    ways.push_back({Algorithm::kNvls, 2, 0, 0, 2 * (n - 1) / n * bytes, Bytes{0}});
  return ways;
}

}  // namespace

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kAllToAll: return "all_to_all";
    case CollectiveKind::kSendRecv: return "send_recv";
  }
  return "";
}

const std::vector<CollectiveKind>& all_collectives() {
  static const std::vector<CollectiveKind> kAll = {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                                                   CollectiveKind::kAllGather, CollectiveKind::kBroadcast,
                                                   CollectiveKind::kAllToAll,  CollectiveKind::kSendRecv};
  return kAll;
}

const char* name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing: return "ring";
    case Algorithm::kTree: return "tree";
    case Algorithm::kNvls: return "NVLS";
    case Algorithm::kExchange: return "exchange";
  }
  return "";
}

const char* name_of(Protocol protocol) { return protocol == Protocol::kSimple ? "Simple" : "LL"; }

Ring ring_of(const std::vector<Place>& places, const std::vector<int>& members) {
  struct Here {
    int group = 0;
    int ranks = 0;
  };
  std::map<int, Here> by_node;
  for (const int rank : members) {
    const Place& place = places[static_cast<std::size_t>(rank)];
    Here& here = by_node[place.node];
    here.group = place.group;
    ++here.ranks;
  }
  Ring ring;
  for (const auto& entry : by_node) {
    ring.node.push_back(entry.first);
    ring.node_group.push_back(entry.second.group);
    ring.ranks_here.push_back(entry.second.ranks);
    ring.ranks += entry.second.ranks;
  }
  return ring;
}

CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                               std::optional<Algorithm> only) {
  CollectiveCost best;
  if (ring.ranks < 2) return best;
  const Path path = path_of(cluster, ring);
  const BytesPerSecond wire = wire_bandwidth(kind, cluster, ring);
  const BytesPerSecond edge = std::min(wire, slowest_window(cluster, ring));
  Seconds least;
  bool any = false;
  const int communicator = communicator_channels(cluster, ring);
  const auto consider = [&](const Way& way, Protocol protocol) {
    const int channels = channels_of(kind, bytes, ring.ranks, way.algorithm, protocol, communicator);
    // What few channels carry is not known of NVLS, whose switch does the work.
    const Share share =
        way.algorithm == Algorithm::kNvls ? Share{} : share_of(protocol, channels, communicator, cluster, ring);
    CollectiveCost cost = cost_of(way, protocol, path, edge, wire, share);
    cost.channels = channels;
    const Seconds time = collective_time(kind, cost, cluster, ring);
    if (any && time >= least) return;
    any = true;
    least = time;
    best = cost;
  };
  std::vector<Way> ways = ways_of(kind, bytes, ring, path);
  const auto is_other = [&](const Way& way) { return only && way.algorithm != *only; };
  if (!std::all_of(ways.begin(), ways.end(), is_other))
    ways.erase(std::remove_if(ways.begin(), ways.end(), is_other), ways.end());
  for (const Way& way : ways) {
    Way simple = way;
    // Measured on boards without a switch: up and down take turns, and two nodes are no faster than a ring.
    if (way.algorithm == Algorithm::kTree && !path.switches && ring.node.size() == 2) simple.edge = 2 * way.edge;
    consider(simple, Protocol::kSimple);
    if (path.ll && way.algorithm != Algorithm::kNvls) consider(way, Protocol::kLowLatency);
  }
  const double n = ring.ranks;
  const double passes = kind == CollectiveKind::kAllReduce ? 2 : 1;
  best.sent_per_rank = kind == CollectiveKind::kSendRecv ? bytes : passes * (n - 1) / n * bytes;
  return best;
}

BytesPerSecond node_bandwidth(const NodeGroup& group) { return node_bandwidth(group, group.gpus); }

int adapters_of(const NodeGroup& group, int ranks) {
  return static_cast<int>((std::int64_t{group.nics.count} * ranks + group.gpus - 1) / group.gpus);
}

BytesPerSecond node_bandwidth(const NodeGroup& group, int ranks) {
  return static_cast<double>(adapters_of(group, ranks)) * group.nics.efficiency * group.nics.bandwidth;
}

BytesPerSecond core_bandwidth(const Cluster& cluster) {
  if (cluster.fabric.oversubscription <= 1) return BytesPerSecond{0};
  BytesPerSecond all;
  for (const NodeGroup& group : cluster.nodes) all += group.count * node_bandwidth(group);
  return all / cluster.fabric.oversubscription;
}

Seconds collective_time(CollectiveKind kind, const CollectiveCost& cost, const Cluster& cluster, const Ring& ring) {
  if (cost.edge_bytes == Bytes{0}) return cost.latency + cost.intra;
  return cost.latency + std::max(cost.intra, cost.edge_bytes / edge_bandwidth(kind, cluster, ring));
}

Seconds collective_time(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                        std::optional<Algorithm> only) {
  return collective_time(kind, collective_cost(kind, bytes, cluster, ring, only), cluster, ring);
}

}  // namespace accosim
