#include "models/collectives/fabric_size.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kLeaf = 32;  ///< nodes below a switch

int nodes_of(const Ring& ring) { return static_cast<int>(ring.node.size()); }

Seconds slowest_switch(const Cluster& cluster, const Ring& ring) {
  Seconds slowest;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    if (!is_like_the_one_before(ring, i))
      slowest = std::max(slowest, switch_latency(group_of(cluster, ring, i).nics.kind));
  return slowest;
}

}  // namespace

double greatest_load(int flows) {
  thread_local std::map<int, double> known;  // a fit asks of the same few thousands of times
  const auto [place, is_new] = known.emplace(flows, 0);
  double& load = place->second;
  if (!is_new) return load;
  double term = std::exp(-1.0), below = term;  // P(0), P(at most 0)
  constexpr int kMost = 40;
  for (int k = 0; k < kMost; ++k) {
    load += 1 - std::pow(below, flows);
    term /= k + 1;
    below = std::min(1.0, below + term);
  }
  return load;
}

double contention(const Cluster& cluster, const Ring& ring) {
  const int nodes = nodes_of(ring);
  double most = 0;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    if (!is_like_the_one_before(ring, i)) most = std::max(most, group_of(cluster, ring, i).nics.collisions);
  return nodes <= 2 || most == 0 ? 1 : 1 + most * (greatest_load(nodes) - greatest_load(2));
}

Seconds ring_crossings(const Cluster& cluster, const Ring& ring, double passes) {
  double out = 0;
  for (double below = kLeaf; below < nodes_of(ring); below *= kLeaf) out += std::ceil(nodes_of(ring) / below);
  return out == 0 ? Seconds{0} : 2 * passes * out * slowest_switch(cluster, ring);
}

Seconds tree_crossings(const Cluster& cluster, const Ring& ring) {
  double out = 0;
  for (double below = kLeaf; below < nodes_of(ring); below *= kLeaf)
    out += std::ceil(std::log2(nodes_of(ring) / below));
  return out == 0 ? Seconds{0} : 2 * 2 * out * slowest_switch(cluster, ring);
}

}  // namespace accosim
