#include "models/collectives/nccl_cost.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "models/base/text.hpp"
#include "models/collectives/aws_tuner.hpp"
#include "models/collectives/channels.hpp"
#include "models/collectives/fabric_size.hpp"
#include "models/collectives/links.hpp"
#include "models/collectives/nccl_node.hpp"
#include "models/collectives/route.hpp"
#include "models/collectives/window.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kKiB = 1024;
constexpr double kGB = 1e9;
constexpr double kMicro = 1e-6;
constexpr Bytes kNvlsChunk{128 * kKiB};  ///< NCCL_NVLS_CHUNKSIZE

bool is_tree(Algorithm algorithm) { return algorithm == Algorithm::kTree || algorithm == Algorithm::kNvlsTree; }

/// What every node has, the slowest or fewest of each.
struct Slowest {
  int here = 1;                                                     ///< the most ranks of a node
  int adapters = std::numeric_limits<int>::max();                   ///< as NCCL sees them
  BytesPerSecond adapter{std::numeric_limits<double>::infinity()};  ///< of one, as it is built
  int capability = 100;
  Seconds launch, start, inner_hop, net_hop, message;
  double latency = 0;  ///< of LL and LL128, over NCCL's own
  BytesPerSecond inner{0}, ll128{0};
  double ll =
      std::numeric_limits<double>::infinity();  ///< rate of LL over NCCL's own; 0: a link has neither LL nor LL128
  BytesPerSecond board{std::numeric_limits<double>::infinity()};      ///< of rings inside, before any efficiency
  BytesPerSecond nvls_rate{std::numeric_limits<double>::infinity()};  ///< 0: a node has no switch that reduces
  Nvls nvls{};                                                        ///< of one node
  double threads = std::numeric_limits<double>::infinity(), tree_threads = threads;  ///< of a host, that send
  BytesPerSecond tree_host{std::numeric_limits<double>::infinity()};                 ///< what they copy for trees
  Seconds round_trip;
  double contention = 1;
  double turnaround = 0;
  bool copies = false;   ///< threads of a host copy what is sent over sockets
  bool ll128_on = true;  ///< every link has LL128
  bool nvlink = true, switches = true;
  bool beside = true;        ///< adapters read the memory of GPUs behind their own PCIe switch
  bool amd = true;           ///< every host's CPU is AMD's
  bool simple_only = false;  ///< has_simple_alone() of a node
  bool over_tcp = false;     ///< for which Google's guides turn NVLS off
};

/// What a board sends to another of its node through its own adapter, in a ring of several nodes. Where every board has
/// an adapter behind its own PCIe switch that carries what the slot does, NCCL goes through these wherever a path
/// between boards is slower, as between sockets (src/graph/paths.cc, ncclTopoCheckNet), and no two boards share a root
/// port. 0: it does not.
BytesPerSecond through_adapter(const NodeGroup& group, const std::vector<int>& gpus) {
  const Nics& nics = group.nics;
  const bool beside = nics.beside_gpus && data_path(nics.kind) == DataPath::kDirect;
  const int devices = devices_of(group, gpus), boards = static_cast<int>(gpus.size());
  if (!is_over_pcie(group.intra.kind) || !beside || devices < boards) return BytesPerSecond{0};
  const BytesPerSecond own = 1.0 * adapters_of(group, gpus) / boards * nics.bandwidth;
  return own < BytesPerSecond{kGB * slot_of(group)} ? BytesPerSecond{0} : nics.efficiency * own;
}

void take_inner(Slowest& all, const NodeGroup& group, const std::vector<int>& gpus, bool between) {
  const IntraLink& link = group.intra;
  const BytesPerSecond board = ring_bandwidth(link, group.gpus, gpus);
  const BytesPerSecond sockets = socket_share(link, group.gpus, gpus).ring;
  all.board = std::min(all.board, board);
  take_slowest(all.inner, std::max(std::min(sockets, link.efficiency * board),
                                   between ? through_adapter(group, gpus) : BytesPerSecond{0}));
  take_slowest(all.ll128, std::min(sockets, link.ll.efficiency128 * board));
  all.ll = std::min(all.ll, link.ll.efficiency);
  all.ll128_on = all.ll128_on && link.ll.efficiency128 > 0;
  all.inner_hop = std::max(all.inner_hop, link.latency);
  all.turnaround = std::max(all.turnaround, link.turnaround);
  all.nvlink = all.nvlink && !is_over_pcie(link.kind);
  all.switches = all.switches && link.kind == "nvswitch";
  all.nvls_rate = std::min(all.nvls_rate, link.nvls.efficiency * link.bandwidth);
  all.nvls = link.nvls;
}

