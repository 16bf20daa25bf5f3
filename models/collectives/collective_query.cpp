#include "models/collectives/collective_query.hpp"

#include <algorithm>

#include "models/spec/cluster.hpp"

namespace accosim {

Ring ring_of(const CollectiveQuery& query) {
  const std::vector<Place> places = places_of(*query.cluster);
  std::vector<int> members;
  const int here = query.ranks / query.nodes;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank].node < query.nodes && places[rank].gpu < here) members.push_back(static_cast<int>(rank));
  return ring_of(places, members);
}

std::vector<Seconds> collective_times(const CollectiveQuery& query) {
  const Ring ring = ring_of(query);
  const auto time_on = [&](const Cluster& cluster) {
    const Seconds time = collective_time(query.kind, query.bytes, cluster, ring, query.only) + query.offset;
    return query.back_to_back ? time - start_of(cluster, ring) : time;
  };
  if (query.releases.empty()) return {time_on(*query.cluster)};
  std::vector<Seconds> times;
  Cluster cluster = *query.cluster;
  for (const NcclRelease& release : query.releases) {
    cluster.nccl = release;
    times.push_back(time_on(cluster));
  }
  std::sort(times.begin(), times.end());
  return times;
}

Seconds collective_time(const CollectiveQuery& query) {
  const std::vector<Seconds> times = collective_times(query);
  return times[(times.size() - 1) / 2];
}

}  // namespace accosim
