#include "sim/result/statistics.hpp"

#include "models/spec/schedule.hpp"

namespace accosim {

std::size_t replicas_of(const ScheduleSpec& spec, const Costs& costs) {
  switch (spec.replica) {
    case Replica::kGpu: return costs.places.size();
    case Replica::kNode: return costs.world.node.size();
    case Replica::kGroup: return costs.cluster.nodes.size();
  }
  return 0;
}

Statistics statistics_of(const ScheduleSpec& spec, const Costs& costs) {
  const Statistics statistics = traits_of(spec).statistics;
  return statistics == Statistics::kReplicasDrift && replicas_of(spec, costs) < 2 ? Statistics::kSynchronous
                                                                                  : statistics;
}

}  // namespace accosim
