#include "models/collectives/collective_query.hpp"

namespace accosim {

Ring ring_of(const CollectiveQuery& query) {
  const std::vector<Place> places = places_of(*query.cluster);
  std::vector<int> members;
  const int here = query.ranks / query.nodes;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank].node < query.nodes && places[rank].gpu < here) members.push_back(static_cast<int>(rank));
  return ring_of(places, members);
}

namespace {

Seconds time_with(const CollectiveQuery& query, const NcclRelease& release) {
  const Ring ring = ring_of(query);
  Cluster cluster = *query.cluster;
  cluster.nccl = release;
  const Seconds time = collective_time(query.kind, query.bytes, cluster, ring, query.only) + query.offset;
  return query.back_to_back ? time - start_of(cluster, ring) : time;
}

}  // namespace

NcclRelease middle_release(const CollectiveQuery& query) {
  return query.releases.empty() ? query.cluster->nccl : query.releases[(query.releases.size() - 1) / 2];
}

Seconds collective_time(const CollectiveQuery& query) { return time_with(query, middle_release(query)); }

std::vector<Seconds> collective_times(const CollectiveQuery& query) {
  std::vector<Seconds> times;
  for (const NcclRelease& release : query.releases) times.push_back(time_with(query, release));
  return times.empty() ? std::vector{collective_time(query)} : times;
}

}  // namespace accosim