/// Of a balanced tree of each adapter the rank that has the parent and one child sends and receives 6 of the 8 times
/// that a chunk does so in both of its trees, and the rank that has the other child the rest.
double threads_of_tree(int gpus, int adapters) { return std::max(1.0, std::min(1.0 * gpus, adapters * 8 / 6.0)); }

Slowest slowest_of(const Cluster& cluster, const Ring& ring) {
  Slowest all;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    if (is_like_the_one_before(ring, i)) continue;
    const NodeGroup& group = group_of(cluster, ring, i);
    const Nics& nics = group.nics;
    const int here = ring.here(i);
    all.here = std::max(all.here, here);
    const int capability = capability_of(group);
    all.amd = all.amd && cpu_of(group) == Cpu::kAmd;
    all.capability = std::min(all.capability, capability);
    const int adapters = devices_of(group, ring.gpus[i]);
    all.adapter = std::min(all.adapter, nics.bandwidth);
    all.adapters = std::min(all.adapters, adapters);
    all.threads = std::min<double>(all.threads, sending_threads(here, adapters));
    all.tree_threads = std::min(all.tree_threads, threads_of_tree(here, adapters));
    all.copies = all.copies || (data_path(nics.kind) == DataPath::kCopied && nics.staging > BytesPerSecond{0});
    all.tree_host = std::min(all.tree_host, thread_bandwidth(nics, threads_of_tree(here, adapters)));
    all.start = std::max(all.start, group.intra.start);
    all.launch = std::max(all.launch, group.intra.launch);
    all.latency = std::max(all.latency, group.intra.ll.latency);
    all.net_hop = std::max(all.net_hop, nics.latency);
    all.message = std::max(all.message, nics.message);
    all.beside = all.beside && nics.beside_gpus && data_path(nics.kind) == DataPath::kDirect;
    all.simple_only = all.simple_only || has_simple_alone(nics.kind, capability, cluster.nccl.minor);
    all.over_tcp = all.over_tcp || is_over_tcp(nics.kind);
    if (here > 1)
      take_inner(all, group, ring.gpus[i], ring.node.size() > 1);
    else
      all.nvls_rate = BytesPerSecond{0};
  }
  all.net_hop += cluster.fabric.latency;
  all.contention = contention(cluster, ring);
  all.round_trip =
      2 * (cluster.fabric.latency + (edges_apart(cluster, ring) > 0 ? latency_apart(cluster) : Seconds{0}));
  return all;
}

/// Of a protocol: its launch and a step inside a node, where that is not fitted as Simple's is, and what a step between
/// nodes takes more than LL's. us. NCCL's own table (nccl_tuner.cpp), but for steps inside nodes: measured on all
/// boards alike, those of LL take 1.25 times as long as it says (0.6 and, over PCIe, 1 us) and those of LL128 0.75
/// times (1.9 us in a ring, 1.25 in a tree).
struct Given {
  double launch, inner_hop, more_net_hop;
};

Given given_of(const NcclWay& way, bool nvlink) {
  const bool tree = way.algorithm != Algorithm::kRing;
  if (way.protocol == Protocol::kLl128) return tree ? Given{14, 0.94, 3.5} : Given{14, 1.43, 1.3};
  if (way.protocol == Protocol::kLowLatency) return {tree ? 6.8 : 6.6, nvlink ? 0.75 : 1.25, 0};
  return {0, 0, tree ? 9.0 : 11.3};
}

/// Whether every GPU of a node sends its own part on each channel, through the adapter next to it.
bool by_all_gpus(Algorithm algorithm) { return algorithm == Algorithm::kNvlsTree || algorithm == Algorithm::kCollNet; }

/// GPUs of a node that do so.
int heads_of(Algorithm algorithm, int here) {
  return !by_all_gpus(algorithm) ? 1 : algorithm == Algorithm::kNvlsTree ? std::min(here, kMostNvlsHeads) : here;
}

