// Constants and rules of NCCL's src/graph/tuning.cc, read in the releases 2.12 to 2.30. The tables are NCCL's, in us
// and GB/s: by protocol (LL, LL128, Simple), by GPU (Volta, Ampere, Hopper, Blackwell) and by one, two or more nodes.
#include "models/collectives/nccl_tuner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace accosim {
namespace {

using ByProtocol = std::array<double, 3>;
using ByNodes = std::array<double, 3>;
using ByGpu = std::array<ByNodes, 4>;

std::size_t index_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLowLatency: return 0;
    case Protocol::kLl128: return 1;
    case Protocol::kSimple: break;
  }
  return 2;
}

std::size_t gpu_of(int capability) { return capability >= 100 ? 3 : capability >= 90 ? 2 : capability >= 80 ? 1 : 0; }
std::size_t nodes_index(int nodes) { return static_cast<std::size_t>(std::min(nodes, 3) - 1); }
bool is_tree(Algorithm algorithm) { return algorithm == Algorithm::kTree; }

double base_latency(const NcclCommunicator& c, Algorithm algorithm, Protocol protocol) {
  const std::size_t p = index_of(protocol);
  if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree)
    return c.version.minor <= 17 ? 40 : c.version.minor == 18 ? 23 : 0;
  if (algorithm == Algorithm::kPat) return 8;
  if (is_tree(algorithm) || algorithm == Algorithm::kCollNet) {
    if (c.version.minor <= 17) return ByProtocol{4.4, 4.4, 0}[p];
    return ByProtocol{6.8, 14, c.version.minor >= 23 ? 8.4 : 0}[p];
  }
  return c.version.minor <= 17 ? ByProtocol{3.6, 10, 8.4}[p] : ByProtocol{6.6, 14, 8.4}[p];
}

double inner_hop(const NcclCommunicator& c, Algorithm algorithm, Protocol protocol) {
  const std::size_t p = index_of(protocol);
  if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree)
    return c.version.minor <= 18 ? 0 : c.version.minor == 19 ? 23 : 25;
  if (algorithm == Algorithm::kCollNet) return c.nvls ? 3.7 : 2.8;  // direct where there is a switch, else a chain
  const bool old = c.version.minor <= 17;
  if (!is_tree(algorithm)) return c.nvlink ? ByProtocol{old ? 0.47 : 0.6, 1.9, 3.4}[p] : ByProtocol{1.0, 2.5, 5.7}[p];
  const bool slow = old || (c.version.minor >= 19 && c.version.minor <= 22);
  const double simple = slow ? 28 : c.version.minor == 18 && !c.nvlink ? 6 : 4;
  return c.nvlink ? ByProtocol{old ? 0.52 : 0.6, 1.25, simple}[p] : ByProtocol{1.0, 1.9, simple}[p];
}

double net_hop(const NcclCommunicator& c, Algorithm algorithm, Protocol protocol) {
  const std::size_t p = index_of(protocol);
  if (algorithm == Algorithm::kNvls) return 18;
  if (algorithm == Algorithm::kNvlsTree) return c.version.minor == 18 ? 19 : c.version < NcclRelease{28, 9} ? 14 : 20.9;
  if (algorithm == Algorithm::kCollNet) return c.nvls ? 31 : 30;
  if (is_tree(algorithm) || algorithm == Algorithm::kPat)
    return ByProtocol{5, 8.5, c.version.minor == 18 || c.version.minor >= 23 ? 14.0 : 28.0}[p];
  return ByProtocol{2.7, 4, c.version.minor >= 18 ? 14 : c.version.minor <= 12 ? 28 : 9.6}[p];
}

double ring_bandwidth(const NcclCommunicator& c, CollectiveKind kind, Protocol protocol, double all) {
  if (protocol == Protocol::kLowLatency) {
    const bool quarter = c.nodes > 1 || kind == CollectiveKind::kAllReduce;
    return std::min(nccl_most_ll(c), all * (c.version.minor >= 21 ? 0.5 : quarter ? 0.25 : 1.0 / 3));
  }
  if (protocol == Protocol::kSimple) return all;
  const bool alone = c.ranks < 2 * c.nodes && c.version.minor <= 22;
  return std::min(all * (alone ? 0.7 : 0.92), c.channels * nccl_most_a_channel(c, Algorithm::kRing, protocol));
}

