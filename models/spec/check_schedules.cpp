#include "models/spec/check_schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/text.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

/// Every bucket or unit of an update is played by itself: more of them than this is a mistake, and would take minutes.
constexpr double kMostBuckets = 100'000;

/// How many collectives a schedule makes in an update; of one that is not known, which has been told, none.
double collectives_of(const ScheduleSpec& spec, double steps, const Model& model) {
  const ScheduleTraits* const traits = find_schedule(spec.name);
  if (traits == nullptr) return 0;
  if (traits->sharding == Sharding::kParameters) return 3 * steps * (model.num_hidden_layers + 2);
  if (!traits->takes("bucket_cap_mb")) return 0;
  const Bytes gradients = static_cast<double>(parameter_count(model)) * bytes_of(spec.gradient_dtype);
  // A tensor is never cut, and a block has at most 18: seven matrices, their biases and two norms of two vectors.
  const double tensors = 18.0 * (model.num_hidden_layers + 2);
  const double buckets = spec.buckets == Buckets::kTensors
                             ? std::min(std::ceil(gradients / spec.bucket_cap) + 1, tensors)
                         : spec.buckets == Buckets::kUnits ? model.num_hidden_layers + 2
                                                           : 1;
  const Bytes parameters = static_cast<double>(parameter_count(model)) * bytes_of(spec.parameter_dtype);
  const double gathers = spec.gather_cap > Bytes{0} ? std::ceil(parameters / spec.gather_cap) : 0;
  return gathers + buckets * (spec.sync == Sync::kEveryMicroBatch ? steps : 1);
}

/// Least and most micro-batches of a GPU in an update; without a cluster the training's.
std::pair<int, int> least_and_most_steps(const std::optional<Cluster>& cluster, const Training& training) {
  const int asked = training.gradient_accumulation_steps;
  if (!cluster || cluster->nodes.empty()) return {asked, asked};
  std::pair<int, int> limits{kMaxInteger, 0};
  for (const NodeGroup& group : cluster->nodes)
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      const int steps = accumulation_steps_of(group, gpu, training);
      limits = {std::min(limits.first, steps), std::max(limits.second, steps)};
    }
  return limits;
}

}  // namespace

void check_equal_steps(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                       const Training& training, ObjectReader& top) {
  const auto [least, most] = least_and_most_steps(cluster, training);
  if (least == most) return;
  for (const ScheduleSpec& spec : schedules) {
    if (find_schedule(spec.name) == nullptr || !meets_every_micro_batch(spec)) continue;
    top.fail("schedules",
             fmt::format("{} communicates in every micro-batch, so all GPUs must do as many, and the node groups have "
                         "from {} to {} gradient_accumulation_steps; write one number for all, and divide the work by "
                         "micro_batch_size",
                         in_quotes(spec.label), least, most));
  }
}

void check_collectives(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                       const Training& training, const Model& model, ObjectReader& top) {
  const double steps = least_and_most_steps(cluster, training).second;
  for (const ScheduleSpec& spec : schedules) {
    const double collectives = collectives_of(spec, steps, model);
    if (collectives <= kMostBuckets) continue;
    const bool units = traits_of(spec).sharding == Sharding::kParameters;
    top.fail("schedules",
             fmt::format("{} would send {:.0f} {} in an update; at most {:.0f}: {}lower gradient_accumulation_steps",
                         in_quotes(spec.label), collectives, units ? "units" : "buckets", kMostBuckets,
                         units ? "" : "raise its bucket_cap_mb or gather_bucket_mb, or "));
  }
}

}  // namespace accosim