/// Data of a chunk with a protocol (src/enqueue.cc, computeCollChunkInfo, and src/include/device.h): of its buffers a
/// ring with Simple takes four steps of 512 KiB at once, anything else, also a broadcast, one step. Trees take less of
/// a small buffer. `channels`: with those of each GPU where all of them send. NVLSTree has the buffers of NVLS
/// from 2.21 on, and small chunks on many nodes from 2.19 on.
Bytes chunk_of(CollectiveKind kind, const NcclWay& way, const NcclCommunicator& c, Bytes bytes, int channels,
               int here) {
  const double levels = std::log2(c.nodes);
  const auto halved = [&](double chunk, double depth, double floor) {
    while (std::floor(bytes.value / (channels * chunk)) < depth && chunk > floor) chunk /= 2;
    return chunk;
  };
  if (by_all_gpus(way.algorithm)) {
    const bool of_nvls = way.algorithm == Algorithm::kNvlsTree && c.version.minor >= 21;
    const double most = of_nvls ? kNvlsChunk.value : 512 * kKiB;
    return Bytes{halved(halved(halved(halved(most, 32, 256 * kKiB), 16, 128 * kKiB), 4, 64 * kKiB), 1, 32 * kKiB)};
  }
  if (way.protocol == Protocol::kLowLatency) return Bytes{32 * kKiB};
  if (way.protocol == Protocol::kLl128) {
    const double whole = 600 * kKiB * 15 / 16;
    if (way.algorithm == Algorithm::kRing) return Bytes{whole};
    const double steps = 1 + std::floor(levels) + 0.1 * here;
    return Bytes{halved(halved(whole, steps * 64 / here, 128 * kKiB), steps * 16 / here, 32 * kKiB)};
  }
  if (way.algorithm == Algorithm::kRing) return Bytes{(kind == CollectiveKind::kBroadcast ? 512 : 2048) * kKiB};
  if (way.algorithm == Algorithm::kPat || c.version.minor >= 20) return Bytes{512 * kKiB};
  const double depth = here - 1 + levels;
  return Bytes{halved(halved(halved(512 * kKiB, 8 * depth, 128 * kKiB), 4 * depth, 64 * kKiB), depth, 32 * kKiB)};
}

/// What a channel moves inside a node.
BytesPerSecond channel_rate(const NcclWay& way, const NcclCommunicator& c, const Slowest& all, int communicator) {
  const double block = c.nodes == 1 ? std::numeric_limits<double>::infinity()  // what rings were fitted with
                                    : nccl_most_a_channel(c, Algorithm::kRing, Protocol::kLl128);
  if (way.protocol == Protocol::kSimple) return std::min(all.inner / communicator, BytesPerSecond{kGB * block});
  if (way.protocol == Protocol::kLl128) return std::min(all.ll128 / communicator, BytesPerSecond{kGB * block});
  NcclCommunicator alone = c;
  alone.nodes = 1;
  // Where the links are slow LL has half of them, as NCCL counts them; its flags are the other half.
  const double most = std::min(nccl_most_ll(alone), kNvlinkCounted * all.board.value / kGB / 2);
  if (c.nodes == 1) return BytesPerSecond{all.ll * kGB * most / communicator};
  const double of_one = most / (c.capability < 80 ? 12 : 24);  // channels of a DGX, for which it is given
  return BytesPerSecond{kGB * std::min(nccl_most_ll(c) / communicator, all.ll * of_one)};
}

Seconds launch_of(const NcclWay& way, const Slowest& all) {
  if (way.algorithm == Algorithm::kNvls) return all.nvls.launch;
  if (way.protocol == Protocol::kSimple) return all.launch;
  return Seconds{kMicro * all.latency * given_of(way, all.nvlink).launch};
}

