#include "sim/result/statistics_warning.hpp"

#include <fmt/format.h>

#include "models/spec/schedule.hpp"

namespace accosim {
namespace {

std::size_t replicas_of(const ScheduleSpec& spec, const Costs& costs) {
  switch (spec.replica) {
    case Replica::kGpu: return costs.places.size();
    case Replica::kNode: return costs.world.node.size();
    case Replica::kGroup: return costs.cluster.nodes.size();
  }
  return 0;
}

}  // namespace

Statistics statistics_of(const ScheduleSpec& spec, const Costs& costs) {
  const Statistics statistics = traits_of(spec).statistics;
  return statistics == Statistics::kReplicasDrift && replicas_of(spec, costs) < 2 ? Statistics::kSynchronous
                                                                                  : statistics;
}

std::optional<Warning> statistics_warning(const ScheduleSpec& spec, const Costs& costs) {
  switch (statistics_of(spec, costs)) {
    case Statistics::kSynchronous: return std::nullopt;
    case Statistics::kStaleGradients:
      return Warning{"stale_gradients", "every gradient is one update late, which this prediction does not charge for",
                     "expect to need warm-up steps or more samples for the same loss; acco corrects the delay"};
    case Statistics::kReplicasDrift:
      return Warning{
          "replicas_drift",
          fmt::format("{} replicas make {} updates each before they meet, and drift apart, which this "
                      "prediction does not charge for",
                      replicas_of(spec, costs), spec.inner_updates),
          "expect more samples for the same loss, the more replicas and inner_updates the more, and learning "
          "rates of its own; with measured losses, --convergence FILE gives the time to a loss"};
  }
  return std::nullopt;
}

}  // namespace accosim
