#include "models/read/check_schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "models/base/text.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

/// Every bucket or unit that is played is played by itself: more of them than this is a mistake, and would take
/// minutes.
constexpr double kMostBuckets = 100'000;
/// Nor is a pass through a stage of a pipeline anything but played: so many take some minutes and gigabytes.
constexpr double kMostPasses = 4e6;
constexpr double kMostDrawn = 10'000;
constexpr const char* kBetweenMeetings = "from one meeting of its replicas to the next";

/// Least and most micro-batches of a GPU in an update.
using Steps = std::pair<int, int>;

Steps steps_of(std::span<const NodeGroup> groups, const Training& training) {
  Steps limits{kMaxInteger, 0};
  for (const NodeGroup& group : groups)
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      const int steps = accumulation_steps_of(group, gpu, training);
      limits = {std::min(limits.first, steps), std::max(limits.second, steps)};
    }
  return limits;
}

/// Without a cluster the training's.
Steps steps_of(const std::optional<Cluster>& cluster, const Training& training) {
  const int asked = training.gradient_accumulation_steps;
  return !cluster || cluster->nodes.empty() ? Steps{asked, asked} : steps_of(cluster->nodes, training);
}

/// Of the ranks that meet in an update and differ: all, or those of a replica; nothing where none differ.
std::optional<Steps> unequal_steps(const ScheduleSpec& spec, const Cluster& cluster, const Training& training) {
  if (!meets_every_micro_batch(spec) || spec.balance != Balance::kNone) return std::nullopt;
  if (inner_schedule(spec) == nullptr) {
    const Steps all = steps_of(cluster.nodes, training);
    return all.first < all.second ? std::optional(all) : std::nullopt;
  }
  for (const NodeGroup& group : cluster.nodes)
    if (const Steps own = steps_of({&group, 1}, training); own.first < own.second) return own;
  return std::nullopt;
}

/// Of units, an update: gathers for forward and for backward passes, reductions, and all-reduces between nodes.
double unit_collectives(const ScheduleSpec& spec, double steps, const Model& model) {
  const double reductions = spec.sync == Sync::kEveryMicroBatch ? steps : 1;
  const double forward = spec.reshard_after_backward ? steps : 1, backward = spec.reshard_after_forward ? steps : 0;
  const double shared = spec.all_reduce == Sync::kEveryMicroBatch ? reductions : 1;
  return (forward + backward + reductions + (is_hybrid(spec) ? shared : 0)) * (model.num_hidden_layers + 2);
}

/// Whether the updates between two meetings may differ for ever; others are counted once they have become equal.
bool plays_every_update(const std::optional<Cluster>& cluster, const Training& training) {
  if (training.unsteady.varies()) return true;
  return cluster &&
         std::ranges::any_of(cluster->nodes, [](const NodeGroup& group) { return group.nics.burst > Bytes{0}; });
}

}  // namespace

double collectives_of(const ScheduleSpec& spec, double steps, const Model& model) {
  if (find_schedule(spec.name) == nullptr) return 0;
  if (const ScheduleTraits* const inner = inner_schedule(spec)) {
    ScheduleSpec inside = spec;
    inside.inner.clear();
    inside.island.reset();
    inside.name = inner->name;
    return collectives_of(inside, steps, model);
  }
  const ScheduleTraits& traits = traits_of(spec);
  if (sharding_of(spec) == Sharding::kParameters) return unit_collectives(spec, steps, model);
  if (!traits.takes("bucket_cap_mb")) return 0;
  const Bytes gradients = static_cast<double>(parameter_count(model)) * bytes_of(spec.gradient_dtype);
  // A tensor is never cut, and a block has at most 18: seven matrices, their biases and two norms of two vectors.
  const double tensors = 18.0 * (model.num_hidden_layers + 2);
  const double buckets = spec.buckets == Buckets::kTensors
                             ? std::min(std::ceil(gradients / spec.bucket_cap) + 1, tensors)
                         : spec.buckets == Buckets::kUnits ? model.num_hidden_layers + 2
                                                           : 1;
  const Bytes parameters = static_cast<double>(parameter_count(model)) * bytes_of(spec.parameter_dtype);
  const double gathers = spec.overlap_param_gather    ? buckets
                         : spec.gather_cap > Bytes{0} ? std::ceil(parameters / spec.gather_cap)
                                                      : 0;
  const bool twice = is_hybrid(spec) && spec.reduction == Reduction::kReduceScatter;  // in nodes and between them
  return gathers + (twice ? 2 : 1) * buckets * (spec.sync == Sync::kEveryMicroBatch ? steps : 1);
}

namespace {

/// Of all stages in an update, forward and backward; none where the model is not split into stages.
double passes_played(const ScheduleSpec& spec, const std::optional<Cluster>& cluster, const Training& training) {
  const Parallel parallel = parallel_of(training, spec);
  return parallel.pipeline == 1 ? 0 : 2.0 * steps_of(cluster, training).second * parallel.pipeline * parallel.chunks;
}

/// From one meeting to the next, of the node group that makes most.
int most_updates(const ScheduleSpec& spec, const std::optional<Cluster>& cluster) {
  int most = updates_per_mark(spec);
  if (cluster && traits_of(spec).local)
    for (const NodeGroup& group : cluster->nodes) most = std::max(most, group.inner_updates.value_or(0));
  return most;
}

/// Of the rank that does the most micro-batches, as far as they are played.
double collectives_played(const ScheduleSpec& spec, const std::optional<Cluster>& cluster, const Training& training,
                          const Model& model) {
  const bool all = inner_schedule(spec) != nullptr && (meets_beside(spec) || plays_every_update(cluster, training));
  return (all ? most_updates(spec, cluster) : 1) * collectives_of(spec, steps_of(cluster, training).second, model);
}

}  // namespace

