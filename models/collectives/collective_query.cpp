#include "models/collectives/collective_query.hpp"

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

Seconds collective_time(const CollectiveQuery& query) {
  const Ring ring = ring_of(query);
  const Seconds time = collective_time(query.kind, query.bytes, *query.cluster, ring, query.only) + query.offset;
  return query.back_to_back ? time - start_of(*query.cluster, ring) : time;
}

}  // namespace accosim
