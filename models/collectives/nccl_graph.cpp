#include "models/collectives/nccl_graph.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

namespace accosim {
namespace {

constexpr int kMostChannels = 16;  // of a search: half of a communicator's 32

/// Between nodes (speedArrayInter and its sisters), fastest first.
std::vector<double> speeds_of(const NcclNode& node) {
  if (node.capability >= 100 && node.minor >= 25)
    return {96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
  if (node.capability >= 90) return {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
  const double below_24 = node.minor >= 18 ? 20 : 22;
  return {48, 30, 28, 24, below_24, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
}

double times(double rate, double part) { return std::floor(rate / part + 1e-9); }

/// What channels of all GPUs may carry inside the node. Each leaves the node by one GPU, which does not send it on;
/// up to 2.19 the search did not find an order in which these are spread.
double inside_of(const NcclNode& node) {
  if (node.gpus < 2) return std::numeric_limits<double>::infinity();
  return node.minor < 20 ? node.nvlink : node.nvlink * node.gpus / (node.gpus - 1.0);
}

/// Channels of a speed that fit: each takes it from an adapter (in whole GB/s), from slots and, inside the node, from
/// every GPU's links.
int that_fit(const NcclNode& node, double speed) {
  const double whole = speed < 1 ? speed : std::floor(speed);
  const double sent = speed * (node.intel_root ? 1.2 : 1);
  double by_gpus = node.gpus * times(node.slot, sent);
  // Before Ampere what a GPU receives takes an eighth more of what it sends.
  if (node.capability < 80)
    by_gpus = std::max(node.gpus / 2 * times(node.slot, sent), node.gpus * times(node.slot, sent + speed / 8));
  double of_adapter = std::min(times(node.adapter, whole), times(node.slot, sent));
  // Up to 2.17 its budget of steps ended before it had tried two of an adapter for eight GPUs.
  if (node.minor < 18 && node.gpus > 4) of_adapter = std::min(of_adapter, 1.0);
  const double by_adapters = node.adapters * of_adapter;
  return static_cast<int>(std::min({by_adapters, by_gpus, times(inside_of(node), speed),
                                    1.0 * (node.minor < 25 ? kMostChannels : 2 * kMostChannels)}));
}

NcclGraph ring_of(const NcclNode& node) {
  constexpr double kLookOn = 0.49;
  NcclGraph best{0, 0, 0};
  for (const double speed : speeds_of(node)) {
    if (best.channels > 0 && (speed <= kLookOn * best.inter || best.channels * best.inter >= inside_of(node))) break;
    const int channels = that_fit(node, speed);
    if (channels * speed > best.channels * best.intra) best = {channels, speed, speed};
  }
  if (best.channels == 0) return {1, 0.1, 0.1};  // as NCCL falls back
  const bool fast = best.intra >= 25, few = best.channels <= 4 || best.intra >= 50;
  if (fast && (node.capability <= 80 || few)) {
    const int twice = std::min(2 * best.channels, kMostChannels);
    const double parts = std::ceil(1.0 * twice / best.channels);
    best = {twice, best.intra / parts, best.inter / parts};
  }
  return best;
}

NcclGraph tree_of(const NcclNode& node, const NcclGraph& ring) {
  const std::vector<double> speeds = speeds_of(node);
  NcclGraph tree = ring;
  for (auto speed = speeds.rbegin(); speed != speeds.rend() && tree.intra < 2 * tree.inter; ++speed) {
    if (*speed <= tree.intra) continue;
    if (tree.channels * *speed > inside_of(node)) break;
    tree.intra = *speed;
  }
  return tree;
}

}  // namespace

NcclGraphs find_graphs(const NcclNode& node) {
  const NcclGraph ring = ring_of(node);
  return {ring, tree_of(node, ring)};
}

int channels_between(const NcclGraph& ring, int capability, int minor) {
  constexpr int kMost = 32;
  const int channels = std::min(kMost, 2 * ring.channels);
  const int until = minor < 20 ? kMost / 2 : kMostChannels - 1;
  const bool fast = capability >= 90 && capability < 100 && minor >= 18 && ring.intra > 45;
  return fast && channels <= until ? 2 * channels : channels;
}

}  // namespace accosim
