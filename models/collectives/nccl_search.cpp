#include "models/collectives/nccl_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace accosim {
namespace {

/// Of a search: half of a communicator's.
int most_channels(const NcclNode& node) { return node.minor < 25 ? 16 : 32; }

/// Between nodes (speedArrayInter and its sisters), fastest first.
std::vector<double> speeds_of(const NcclNode& node) {
  if (node.capability >= 100 && node.minor >= 25)
    return {96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
  if (node.capability >= 90 && node.minor >= 19)
    return {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
  if (node.capability >= 90) return {48, 45, 42, 40, 30, 24, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
  if (node.minor >= 18) return {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
  return {48, 30, 24, 22, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
}

double times(double rate, double part) { return std::floor(rate / part + 1e-9); }

/// Whether GPUs carry so many channels of a speed. A channel leaves the node, or a tree ends, at a GPU that does not
/// send it on; where there are as many channels as GPUs each of these is spared one. Up to 2.19 the search did not find
/// rings of that kind.
bool is_carried(const NcclNode& node, int channels, double speed, bool ring) {
  if (node.gpus < 2) return true;
  const int spared = ring && node.minor < 20 ? 0 : channels / node.gpus;
  return speed <= node.pair + 1e-9 && (channels - spared) * speed <= node.nvlink + 1e-9;
}

/// Channels of a speed that fit: each takes it from an adapter (in whole GB/s), from slots and, inside the node, from
/// GPUs' links.
int that_fit(const NcclNode& node, double speed) {
  const double whole = speed < 1 ? speed : std::floor(speed);
  const double sent = speed * (node.intel_root ? 1.2 : 1);
  double by_gpus = node.gpus * times(node.slot, sent);
  // Before Ampere what a GPU receives takes an eighth more of what it sends.
  if (node.capability < 80)
    by_gpus =
        std::max(std::floor(node.gpus / 2.0) * times(node.slot, sent), node.gpus * times(node.slot, sent + speed / 8));
  double of_adapter = std::min(times(node.adapter, whole), times(node.slot, sent));
  // Up to 2.17 its budget of steps ended before it had tried two of an adapter for eight GPUs.
  if (node.minor < 18 && node.gpus > 4) of_adapter = std::min(of_adapter, 1.0);
  auto channels =
      static_cast<int>(std::min({node.adapters * of_adapter, by_gpus, static_cast<double>(most_channels(node))}));
  while (channels > 0 && !is_carried(node, channels, speed, true)) --channels;
  return channels;
}

NcclGraph ring_of(const NcclNode& node) {
  constexpr double kLookOn = 0.49;
  const double all = node.gpus > 1 ? node.nvlink : std::numeric_limits<double>::infinity();
  NcclGraph best{0, 0, 0};
  for (const double speed : speeds_of(node)) {
    if (best.channels > 0 && (speed <= kLookOn * best.inter || best.channels * best.inter >= all)) break;
    const int channels = that_fit(node, speed);
    if (channels * speed > best.channels * best.intra) best = {channels, speed, speed};
  }
  if (best.channels == 0) return {1, 0.1, 0.1};  // as NCCL falls back
  const bool fast = best.intra >= 25, few = best.channels <= 4 || best.intra >= 50;
  if (fast && (node.capability <= 80 || few)) {
    const int twice = std::min(2 * best.channels, most_channels(node));
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
    if (!is_carried(node, tree.channels, *speed, false)) break;
    tree.intra = *speed;
  }
  return tree;
}

}  // namespace

NcclGraphs find_graphs(const NcclNode& node) {
  // A fit asks of the same few nodes thousands of times.
  struct Known {
    NcclNode node;
    NcclGraphs graphs;
  };
  thread_local std::vector<Known> known;
  for (const Known& each : known)
    if (each.node == node) return each.graphs;
  const NcclGraph ring = ring_of(node);
  constexpr std::size_t kMost = 16;
  if (known.size() == kMost) known.clear();
  known.push_back({node, {ring, tree_of(node, ring)}});
  return known.back().graphs;
}

int channels_between(const NcclGraph& ring, int capability, int minor) {
  const int most = minor < 25 ? 32 : 64, few = 16;
  const int channels = std::min(most, 2 * ring.channels);
  const bool hopper = capability >= 90 && (minor >= 26 || capability < 100);
  const bool fits = minor < 20 ? 2 * channels <= most : channels < few;
  return hopper && minor >= 18 && ring.intra > 45 && fits ? 2 * channels : channels;
}

}  // namespace accosim