StepLinks links_of(CollectiveKind kind, const NcclWay& way, const NcclCommunicator& c, const Slowest& all, Bytes bytes,
                   int communicator, int channels, BytesPerSecond edge) {
  const Given given = given_of(way, all.nvlink);
  const bool simple = way.protocol == Protocol::kSimple;
  StepLinks links;
  const int heads = heads_of(way.algorithm, all.here);
  links.channels = channels * heads;
  links.adapters = std::min(all.adapters, communicator);
  links.threads = by_all_gpus(way.algorithm) ? heads : is_tree(way.algorithm) ? all.tree_threads : all.threads;
  links.wire = 1 / all.contention * (way.algorithm == Algorithm::kTree ? std::min(edge, all.tree_host) : edge);
  const double used = std::max(1, std::min(all.adapters, c.channels));  // by rings, which the edge's rate is of
  if (by_all_gpus(way.algorithm)) links.wire = std::min(1.0, heads * all.adapters / (all.here * used)) * links.wire;
  links.lines = all.copies ? links.threads : links.adapters;
  links.post = 2 * all.message;
  links.net_hop = all.net_hop + links.post + Seconds{kMicro * given.more_net_hop};
  links.flags = simple ? 1 : way.protocol == Protocol::kLl128 ? 16.0 / 15 : 2;
  links.chunk = chunk_of(kind, way, c, bytes, links.channels, all.here);
  links.slices = simple && way.algorithm == Algorithm::kRing && kind != CollectiveKind::kBroadcast ? 2 : 1;
  links.round_trip = all.round_trip;
  if (c.nodes == 1) {
    links.wire = BytesPerSecond{std::numeric_limits<double>::infinity()};
    links.post = links.net_hop = links.round_trip = Seconds{0};
  }
  if (all.here < 2) return links;
  links.inner_hop = simple ? all.inner_hop : Seconds{kMicro * all.latency * given.inner_hop};
  if (simple && way.algorithm == Algorithm::kRing) links.turnaround = all.turnaround;
  links.inner = channel_rate(way, c, all, communicator);
  if (all.nvls_rate > BytesPerSecond{0} &&
      by_all_gpus(way.algorithm))  // the switch reduces on the way up and copies on the way down
    links.inner = all.here / (all.here - 1.0) * all.nvls_rate / links.channels;
  return links;
}

/// Of an all-reduce in two trees, each of which has half of the channels. Up and down go through a rank one after the
/// other with LL and LL128, at once with Simple, and in any case over its links. What comes from a child goes to the
/// rank that has the parent first: in balanced trees that is another one than has the second child, by which the
/// longest way leads (src/graph/trees.cc).
Pipeline tree_of(const NcclWay& way, const Slowest& all, int nodes) {
  const bool switched = way.algorithm == Algorithm::kNvlsTree;
  const double levels = std::ceil(std::log2(nodes));
  Pipeline tree;
  tree.net_steps = 2 * levels;
  tree.wire_passes = tree_passes(nodes);
  tree.inner_steps = switched ? 2 : 2.0 * (all.here - 1) + (all.here > 1 ? 2 * levels : 0);
  tree.inner_passes = switched ? 2 : std::min(2, all.here - 1);
  tree.inner_hops = way.protocol == Protocol::kSimple ? 1 : 2;
  tree.cut_through = way.protocol != Protocol::kSimple;
  return tree;
}

/// Up to the network's switches, which reduce, and down again.
Pipeline collnet_of(const Slowest& all) {
  Pipeline net;
  net.inner_steps = all.here < 2 ? 0 : all.switches ? 2 : 2.0 * (all.here - 1);
  net.net_steps = 2;
  return net;
}

/// Of a gather or a scatter with one GPU a node: as many steps as the number of ranks has binary digits, in each of
/// which a rank sends to another all that it has, and what NCCL itself counts for each rank.
StepTime pat_time(const StepLinks& links, Bytes bytes, int ranks) {
  constexpr Seconds kEachRank{2.8e-6};
  const double steps = std::ceil(std::log2(ranks));
  const Bytes sent = (ranks - 1.0) / ranks * bytes;
  const Bytes a_channel = sent / (1.0 * links.channels);
  const double messages = std::max(steps, std::ceil(a_channel / links.chunk));
  StepTime time{net_hops(links, steps), std::min(links.chunk, a_channel / steps), 1, steps, steps};
  time.terms.inside = ranks * kEachRank;
  const Seconds wire = sent / links.wire,
                posting = messages * std::max(1.0, links.channels / links.threads) * links.post;
  (wire >= posting ? time.terms.wire : time.terms.messages) += std::max(wire, posting);
  return time;
}

/// An all-reduce in the switch of one node: a step up and one down, bytes at the rate that lasts, and once more a part
/// of those that its blocks, a chunk of 128 KiB for each GPU and block, hold before the pipeline is full
/// (src/transport/nvls.cc: 16 blocks on Hopper, 24 on Blackwell).
StepTime nvls_time(const Slowest& all, Bytes bytes, int ranks) {
  const double blocks = all.capability >= 100 ? 24 : 16;
  const Bytes first = std::min(bytes, std::min(ranks, kMostNvlsHeads) * blocks * kNvlsChunk);
  const BytesPerSecond rate = ranks / (2.0 * (ranks - 1)) * all.nvls_rate;
  StepTime time{.steps = 2};
  time.terms.inside = time.steps * all.inner_hop + bytes / rate + all.nvls.fill * (first / rate);
  return time;
}