void check_equal_steps(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                       const Training& training, ObjectReader& top) {
  if (!cluster) return;
  for (const ScheduleSpec& spec : schedules) {
    if (find_schedule(spec.name) == nullptr) continue;
    const std::optional<Steps> steps = unequal_steps(spec, *cluster, training);
    if (!steps) continue;
    top.fail("schedules",
             fmt::format("{} communicates in every micro-batch, so all GPUs that do must make as many, and they have "
                         "from {} to {} gradient_accumulation_steps; write one number for all, and give slower node "
                         "groups a smaller micro_batch_size, or write \"balance\": \"speed\" in the schedule",
                         in_quotes(spec.label), steps->first, steps->second));
  }
}

namespace {

/// What goes wrong where a node group makes so few updates between two meetings; empty: nothing.
std::string too_few_updates(const ScheduleSpec& spec, int updates, const Model& model) {
  if (!traits_of(spec).in_fragments) return "";
  if (spec.delay >= updates)
    return fmt::format(
        "applies a fragment {} updates after it was sent, and it is sent again after {}; write more "
        "inner_updates there, or a smaller \"delay\"",
        spec.delay, updates);
  const int fragments = fragments_of(spec, model.num_hidden_layers + 2);
  if (spec.by_layer && updates < fragments)
    return fmt::format(
        "sends {} fragments a layer at a time, and of {} updates some would send two; write at least {} "
        "inner_updates there, or \"by_layer\": false",
        fragments, updates, fragments);
  return "";
}

void check_own_inner_updates_of(const ScheduleSpec& spec, const Cluster& cluster, const Model& model,
                                ObjectReader& top) {
  for (const NodeGroup& group : cluster.nodes) {
    if (!group.inner_updates) continue;
    const std::string wrong = too_few_updates(spec, *group.inner_updates, model);
    if (wrong.empty()) continue;
    top.fail("schedules", fmt::format("{}, where node group {} makes {} inner_updates, {}", in_quotes(spec.label),
                                      in_quotes(group.name), *group.inner_updates, wrong));
    return;
  }
}

}  // namespace

void check_own_inner_updates(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                             const std::optional<Model>& model, ObjectReader& top) {
  if (!cluster ||
      std::ranges::none_of(cluster->nodes, [](const NodeGroup& group) { return group.inner_updates.has_value(); }))
    return;
  bool read = false;
  for (const ScheduleSpec& spec : schedules) {
    if (find_schedule(spec.name) == nullptr || !traits_of(spec).local) continue;
    read = true;
    if (model) check_own_inner_updates_of(spec, *cluster, *model, top);
    if (spec.outer_every > 0)
      top.fail("schedules", fmt::format("{} takes an outer step every {} updates of all replicas, and node groups have "
                                        "inner_updates of their own; remove these, or the schedule",
                                        in_quotes(spec.label), spec.outer_every));
  }
  if (!read && !schedules.empty())
    top.fail("schedules",
             "none has replicas that make updates by themselves, and node groups have inner_updates for them; remove "
             "these, or add a schedule that has inner_updates");
}

bool can_be_played(const ScheduleSpec& spec, const Cluster& cluster, const Training& training, const Model& model) {
  return !unequal_steps(spec, cluster, training) &&
         collectives_played(spec, cluster, training, model) <= kMostBuckets &&
         passes_played(spec, cluster, training) <= kMostPasses;
}

void check_drawn(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                 const Training& training, ObjectReader& top) {
  if (!training.unsteady.varies() || schedules.empty()) return;
  const double steps = steps_of(cluster, training).second;
  const auto drawn = [&](const ScheduleSpec& spec) { return steps * updates_per_mark(spec); };
  // What helps the one that draws most helps all.
  const ScheduleSpec& most = *std::ranges::max_element(
      schedules, [&](const ScheduleSpec& a, const ScheduleSpec& b) { return drawn(a) < drawn(b); });
  if (drawn(most) <= kMostDrawn) return;
  const bool local = traits_of(most).local;
  top.fail("schedules",
           fmt::format("{} would draw {:.0f} micro-batches a rank {}, and each is played; at most {:.0f}: lower "
                       "{}gradient_accumulation_steps, or leave sequence_lengths, compute_jitter and stragglers out",
                       in_quotes(most.label), drawn(most), local ? kBetweenMeetings : "in an update", kMostDrawn,
                       local ? "inner_updates or " : ""));
}

void check_collectives(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                       const Training& training, const Model& model, ObjectReader& top) {
  for (const ScheduleSpec& spec : schedules) {
    if (const double passes = passes_played(spec, cluster, training); passes > kMostPasses) {
      top.fail("schedules",
               fmt::format("{} would make {:.0f} passes through its stages in an update, and each is played; at most "
                           "{:.0f}: lower gradient_accumulation_steps, with a larger micro_batch_size",
                           in_quotes(spec.label), passes, kMostPasses));
      continue;
    }
    const double collectives = collectives_played(spec, cluster, training, model);
    if (collectives <= kMostBuckets) continue;
    const bool all = inner_schedule(spec) != nullptr && (meets_beside(spec) || plays_every_update(cluster, training));
    const bool units = sharding_of(spec) == Sharding::kParameters;
    top.fail(
        "schedules",
        fmt::format("{} would send {:.0f} {} {}; at most {:.0f}: {}lower {}gradient_accumulation_steps",
                    in_quotes(spec.label), collectives, units ? "units" : "buckets",
                    all ? kBetweenMeetings : "in an update", kMostBuckets,
                    units ? "" : "raise its bucket_cap_mb or gather_bucket_mb, or ", all ? "inner_updates or " : ""));
  }
}

}  // namespace accosim
