// Costs of exchanges, of accocal's own rings and of plain networks; the rest is NCCL's (nccl_cost.hpp). The latency
// counts steps as NCCL's tuner does (src/graph/tuning.cc), the bytes are those of the ring algorithm (Patarasu and Yuan
// 2009). An exchange is a pipeline that fills: a message of time T cut in k pieces, each with an overhead d, on p
// stages takes (T/k + d)(k + p), at the best k T + 2 sqrt(p d T) + p d; `chunk` stands for p d. What thread blocks move
// of it, and what a further receiver adds, was measured on all boards alike.
#include "models/collectives/collectives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/collectives/channels.hpp"
#include "models/collectives/fabric_size.hpp"
#include "models/collectives/links.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "models/collectives/route.hpp"
#include "models/collectives/window.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

/// What the links that a collective uses have in common: the slowest of each.
struct Path {
  Seconds start, launch, hop, net_hop;
  Seconds post;           ///< of net_hop, what the host spends on a message
  BytesPerSecond wire;    ///< of the adapters next to the first GPU of a node
  BytesPerSecond copied;  ///< what a host copies for that GPU, each way
  BytesPerSecond ring;    ///< achieved inside nodes; 0 while no inner link is used
  Seconds exchange_launch, chunk;
  BytesPerSecond pair, exchange;  ///< to one neighbour, and of all pairs at once
  double ll_latency = 0;          ///< over NCCL's own
  BytesPerSecond ll;              ///< of LL to all; 0: a link does not have it
  BytesPerSecond block;           ///< what NCCL takes a thread block to move; 0: of no such GPU
  NcclRelease nccl;
  Seconds apart;        ///< what a step to another node group takes more, where groups are apart
  int edges_apart = 0;  ///< of the ring, that lead to another such group
  double turnaround = 0;
  double contention = 1;
  bool rings_only = false;  ///< accocal's own
};

std::vector<int> first_two(std::vector<int> gpus) {
  gpus.resize(2);
  return gpus;
}

Path path_of(const Cluster& cluster, const Ring& ring) {
  Path path;
  const bool between = ring.node.size() > 1;
  bool ll = !between;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    if (is_like_the_one_before(ring, i)) continue;
    const NodeGroup& group = group_of(cluster, ring, i);
    const IntraLink& link = group.intra;
    path.start = std::max(path.start, link.start);
    path.launch = std::max(path.launch, link.launch);
    path.exchange_launch = std::max(path.exchange_launch, link.exchange.launch);
    if (between) {
      const Nics& nics = group.nics;
      path.net_hop = std::max(path.net_hop, nics.latency + 2 * nics.message);
      path.post = std::max(path.post, 2 * nics.message);
      const std::vector<int> first{ring.gpus[i].front()};
      take_slowest(path.wire, adapters_of(group, first) * (nics.efficiency * nics.bandwidth));
      const BytesPerSecond staged{data_path(nics.kind) == DataPath::kStaged && nics.staging > BytesPerSecond{0}
                                      ? nics.staging.value / 2
                                      : std::numeric_limits<double>::infinity()};
      take_slowest(path.copied, std::min(thread_bandwidth(nics, 1), staged));
      path.rings_only = path.rings_only || nics.kind == kOwnRings;
    }
    const int here = ring.here(i);
    if (here < 2) continue;
    const BytesPerSecond pairs = exchange_bandwidth(link, group.gpus, ring.gpus[i]);
    path.hop = std::max(path.hop, link.latency);
    if (!between) path.chunk = std::max(path.chunk, link.exchange.chunk);
    path.turnaround = std::max(path.turnaround, link.turnaround);
    ll = ll && link.ll.efficiency > 0;
    path.ll_latency = std::max(path.ll_latency, link.ll.latency);
    const SocketShare sockets = socket_share(link, group.gpus, ring.gpus[i]);
    take_slowest(path.ring, std::min(sockets.ring, link.efficiency * ring_bandwidth(link, group.gpus, ring.gpus[i])));
    take_slowest(path.pair, std::min(sockets.ring,
                                     link.efficiency * exchange_bandwidth(link, group.gpus, first_two(ring.gpus[i]))));
    const double all = link.exchange.efficiency > 0 ? link.exchange.efficiency : link.efficiency;
    take_slowest(path.exchange, std::min(sockets.exchange, all * pairs));
    take_slowest(path.ll, std::min(sockets.exchange, link.ll.efficiency * pairs) / 2);  // half of it is flags
  }
  if (!ll) path.ll = BytesPerSecond{0};
  if (between) path.contention = contention(cluster, ring);
  if (!between && !group_of(cluster, ring, 0).intra.generation.empty()) path.block = block_rate(cluster, ring);
  path.nccl = cluster.nccl;
  path.net_hop += cluster.fabric.latency;
  path.edges_apart = edges_apart(cluster, ring);
  if (path.edges_apart > 0) path.apart = latency_apart(cluster);
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
  Bytes to_each{};          ///< of an exchange inside a node: what a rank has for each, itself included
};

