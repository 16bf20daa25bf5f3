// Costs of collectives on one node, of exchanges, of accocal's own rings and of plain networks. The latency counts
// steps as NCCL's tuner does (src/graph/tuning.cc), the bytes are those of the ring algorithm (Patarasu and Yuan 2009),
// so that nccl-tests' bus bandwidth of a large collective is the achieved bandwidth of the slowest edge. Between the
// two a pipeline fills: a message of time T cut in k pieces, each with an overhead d, on a pipeline of p stages takes
// (T/k + d)(k + p), at the best k T + 2 sqrt(p d T) + p d; `chunk` stands for p d.
#include "models/collectives/collectives.hpp"

#include <algorithm>
#include <cmath>

#include "models/collectives/between_nodes.hpp"
#include "models/collectives/channels.hpp"
#include "models/collectives/links.hpp"
#include "models/collectives/window.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

/// What the links that a collective uses have in common: the slowest of each.
struct Path {
  Seconds launch, hop, net_hop, chunk;
  Seconds post;  ///< of net_hop, what the host spends on a message
  Seconds ll_launch, ll_hop;
  BytesPerSecond ring, ll_ring;      ///< achieved inside nodes; 0 while no inner link is used
  BytesPerSecond pair, ll_exchange;  ///< to one neighbour; and LL to all
  BytesPerSecond exchange;           ///< and of all pairs at once
  BytesPerSecond multicast;          ///< 0: not on every node
  Seconds apart;                     ///< what a step to another node group takes more, where groups are apart
  int edges_apart = 0;               ///< of the ring, that lead to another such group
  double turnaround = 0;
  bool ll = true;           ///< every link has LL; on one node
  bool rings_only = false;  ///< accocal's own
  bool switches = true;     ///< every node with several ranks has a switch inside
};

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
      path.net_hop = std::max(path.net_hop, nics.latency + 2 * nics.message);
      path.post = std::max(path.post, 2 * nics.message);
      path.ll = false;
      path.rings_only = path.rings_only || nics.kind == kOwnRings;
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
  Seconds posting{};        ///< of an exchange: all messages of the thread that has most of them
};

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

/// Of the same time, by what takes it. Of bytes inside nodes and between them only those that take longer count.
StepTerms terms_of(const CollectiveCost& cost, const Way& way, Seconds launch, const Path& path, BytesPerSecond edge) {
  const Seconds on_edge = cost.edge_bytes > Bytes{0} ? cost.edge_bytes / edge : Seconds{0};
  StepTerms terms;
  terms.launch = launch;
  terms.messages = way.net_steps * path.post + std::max(Seconds{0}, way.posting - on_edge);
  terms.latency = way.net_steps * (path.net_hop - path.post) + way.apart_steps * path.apart;
  terms.wire = on_edge > cost.intra ? on_edge : Seconds{0};
  const Seconds all = cost.latency + std::max(cost.intra, on_edge);
  terms.inside = std::max(Seconds{0}, all - terms.launch - terms.messages - terms.latency - terms.wire);
  return terms;
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
                 way.net_steps * path.net_hop + way.apart_steps * path.apart;
  if (inside > BytesPerSecond{0}) cost.intra = way.inside / (share.inside * inside);
  if (simple && way.algorithm == Algorithm::kRing && way.steps > 0)
    cost.intra = (1 + path.turnaround / (way.steps + way.net_steps)) * cost.intra;
  cost.edge_bytes = way.edge;
  if (simple) {
    Seconds bytes = cost.intra;
    if (way.edge > Bytes{0}) bytes = std::max(bytes, way.edge / edge);
    cost.latency += Seconds{2 * std::sqrt(path.chunk.value * bytes.value)};
  }
  // What few channels cost between nodes is taken as latency: the network shares out bandwidth, not channels. So few
  // bytes find their window open.
  if (cost.edge_bytes > Bytes{0}) cost.latency += (1 / share.edge - 1) * (cost.edge_bytes / wire);
  cost.latency += std::max(Seconds{0}, way.posting - cost.edge_bytes / edge);
  cost.steps = way.steps + way.net_steps;
  cost.net_steps = way.net_steps;
  cost.terms = terms_of(cost, way, simple ? path.launch : path.ll_launch, path, edge);
  return cost;
}