/// An all-reduce in the switches of several nodes and a tree of them. A wave of chunks, one of each GPU and block, goes
/// through a block's warps one after the other: those that scatter and gather, and at each level of the tree those that
/// reduce and those that pass the sum on (src/device/all_reduce.h). NVLS on one node has two such stages more than the
/// one that bytes are charged for, and its waves of 64 KiB are half of what its fill is counted in: so each stage adds
/// `nvls.fill` of a wave. On four nodes and more a chunk has 64 KiB from 2.19 on; only the filling is charged by these,
/// as what a message costs its thread, fitted to small ones, would bind where NCCL reaches the wire.
StepTime nvls_tree_time(const StepLinks& links, Bytes bytes, const Slowest& all, const NcclCommunicator& c,
                        const Pipeline& tree) {
  StepTime time = pipeline_time(links, bytes, tree);
  const bool small = c.nodes >= 4 && c.version.minor >= 19;
  const Bytes chunk = small ? std::min(time.message, 0.5 * kNvlsChunk) : time.message;
  const Seconds wave = 2 * (chunk / links.inner);  // up and down
  const double levels = tree.net_steps / 2, stages = 2 + 2 * levels;
  // Instead of the moves that any pipeline has behind its steps between nodes.
  time.terms.inside += stages * all.nvls.fill * wave - tree.net_steps * (time.message / links.inner);
  return time;
}

StepTime time_of(CollectiveKind kind, const NcclWay& way, const StepLinks& links, Bytes bytes, const Slowest& all,
                 const NcclCommunicator& c, const Ring& ring) {
  const int nodes = c.nodes;
  if (kind == CollectiveKind::kBroadcast) {
    Pipeline chain;
    chain.inner_steps = ring.ranks - nodes;
    chain.net_steps = nodes - 1;
    chain.cut_through = way.protocol != Protocol::kSimple;
    return pipeline_time(links, bytes, chain);
  }
  if (way.algorithm == Algorithm::kNvls) return nvls_time(all, bytes, ring.ranks);
  if (way.algorithm == Algorithm::kPat) return pat_time(links, bytes, ring.ranks);
  if (way.algorithm == Algorithm::kCollNet) return pipeline_time(links, bytes, collnet_of(all));
  if (way.algorithm == Algorithm::kNvlsTree) return nvls_tree_time(links, bytes, all, c, tree_of(way, all, nodes));
  if (way.algorithm != Algorithm::kRing) return pipeline_time(links, bytes, tree_of(way, all, nodes));
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  const double steps = (all_reduce ? 2.0 : 1.0) * (ring.ranks - 1);
  if (nodes == 1) return ring_time(links, bytes, ring.ranks, steps, 0);
  const int least = fewest_here(ring);
  const double net = std::min(steps, net_steps_of_ring(all_reduce, nodes, ring.ranks > 2 * nodes ? all.here : least));
  return ring_time(links, bytes, ring.ranks, steps, net);
}

/// Bytes that the edge between two nodes carries.
Bytes edge_bytes(CollectiveKind kind, const NcclWay& way, Bytes bytes, const Ring& ring) {
  const double n = ring.ranks;
  if (kind == CollectiveKind::kBroadcast || way.algorithm == Algorithm::kCollNet) return bytes;
  if (is_tree(way.algorithm)) return tree_passes(static_cast<int>(ring.node.size())) * bytes;
  return (kind == CollectiveKind::kAllReduce ? 2 : 1) * (n - 1) / n * bytes;
}

/// Of the switches that its steps cross beyond the first.
Seconds crossings(CollectiveKind kind, const NcclWay& way, const Cluster& cluster, const Ring& ring) {
  if (way.algorithm == Algorithm::kRing)
    return ring_crossings(cluster, ring, kind == CollectiveKind::kAllReduce ? 2 : 1);
  return (way.algorithm == Algorithm::kPat ? 0.5 : 1) * tree_crossings(cluster, ring);  // which goes one way
}