constexpr double kExchangeBlocks = 32;  ///< thread blocks of an exchange inside a node

/// The least time that the thread blocks of an exchange inside a node need. With Simple they also copy what stays.
/// With LL a block has up to 64 KiB for a receiver.
Seconds time_of_blocks(const Path& path, const Way& way, int ranks, Protocol protocol) {
  constexpr double kSimple = 0.55, kLowLatency = 0.3;  // of what NCCL takes a block to move
  constexpr Bytes kPart{64 * 1024.0};
  if (path.block <= BytesPerSecond{0}) return Seconds{0};
  if (protocol == Protocol::kSimple) return ranks / kExchangeBlocks * way.to_each / (kSimple * path.block);
  const double blocks =
      std::clamp(std::ceil(way.to_each / kPart), 1.0, std::max(1.0, std::floor(kExchangeBlocks / ranks)));
  return way.to_each / blocks / (kLowLatency * path.block);
}

/// Of the same time, by what takes it. Of bytes inside nodes and between them only those that take longer count.
StepTerms terms_of(const CollectiveCost& cost, const Way& way, Seconds launch, const Path& path, BytesPerSecond edge) {
  const Seconds on_edge = cost.edge_bytes > Bytes{0} ? cost.edge_bytes / edge : Seconds{0};
  StepTerms terms{.launch = launch,
                  .latency = way.net_steps * (path.net_hop - path.post) + way.apart_steps * path.apart,
                  .messages = way.net_steps * path.post + std::max(Seconds{0}, way.posting - on_edge),
                  .wire = on_edge > cost.intra ? on_edge : Seconds{0}};
  const Seconds all = cost.latency + std::max(cost.intra, on_edge);
  terms.inside = std::max(Seconds{0}, all - terms.launch - terms.messages - terms.latency - terms.wire);
  return terms;
}

CollectiveCost cost_of(const Way& way, Protocol protocol, const Path& path, BytesPerSecond edge, int ranks) {
  // Latencies of LL: a launch, and a step inside a node (nccl_cost.cpp).
  constexpr Seconds kLlLaunch{6.6e-6}, kLlHop{0.75e-6};
  const bool exchange = way.algorithm == Algorithm::kExchange, ll = protocol == Protocol::kLowLatency;
  CollectiveCost cost{.edge = edge, .algorithm = way.algorithm, .protocol = protocol};
  const Seconds launch = path.start + (ll         ? path.ll_latency * kLlLaunch
                                       : exchange ? path.exchange_launch
                                                  : path.launch);
  // With LL, each receiver after the first takes half a step more.
  const double more = ll ? std::max(0.0, ranks - 2.0) / 2 : 0;
  const Seconds hop = ll ? (1 + more) * path.ll_latency * kLlHop : path.hop;
  const BytesPerSecond inside = !exchange ? path.ring : ll ? path.ll : way.one_way ? path.pair : path.exchange;
  cost.latency = launch + way.steps * hop + way.net_steps * path.net_hop + way.apart_steps * path.apart;
  if (inside > BytesPerSecond{0}) cost.intra = way.inside / inside;
  if (exchange && way.to_each > Bytes{0}) cost.intra = std::max(cost.intra, time_of_blocks(path, way, ranks, protocol));
  if (!exchange && way.algorithm == Algorithm::kRing && way.steps > 0)
    cost.intra = (1 + path.turnaround / (way.steps + way.net_steps)) * cost.intra;
  cost.edge_bytes = path.contention * way.edge;
  if (exchange && !ll) {
    const Seconds bytes = way.edge > Bytes{0} ? std::max(cost.intra, way.edge / edge) : cost.intra;
    cost.latency += Seconds{2 * std::sqrt(path.chunk.value * bytes.value)};
  }
  cost.latency += std::max(Seconds{0}, way.posting - cost.edge_bytes / edge);
  cost.steps = way.steps + way.net_steps;
  cost.net_steps = way.net_steps;
  cost.terms = terms_of(cost, way, launch, path, edge);
  return cost;
}

/// An exchange sends messages of 128 KiB between nodes (NCCL_P2P_NET_CHUNKSIZE), at least one to each rank, and one
/// thread a GPU posts them.
Seconds posting_time(const Path& path, double receivers, Bytes to_each) {
  constexpr Bytes kMessage{128 * 1024.0};
  return receivers * std::max(1.0, std::ceil(to_each / kMessage)) * path.post;
}