double tree_bandwidth(const NcclCommunicator& c, Protocol protocol, double all) {
  double bandwidth = std::min(0.92 * all, c.channels * nccl_most_a_channel(c, Algorithm::kTree, Protocol::kSimple));
  if (protocol == Protocol::kLowLatency) bandwidth = std::min(bandwidth / 3.8, nccl_most_ll(c));
  if (protocol == Protocol::kLl128)
    bandwidth = std::min(bandwidth * (c.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                         c.channels * nccl_most_a_channel(c, Algorithm::kTree, protocol));
  return c.plain_tree ? 0.85 * bandwidth : bandwidth;
}

bool exists(const NcclCommunicator& c, CollectiveKind kind, Algorithm algorithm, Protocol protocol) {
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  if (is_exchange(kind)) return false;
  if (protocol == Protocol::kLl128 && !(c.ll128 && c.nvlink)) return false;
  switch (algorithm) {
    case Algorithm::kRing: return true;
    case Algorithm::kTree: return all_reduce;
    case Algorithm::kNvls:
      return c.nvls && protocol == Protocol::kSimple && c.nodes == 1 && c.version.minor >= 17 &&
             (all_reduce || (kind != CollectiveKind::kBroadcast && c.version.minor != 18));
    case Algorithm::kNvlsTree:
      return c.nvls && protocol == Protocol::kSimple && c.nodes > 1 && c.version.minor >= 18 && all_reduce;
    case Algorithm::kPat:
      return c.ranks == c.nodes && c.version.minor >= 23 && protocol == Protocol::kSimple &&
             (kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter);
    case Algorithm::kCollNet: return c.collnet && c.nodes > 1 && protocol == Protocol::kSimple && all_reduce;
    case Algorithm::kExchange: break;
  }
  return false;
}

double steps_of(const NcclCommunicator& c, CollectiveKind kind) {
  if (kind == CollectiveKind::kAllReduce) return 2.0 * (c.ranks - 1);
  return kind == CollectiveKind::kBroadcast ? c.ranks : c.ranks - 1.0;
}

double ring_latency(const NcclCommunicator& c, CollectiveKind kind, Protocol protocol, double inner, double net) {
  const double steps = steps_of(c, kind);
  if (kind == CollectiveKind::kBroadcast) {
    if (c.same_channels) return c.nodes > 1 ? net_hop(c, Algorithm::kRing, protocol) : inner;
    const Algorithm as = protocol == Protocol::kSimple ? Algorithm::kTree : Algorithm::kRing;
    return steps * (c.nodes > 1 ? net_hop(c, as, protocol) : inner_hop(c, as, protocol));
  }
  if (c.nodes == 1) return steps * inner;
  const double post = c.version.minor < 18 ? 0 : (c.amd ? 2 : 1) * (protocol == Protocol::kSimple ? 3 : 1);
  double between = c.nodes - 1;
  if (kind == CollectiveKind::kAllReduce) between = 2.0 * (c.version.minor >= 23 ? c.nodes - 1 : c.nodes);
  return (steps - between) * std::max(inner, post) + between * net;
}

double levels(int nodes) { return std::floor(std::log2(nodes)); }

/// GB/s of algorithm bandwidth, of NVLS on one node and of NVLSTree on several.
double nvls_bandwidth(const NcclCommunicator& c, CollectiveKind kind) {
  if (c.nodes > 1 && c.version.minor <= 18)
    return std::min(*c.nvls, c.channels * c.inter) * 0.7 * c.nodes / (2.0 * (c.nodes - 1));
  if (c.version.minor <= 27) return 5.0 / 6 * (c.nodes <= 2 ? *c.nvls : std::min(*c.nvls, c.channels * c.inter));
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  const double efficiency = c.capability >= 100 ? 0.74 : 0.85, here = 1.0 * c.ranks / c.nodes;
  const double channels = c.nodes == 1 ? c.ranks : 16;  // a head for each GPU, of one node
  double bus = *c.nvls * efficiency * (channels - 1) / channels * (all_reduce ? 2 : (here - 1) / here);
  if (c.nodes == 1) {
    bus = std::min(bus, std::max(*c.nvls, c.nvls_most));
    return all_reduce ? bus * c.ranks / steps_of(c, kind) : bus;
  }
  const double three = c.version < NcclRelease{28, 9} ? 43.1 : c.version.minor < 30 ? 43.8 : 80;
  const ByGpu most = {{{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96, three}}};
  bus = std::min({bus, c.channels * c.inter * (c.nodes == 2 ? 2 : 1),
                  channels * most[gpu_of(c.capability)][nodes_index(c.nodes)]});
  return bus * c.ranks / steps_of(c, kind);
}

/// Direct, to every GPU of the node at once, where a switch joins them; a chain of them otherwise.
NcclEstimate collnet_estimate(const NcclCommunicator& c, double base, double inner, double net) {
  const double here = std::floor(1.0 * c.ranks / c.nodes), others = here - 1;
  NcclEstimate estimate{base, c.channels * c.intra / 2};
  if (!c.nvls) {
    estimate.latency += 2 * others * inner + net;
    return estimate;
  }
  estimate.latency += 2 * (std::min(1.0, others) * inner + 0.4 * others) + net;  // 0.4 us a GPU, one after the other
  const double a_channel = here / c.channels;
  estimate.bandwidth /= a_channel - (a_channel - 1) / 2;
  if (c.capability >= 90) estimate.bandwidth *= 0.85;
  return estimate;
}

/// By powers of two from 64 B on.
double tree_correction(Protocol protocol, Bytes bytes) {
  constexpr std::array<std::array<double, 23>, 3> kTable = {
      {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
       {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
       {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};
  if (bytes.value < 64) return 1;
  const auto power = static_cast<std::size_t>(std::log2(bytes.value / 64));
  const std::array<double, 23>& row = kTable[index_of(protocol)];
  return power < row.size() ? row[power] : 1;
}

/// How many times its latency a ring between nodes takes from a certain size on.
double plateau(const NcclCommunicator& c, Bytes bytes) {
  const double a_rank = bytes.value / c.ranks;
  if (c.version.minor <= 17) return a_rank < 4096 ? 1 : c.version.minor == 17 && c.capability >= 90 ? 1.5 : 1.9;
  if (a_rank / (2.0 * c.channels) < 64) return 1;
  return c.capability < 80 ? 1.9 : 1.4;
}

}  // namespace

NcclEstimate nccl_estimate(const NcclCommunicator& c, CollectiveKind kind, Algorithm algorithm, Protocol protocol) {
  NcclEstimate estimate;
  if (!exists(c, kind, algorithm, protocol)) return estimate;
  const double all = c.channels * (c.nodes <= 2 ? c.intra : c.inter);
  double net = net_hop(c, algorithm, protocol) + c.net_latency * (protocol == Protocol::kSimple ? 2 : 1);
  if (algorithm == Algorithm::kRing && c.ranks == c.nodes && c.version.minor >= 23)
    net += net_hop(c, Algorithm::kTree, protocol) - net_hop(c, Algorithm::kRing, protocol);
  const double inner = inner_hop(c, algorithm, protocol);
  estimate.latency = base_latency(c, algorithm, protocol);
  if (algorithm == Algorithm::kRing) {
    estimate.latency += ring_latency(c, kind, protocol, inner, net);
    estimate.bandwidth = ring_bandwidth(c, kind, protocol, all) * c.ranks / steps_of(c, kind);
    return estimate;
  }
  if (is_tree(algorithm)) {
    const double here = std::floor(static_cast<double>(c.ranks) / c.nodes);
    estimate.latency += 2 * ((here - 1) * inner + levels(c.nodes) * net);
    const double of_trees = c.nodes <= 2 ? c.tree_intra : c.tree_inter;
    estimate.bandwidth = tree_bandwidth(c, protocol, of_trees > 0 ? c.channels * of_trees : all) / 2;
    return estimate;
  }
  if (algorithm == Algorithm::kPat) {
    estimate.latency += levels(c.nodes) * net / 3.5 + 2.8 * c.ranks;
    estimate.bandwidth = all * (c.version.minor == 23 ? 0.85 : 0.75);
    return estimate;
  }
  if (algorithm == Algorithm::kCollNet) return collnet_estimate(c, estimate.latency, inner, net);
  const bool first = c.version.minor <= 18;  // which counted the levels of NVLSTree as a chain
  const double net_steps = c.nodes == 1 ? 0 : first ? 2.0 * (c.nodes - 1) : 2 * levels(c.nodes);
  estimate.latency += inner + net_steps * net;
  estimate.bandwidth = nvls_bandwidth(c, kind);
  return estimate;
}

std::optional<double> nccl_time(const NcclCommunicator& c, CollectiveKind kind, Bytes bytes, Algorithm algorithm,
                                Protocol protocol) {
  NcclEstimate estimate = nccl_estimate(c, kind, algorithm, protocol);
  if (estimate.bandwidth <= 0) return std::nullopt;
  if (is_tree(algorithm)) estimate.bandwidth *= tree_correction(protocol, bytes);
  const bool ring_between = algorithm == Algorithm::kRing && protocol == Protocol::kSimple && c.nodes > 1;
  if (ring_between && kind == CollectiveKind::kAllReduce) estimate.latency *= plateau(c, bytes);
  return estimate.latency + bytes.value / (1000 * estimate.bandwidth);
}

void find_nvls(NcclCommunicator& c, int gpus, double all) {
  constexpr std::array kHopper{60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
  constexpr std::array kBlackwell{90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
  constexpr double kCounted = 1.03;  // 20.6 GB/s a link of Hopper, 40.1 of Blackwell, where rings count 20 and 40
  if (c.capability < 90 || gpus < 3) return;
  const auto find = [&](const auto& speeds) {
    const int heads = std::min(gpus, kMostNvlsHeads);
    const auto fits = std::ranges::find_if(speeds, [&](double s) { return heads * s <= kCounted * all; });
    if (fits == speeds.end()) return;
    // The search then raises the speed between nodes, which one node has none of, up to twice that inside.
    auto raised = fits;
    while (raised != speeds.begin() && *raised < 2 * *fits) --raised;
    c.nvls = heads * *fits;
    c.nvls_most = heads * *raised;
  };
  c.capability >= 100 ? find(kBlackwell) : find(kHopper);
}

NcclWay nccl_choice(const NcclCommunicator& communicator, CollectiveKind kind, Bytes bytes,
                    const std::vector<NcclWay>& ways) {
  NcclWay best;
  double least = std::numeric_limits<double>::infinity();
  for (const NcclWay& way : ways) {
    const std::optional<double> time = nccl_time(communicator, kind, bytes, way.algorithm, way.protocol);
    if (time && *time < least) least = *time, best = way;
  }
  return best;
}

double nccl_most_ll(const NcclCommunicator& c) {
  const std::size_t nodes = nodes_index(c.nodes);
  const bool later = c.version.minor >= 21;
  if (c.nodes == 1)
    return std::array<double, 4>{39, 87.7, later ? 141.0 : 87.7, later ? 282.0 : 87.7}[gpu_of(c.capability)];
  return c.amd ? ByNodes{0, 22.5, 19}[nodes] : ByNodes{0, 39, 20.4}[nodes];
}

double nccl_most_a_channel(const NcclCommunicator& c, Algorithm algorithm, Protocol protocol) {
  constexpr ByGpu kRing128 = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
  constexpr ByGpu kTree128 = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
  constexpr ByGpu kTree = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
  const std::size_t gpu = gpu_of(c.capability), nodes = nodes_index(c.nodes);
  const bool ring = protocol != Protocol::kSimple && !is_tree(algorithm);
  // Blackwell's were twice Hopper's at first, and were measured later: trees in 2.28, rings in 2.28.7 to 2.29.7.
  constexpr NcclRelease kMeasured{29, 7}, kAlone{29, 2}, kTwoNodes{28, 7};
  const bool first = c.version < (ring ? kMeasured : NcclRelease{28, 0});
  if (gpu == 3 && ring && first) {
    if (c.nodes == 2 && c.version >= kTwoNodes) return 34.6;
    if (c.version >= kAlone) return 34.5;
  }
  const ByGpu& table = protocol == Protocol::kSimple ? kTree : ring ? kRing128 : kTree128;
  return gpu == 3 && first ? 2 * table[2][nodes] : table[gpu][nodes];
}

}  // namespace accosim
