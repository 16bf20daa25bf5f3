#include "sim/result/statistics.hpp"

namespace accosim {

int replicas_of(const Costs& costs) { return costs.layout.size(Dim::kReplica); }

Statistics statistics_of(const ScheduleSpec& spec, const Costs& costs) {
  if (spec.estimate == EstimateOf::kLocal && costs.ranks() > 1) return Statistics::kLocalEstimate;
  const Statistics statistics = traits_of(spec).statistics;
  return statistics == Statistics::kReplicasDrift && replicas_of(costs) < 2 ? Statistics::kSynchronous : statistics;
}

}  // namespace accosim