Way exchange_of(CollectiveKind kind, Bytes bytes, const Ring& ring, const Path& path, BytesPerSecond edge) {
  const double n = ring.ranks;
  const bool between = ring.node.size() > 1;
  const double here = most_here(ring);
  Way way{Algorithm::kExchange, 0, between ? 1.0 : 0.0, path.edges_apart > 0 ? 1.0 : 0.0, {}, {}};
  if (is_to_one(kind)) {
    way.steps = between ? 0 : 1;
    way.inside = bytes;
    way.edge = between ? bytes : Bytes{0};
    // Who only sends copies half of what one does that receives as well, as far as the wire carries it.
    if (between && kind == CollectiveKind::kSend && edge >= path.copied)
      way.edge = std::clamp(path.copied / path.wire, 0.5, 1.0) * bytes;
    way.one_way = true;
    way.posting = between ? posting_time(path, 1, bytes) - path.post : Seconds{0};
    return way;
  }
  // Each rank keeps 1/n and sends what others of its node get over its links, the rest through the node's adapters.
  way.steps = here > 1 ? 1 : 0;
  way.to_each = between ? Bytes{0} : bytes / n;
  way.inside = (here - 1) / n * bytes;
  way.edge = between ? here * (n - here) / n * bytes : Bytes{0};
  way.posting = between ? posting_time(path, n - here, bytes / n) - path.post : Seconds{0};
  return way;
}

/// Rings of accocal's own and of plain networks, and the trees of the latter.
std::vector<Way> plain_ways(CollectiveKind kind, Bytes bytes, const Ring& ring, const Path& path) {
  const double n = ring.ranks;
  const double nodes = static_cast<double>(ring.node.size());
  const bool between = nodes > 1;
  const double here = most_here(ring);
  const double apart = path.edges_apart > 0 ? 1 : 0;
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  const double passes = all_reduce ? 2 : 1;  // around the ring
  const double net_steps = passes * (nodes - 1), chain = kind == CollectiveKind::kBroadcast ? 1 : 0;
  const double apart_steps = passes * std::min(std::max(0.0, path.edges_apart - chain), nodes - 1);
  // Each edge of the ring carries (n-1)/n of the buffer in a pass. A broadcast is a chain: every edge carries it all.
  const Bytes edge = kind == CollectiveKind::kBroadcast ? bytes : passes * (n - 1) / n * bytes;
  std::vector<Way> ways = {
      {Algorithm::kRing, passes * (n - 1) - net_steps, net_steps, apart_steps, edge, between ? edge : Bytes{0}}};
  if (!all_reduce || path.rings_only || !between) return ways;
  const double levels = 2 * std::ceil(std::log2(nodes));  // a tree is built without regard to groups that are apart
  ways.push_back({Algorithm::kTree, 2 * (here - 1), levels, apart * levels, 2 * (here - 1) / here * bytes,
                  tree_passes(static_cast<int>(nodes)) * bytes});
  return ways;
}

/// NCCL sends what is at most 16 KiB to each rank with LL (NCCL_P2P_LL_THRESHOLD); from 2.22 to 2.28 so much on each of
/// the thread blocks that a rank has for another.
bool exchanges_with_ll(CollectiveKind kind, Bytes bytes, const Path& path, int ranks) {
  constexpr Bytes kThreshold{16 * 1024.0};
  const bool on_each = path.nccl.minor >= 22 && path.nccl.minor <= 28;
  const double blocks = on_each ? std::max(1.0, std::floor(kExchangeBlocks / ranks)) : 1;
  return path.ll > BytesPerSecond{0} && (is_to_one(kind) ? bytes : bytes / ranks) <= blocks * kThreshold;
}

}  // namespace

CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                               std::optional<Algorithm> only) {
  CollectiveCost best;
  if (ring.ranks < 2) return best;
  const double n = ring.ranks;
  const double passes = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const Bytes sent = is_to_one(kind) ? bytes : passes * (n - 1) / n * bytes;
  if (goes_by_steps(kind, cluster, ring)) {
    best = NcclPrices(kind, cluster, ring).of(bytes, only);
    best.sent_per_rank = sent;
    return best;
  }
  const Path path = path_of(cluster, ring);
  const BytesPerSecond edge = edge_bandwidth(kind, cluster, ring);
  const int channels = communicator_channels(cluster, ring);
  if (is_exchange(kind)) {
    const Protocol protocol =
        exchanges_with_ll(kind, bytes, path, ring.ranks) ? Protocol::kLowLatency : Protocol::kSimple;
    best = cost_of(exchange_of(kind, bytes, ring, path, edge), protocol, path, edge, ring.ranks);
    best.channels = channels;
    best.sent_per_rank = sent;
    return best;
  }
  std::vector<Way> ways = plain_ways(kind, bytes, ring, path);
  const auto is_other = [&](const Way& way) { return only && way.algorithm != *only; };
  if (!std::ranges::all_of(ways, is_other)) std::erase_if(ways, is_other);
  Seconds least{std::numeric_limits<double>::infinity()};
  for (const Way& way : ways) {
    const CollectiveCost cost = cost_of(way, Protocol::kSimple, path, edge, ring.ranks);
    const Seconds time = collective_time(cost);
    if (time < least) least = time, best = cost;
  }
  best.channels = channels_of(kind, bytes, ring.ranks, best.algorithm, Protocol::kSimple, channels);
  best.sent_per_rank = sent;
  return best;
}

Seconds collective_time(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                        std::optional<Algorithm> only) {
  return collective_time(collective_cost(kind, bytes, cluster, ring, only));
}

}  // namespace accosim