/// Steps that lead to a node group that is apart: of a ring as often as it crosses, of a tree all.
double steps_apart(CollectiveKind kind, const NcclWay& way, const Cluster& cluster, const Ring& ring) {
  const int edges = edges_apart(cluster, ring);
  if (edges == 0) return 0;
  const double nodes = static_cast<double>(ring.node.size());
  if (kind == CollectiveKind::kBroadcast) return std::min(edges - 1.0, nodes - 1);
  if (is_tree(way.algorithm)) return 2 * std::ceil(std::log2(nodes));
  if (way.algorithm == Algorithm::kCollNet) return 2;
  if (way.algorithm == Algorithm::kPat) return std::ceil(std::log2(nodes));
  return (kind == CollectiveKind::kAllReduce ? 2 : 1) * std::min<double>(edges, nodes - 1);
}

}  // namespace

/// What is asked of a cluster and a ring more than once for a price.
struct NcclSight {
  Slowest all;
  int channels;    ///< of the communicator; on one node of GPUs that say nothing of them those of a DGX A100
  bool holds_sms;  ///< the GPUs say how many
  NcclCommunicator c;
};

namespace {

NcclSight sight_of(const Cluster& cluster, const Ring& ring) {
  constexpr int kUsual = 24;
  const int said = communicator_channels(cluster, ring);
  const int channels = said > 0 ? said : ring.node.size() > 1 ? std::max(1, network_channels(cluster, ring)) : kUsual;
  NcclSight sight{slowest_of(cluster, ring), channels, said > 0, {}};
  const Slowest& all = sight.all;
  NcclCommunicator& c = sight.c;
  c.version = cluster.nccl;
  c.capability = all.capability;
  c.amd = all.amd;
  c.ranks = ring.ranks;
  c.nodes = static_cast<int>(ring.node.size());
  c.nvlink = all.nvlink;
  const double links = kNvlinkCounted * all.board.value / kGB;
  if (c.nodes == 1) {
    c.channels = std::max(1, sight.channels / 2);  // NCCL doubles what its search finds
    c.intra = c.inter = links / c.channels;
    c.ll128 = all.nvlink && all.ll128_on;
    if (all.nvls_rate > BytesPerSecond{0}) find_nvls(c, ring.ranks, links);
    return sight;
  }
  const NcclGraphs graphs = graphs_between(cluster, ring);
  c.channels = graphs.ring.channels;
  c.intra = graphs.ring.intra;
  c.inter = graphs.ring.inter;
  c.tree_intra = graphs.tree.intra;
  c.tree_inter = graphs.tree.inter;
  c.ll128 = all.beside && all.nvlink && all.ll128_on;
  c.collnet = cluster.collnet;
  if (all.nvls_rate > BytesPerSecond{0} && !all.over_tcp && all.here > 1) c.nvls = links;
  return sight;
}

}  // namespace

NcclCommunicator communicator_of(const Cluster& cluster, const Ring& ring) { return sight_of(cluster, ring).c; }

BytesPerSecond block_rate(const Cluster& cluster, const Ring& ring) {
  NcclCommunicator c;
  c.version = NcclRelease{30};  // which has it measured for all GPUs
  c.capability = slowest_of(cluster, ring).capability;
  return BytesPerSecond{kGB * nccl_most_a_channel(c, Algorithm::kRing, Protocol::kLl128)};
}

namespace {

/// Only the ways that `fits` holds for, where there is one.
template <typename Fits>
void keep(std::vector<NcclWay>& ways, const Fits& fits) {
  if (std::ranges::any_of(ways, fits)) std::erase_if(ways, std::not_fn(fits));
}

std::vector<NcclWay> ways_of(CollectiveKind kind, const Cluster& cluster, const NcclSight& sight,
                             std::optional<Algorithm> only) {
  const Slowest& all = sight.all;
  const NcclCommunicator& c = sight.c;
  std::vector<NcclWay> ways;
  for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing, Algorithm::kCollNet, Algorithm::kNvls,
                                    Algorithm::kNvlsTree, Algorithm::kPat})
    for (const Protocol protocol : {Protocol::kLowLatency, Protocol::kLl128, Protocol::kSimple})
      if (nccl_estimate(c, kind, algorithm, protocol).bandwidth > 0) ways.push_back({algorithm, protocol});
  if (all.ll == 0) keep(ways, [](const NcclWay& way) { return way.protocol == Protocol::kSimple; });
  if (all.simple_only) keep(ways, [](const NcclWay& way) { return way.protocol == Protocol::kSimple; });
  if (only) keep(ways, [&](const NcclWay& way) { return way.algorithm == *only; });
  if (cluster.tuner != Tuner::kForced) return ways;
  const ForcedWay& forced = cluster.forced;
  if (!forced.algorithm.empty())
    keep(ways, [&](const NcclWay& way) { return lower(name_of(way.algorithm)) == forced.algorithm; });
  if (!forced.protocol.empty())
    keep(ways, [&](const NcclWay& way) { return lower(name_of(way.protocol)) == forced.protocol; });
  return ways;
}

