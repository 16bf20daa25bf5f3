#include "sim/schedules/few_replicas.hpp"

#include <cstddef>

namespace accosim {
namespace {

/// In the order of ranks, how many of them are between a replica and the next.
int stride_of(const Layout& layout, Dim replicas) {
  int stride = 1;
  for (const Dim each : layout.order) {
    if (each == replicas) break;
    stride *= layout.size(each);
  }
  return stride;
}

/// The least divisor that leaves three nodes to each run of replicas and halves them; 0: there is none.
int fewest(int replicas, int on_a_node) {
  constexpr int kLeastNodes = 3;
  for (int few = kLeastNodes * on_a_node; 2 * few <= replicas; few += on_a_node)
    if (replicas % few == 0) return few;
  return 0;
}

bool are_alike(const Costs& costs) {
  return costs.cluster.nodes.size() == 1 && !costs.cluster.fabric.between_groups && costs.layout.islands.empty() &&
         costs.sites == costs.layout && !costs.pace.drawn() && costs.pace.pauses.empty();
}

}  // namespace

std::optional<FewReplicas> few_replicas(const Costs& all) {
  if (!are_alike(all)) return std::nullopt;
  const Dim which = all.layout.size(Dim::kReplica) > 1 ? Dim::kReplica : Dim::kShard;
  const auto dimension = static_cast<std::size_t>(which);
  const int replicas = all.layout.size(which), gpus = all.cluster.nodes.front().gpus,
            stride = stride_of(all.layout, which);
  // Each on nodes of its own, or several that fill a node.
  if (stride % gpus != 0 && gpus % stride != 0) return std::nullopt;
  const int few = fewest(replicas, stride < gpus ? gpus / stride : 1);
  if (few == 0) return std::nullopt;

  FewReplicas made{all, replicas / few, {}, {}};
  Costs& costs = made.costs;
  costs.cluster.nodes.front().count /= made.each;
  costs.layout.size(which) = few;
  costs.sites = costs.layout;
  costs.places = places_of(costs.cluster);
  costs.world = whole_ring(costs.cluster);
  costs.kind_of.clear();
  for (int rank = 0; rank < costs.ranks(); ++rank) {
    made.all.push_back(rank_at(all.layout, coordinates_of(costs.layout, rank)));
    costs.kind_of.push_back(all.kind_of[static_cast<std::size_t>(made.all.back())]);
  }
  for (int rank = 0; rank < all.ranks(); ++rank) {
    GridCoordinates at = coordinates_of(all.layout, rank);
    at[dimension] %= few;
    made.few.push_back(rank_at(costs.layout, at));
  }
  return made;
}

}  // namespace accosim