/// An exchange sends messages of 128 KiB between nodes (NCCL_P2P_NET_CHUNKSIZE), at least one to each rank, and one
/// thread a GPU posts them.
Seconds posting_time(const Path& path, double receivers, Bytes to_each) {
  constexpr Bytes kMessage{128 * 1024.0};
  return receivers * std::max(1.0, std::ceil(to_each / kMessage)) * path.post;
}

std::vector<Way> exchange_of(CollectiveKind kind, Bytes bytes, const Ring& ring, const Path& path) {
  const double n = ring.ranks;
  const bool between = ring.node.size() > 1;
  const double here = *std::max_element(ring.ranks_here.begin(), ring.ranks_here.end());
  Way way{Algorithm::kExchange, 0, between ? 1.0 : 0.0, path.edges_apart > 0 ? 1.0 : 0.0, {}, {}};
  if (kind == CollectiveKind::kSendRecv) {
    way.steps = between ? 0 : 1;
    way.inside = bytes;
    way.edge = between ? bytes : Bytes{0};
    way.one_way = true;
    way.posting = between ? posting_time(path, 1, bytes) - path.post : Seconds{0};
    return {way};
  }
  // Each rank keeps 1/n and sends what others of its node get over its links, the rest through the node's adapters.
  way.steps = here > 1 ? 1 : 0;
  way.inside = (here - 1) / n * bytes;
  way.edge = between ? here * (n - here) / n * bytes : Bytes{0};
  way.posting = between ? posting_time(path, n - here, bytes / n) - path.post : Seconds{0};
  return {way};
}

std::vector<Way> ways_of(CollectiveKind kind, Bytes bytes, const Ring& ring, const Path& path) {
  if (kind == CollectiveKind::kSendRecv || kind == CollectiveKind::kAllToAll)
    return exchange_of(kind, bytes, ring, path);
  const double n = ring.ranks;
  const double nodes = static_cast<double>(ring.node.size());
  const bool between = nodes > 1;
  const double here = *std::max_element(ring.ranks_here.begin(), ring.ranks_here.end());
  const double apart = path.edges_apart > 0 ? 1 : 0;
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
                    (nodes > 2 || !path.switches ? 2 : 1) * bytes});
  else if (path.multicast > BytesPerSecond{0} && n > 2)
    ways.push_back({Algorithm::kNvls, 2, 0, 0, 2 * (n - 1) / n * bytes, Bytes{0}});
  return ways;
}

/// NCCL's rings and trees between nodes: neither exchanges, nor accocal's own rings, nor a plain network, which has no
/// kind (no file can name one) and whose steps take one latency each: what closed forms are held against.
bool goes_by_steps(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  if (ring.node.size() < 2 || kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSendRecv) return false;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    if (const std::string& nics = group_of(cluster, ring, i).nics.kind; nics.empty() || nics == kOwnRings) return false;
  return true;
}

}  // namespace

CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                               std::optional<Algorithm> only) {
  CollectiveCost best;
  if (ring.ranks < 2) return best;
  const double n = ring.ranks;
  const double passes = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const Bytes sent = kind == CollectiveKind::kSendRecv ? bytes : passes * (n - 1) / n * bytes;
  if (goes_by_steps(kind, cluster, ring)) {
    best = cost_between_nodes(kind, bytes, cluster, ring, only);
    best.sent_per_rank = sent;
    return best;
  }
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
    consider(way, Protocol::kSimple);
    if (path.ll && way.algorithm != Algorithm::kNvls) consider(way, Protocol::kLowLatency);
  }
  best.sent_per_rank = sent;
  return best;
}

Seconds collective_time(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                        std::optional<Algorithm> only) {
  return collective_time(kind, collective_cost(kind, bytes, cluster, ring, only), cluster, ring);
}

}  // namespace accosim