std::optional<NcclWay> tuned_way(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const NcclSight& sight,
                                 const std::vector<NcclWay>& ways, std::optional<Algorithm> only) {
  if (cluster.tuner == Tuner::kFastest) return std::nullopt;
  if (cluster.tuner == Tuner::kAws && !only)
    if (const std::optional<NcclWay> chosen = aws_choice(sight.c, sight.all.adapter, kind, bytes);
        chosen && std::ranges::find(ways, *chosen) != ways.end())
      return chosen;
  return nccl_choice(sight.c, kind, bytes, ways);
}

NcclSteps steps_of(CollectiveKind kind, Bytes bytes, const NcclSight& sight, const Ring& ring, const NcclWay& way,
                   BytesPerSecond edge) {
  const int channels = std::max(1, channels_of(kind, bytes, ring.ranks, way.algorithm, way.protocol, sight.channels));
  return {links_of(kind, way, sight.c, sight.all, bytes, sight.channels, channels, edge),
          sight.all.start + launch_of(way, sight.all)};
}

CollectiveCost cost_of(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                       const NcclSight& sight, const NcclWay& way, BytesPerSecond edge) {
  const Slowest& all = sight.all;
  const int communicator = sight.channels;
  const NcclSteps steps = steps_of(kind, bytes, sight, ring, way, edge);
  const StepLinks& links = steps.links;
  const StepTime time = time_of(kind, way, links, bytes, all, sight.c, ring);
  CollectiveCost cost{.edge = edge, .algorithm = way.algorithm, .protocol = way.protocol};
  // Blocks of a GPU, each of which serves a channel for all GPUs that send.
  cost.channels = sight.holds_sms ? links.channels / heads_of(way.algorithm, all.here) : 0;
  if (ring.node.size() > 1) cost.edge_bytes = all.contention * links.flags * edge_bytes(kind, way, bytes, ring);
  if (ring.node.size() == 1)
    cost.intra = way.algorithm == Algorithm::kNvls ? bytes / (ring.ranks / (2.0 * (ring.ranks - 1)) * all.nvls_rate)
                                                   : Seconds{0};
  if (all.inner > BytesPerSecond{0} && way.algorithm == Algorithm::kRing)
    cost.intra = (kind == CollectiveKind::kBroadcast ? bytes : edge_bytes(kind, way, bytes, ring)) /
                 (communicator * links.inner);
  if (all.inner > BytesPerSecond{0} && way.algorithm == Algorithm::kTree)
    cost.intra = std::min(2, all.here - 1) * bytes / (communicator * links.inner);
  if (all.inner > BytesPerSecond{0} && by_all_gpus(way.algorithm))
    cost.intra = 2 * bytes / (links.channels * links.inner);
  const Seconds apart = steps_apart(kind, way, cluster, ring) * latency_apart(cluster);
  cost.terms = time.terms;
  cost.terms.launch = steps.launch;
  cost.terms.latency += apart + crossings(kind, way, cluster, ring);
  const Seconds on_edge = cost.edge_bytes / edge, bytes_alone = std::max(cost.intra, on_edge);
  cost.latency = std::max(Seconds{0}, cost.terms.sum() - bytes_alone);
  (on_edge >= cost.intra ? cost.terms.wire : cost.terms.inside) += std::max(Seconds{0}, bytes_alone - cost.terms.sum());
  if (ring.node.size() > 1) cost.message = time.message;
  cost.turns = time.turns;
  cost.steps = time.steps;
  cost.net_steps = time.net_steps;
  return cost;
}

}  // namespace

std::vector<NcclWay> nccl_ways(CollectiveKind kind, const Cluster& cluster, const Ring& ring,
                               std::optional<Algorithm> only) {
  return ways_of(kind, cluster, sight_of(cluster, ring), only);
}

