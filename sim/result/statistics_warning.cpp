#include "sim/result/statistics_warning.hpp"

#include <fmt/format.h>

#include "models/spec/schedule_traits.hpp"

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

std::optional<Warning> statistics_warning(const ScheduleSpec& spec, const Costs& costs) {
  switch (traits_of(spec).statistics) {
    case Statistics::kSynchronous: return std::nullopt;
    case Statistics::kStaleGradients:
      return Warning{"stale_gradients", "every gradient is one update late, which this prediction does not charge for",
                     "expect to need warm-up steps or more samples for the same loss; acco corrects the delay"};
    case Statistics::kReplicasDrift: {
      const std::size_t replicas = replicas_of(spec, costs);
      if (replicas < 2) return std::nullopt;
      return Warning{
          "replicas_drift",
          fmt::format("{} replicas make {} updates each before they meet, and drift apart, which this "
                      "prediction does not charge for",
                      replicas, spec.inner_updates),
          "expect more samples for the same loss, the more replicas and inner_updates the more, and learning "
          "rates of its own; with measured losses, --convergence FILE gives the time to a loss"};
    }
  }
  return std::nullopt;
}

}  // namespace accosim