std::optional<NcclWay> tuned_way(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                                 std::optional<Algorithm> only) {
  const NcclSight sight = sight_of(cluster, ring);
  return tuned_way(kind, bytes, cluster, sight, ways_of(kind, cluster, sight, only), only);
}

std::optional<FasterWay> faster_way(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                                    double times) {
  if (!goes_by_steps(kind, cluster, ring) || cluster.tuner == Tuner::kForced) return std::nullopt;
  const Seconds chosen = collective_time(NcclPrices(kind, cluster, ring).of(bytes, std::nullopt));
  constexpr int kMostChannelsTried = 16;  // of an adapter
  constexpr double kWorthMore = 1.02;     // what forces channels as well is said where it gains so much more
  std::optional<FasterWay> fastest;
  const auto try_all = [&](const Cluster& with, int channels) {
    const NcclPrices prices(kind, with, ring);
    for (const NcclWay& way : nccl_ways(kind, with, ring, std::nullopt)) {
      const Seconds time = collective_time(prices.of(bytes, way));
      const double worth = channels == 0 ? 1 : std::min(times, kWorthMore);
      if (times * time <= chosen && (!fastest || worth * time < fastest->time)) fastest = {way, channels, time};
    }
  };
  try_all(cluster, 0);
  const NodeGroup& group = group_of(cluster, ring, 0);
  const int devices = devices_of(group, ring.gpus.front());
  if (ring.node.size() < 2 || group.nics.channels > 0 || devices == 0) return fastest;
  const int found = std::max(1, network_channels(cluster, ring) / devices);
  for (int channels = 1; channels <= std::min(4 * found, kMostChannelsTried); channels *= 2) {
    Cluster other = cluster;
    for (NodeGroup& each : other.nodes) each.nics.channels = channels;
    try_all(other, channels);
  }
  return fastest;
}

std::optional<BytesPerSecond> binding_copies(const Cluster& cluster, const Ring& ring, Algorithm algorithm) {
  const std::optional<BytesPerSecond> of_ring = binding_copies(cluster, ring);
  if (algorithm != Algorithm::kTree) return of_ring;
  const BytesPerSecond of_tree = slowest_of(cluster, ring).tree_host;
  return of_tree < edge_bandwidth(CollectiveKind::kAllReduce, cluster, ring) ? of_tree : of_ring;
}

NcclSteps nccl_steps(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring, const NcclWay& way) {
  return steps_of(kind, bytes, sight_of(cluster, ring), ring, way, edge_bandwidth(kind, cluster, ring));
}

NcclPrices::NcclPrices(CollectiveKind kind, const Cluster& cluster, const Ring& ring)
    : kind_(kind),
      cluster_(cluster),
      ring_(ring),
      sight_(std::make_unique<const NcclSight>(sight_of(cluster, ring))),
      edge_(edge_bandwidth(kind, cluster, ring)) {}

NcclPrices::~NcclPrices() = default;

CollectiveCost NcclPrices::of(Bytes bytes, const NcclWay& way) const {
  return cost_of(kind_, bytes, cluster_, ring_, *sight_, way, edge_);
}

CollectiveCost NcclPrices::of(Bytes bytes, std::optional<Algorithm> only) const {
  const std::vector<NcclWay> ways = ways_of(kind_, cluster_, *sight_, only);
  if (const auto way = tuned_way(kind_, bytes, cluster_, *sight_, ways, only)) return of(bytes, *way);
  CollectiveCost best;
  Seconds least{std::numeric_limits<double>::infinity()};
  for (const NcclWay& way : ways) {
    const CollectiveCost cost = of(bytes, way);
    const Seconds time = collective_time(cost);
    if (time < least) least = time, best = cost;
  }
  return best;
}

// Neither exchanges, nor accocal's own rings, nor a plain network or node, which has no kind or generation (no file can
// name one) and whose steps take one latency each: what closed forms are held against.
bool goes_by_steps(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  if (is_exchange(kind)) return false;
  const bool between = ring.node.size() > 1;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    if (is_like_the_one_before(ring, i)) continue;
    const NodeGroup& group = group_of(cluster, ring, i);
    if (group.nics.kind == kOwnRings || (between ? group.nics.kind : group.intra.generation).empty()) return false;
  }
  return true;
}

}  // namespace accosim
