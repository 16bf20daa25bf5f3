#include "sim/what_if/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/spec/frameworks.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/knobs/settings.hpp"

namespace accosim {
namespace {

bool is_own_step(const Trial& trial) { return trial.scenario.training.implementation == Implementation::kAccocal; }

Alternative recomputed(const Training& training, Recompute what, RecomputedBlocks blocks) {
  Alternative change = of_training("activation_recompute", name_of(what));
  change.set = recompute_settings(training, what, blocks);
  if (blocks.every > 1) change.text += fmt::format(" with recompute_every {}", blocks.every);
  if (blocks.first > 0) change.text += fmt::format(" with recompute_layers {}", blocks.first);
  if (blocks == RecomputedBlocks{} && blocks != training.recomputed_blocks) change.text += " of every block";
  return change;
}

/// How much each kind recomputes: only more of it saves anything.
int rank_of(Recompute what) {
  switch (what) {
    case Recompute::kNone: return 0;
    case Recompute::kSelective: return 1;
    case Recompute::kSelectiveOp: return 2;
    case Recompute::kFull:
    case Recompute::kFullEarlyStop: return 3;
  }
  return 0;
}

/// The micro-batches of all groups divided by `divisor`, with as many more accumulation steps.
std::optional<Alternative> divided(const Trial& trial, int divisor) {
  Cluster cluster = trial.scenario.cluster;
  const int steps = trial.scenario.training.gradient_accumulation_steps;
  const int rounds = trial.spec().micro_batches_per_round;
  int most = steps;
  for (const NodeGroup& group : cluster.nodes)
    for (const int own : group.accumulation_steps) most = std::max(most, own);
  if (most > kMaxInteger / divisor) return std::nullopt;
  bool own = false, equal = true;
  for (NodeGroup& group : cluster.nodes) {
    group.micro_batch_size /= divisor;
    for (int& each : group.accumulation_steps) each *= divisor;
    own = own || !group.accumulation_steps.empty();
    equal = equal && group.micro_batch_size == cluster.nodes.front().micro_batch_size;
  }
  Alternative change{.text = equal ? fmt::format("micro_batch_size {}", cluster.nodes.front().micro_batch_size)
                                   : fmt::format("every micro_batch_size divided by {}", divisor)};
  change.text += own ? fmt::format(" with every gradient_accumulation_steps times {}", divisor)
                     : fmt::format(" with gradient_accumulation_steps {}", steps * divisor);
  change.set = work_settings(cluster);
  change.set.push_back(fmt::format("/training/gradient_accumulation_steps={}", steps * divisor));
  if (rounds > 0)
    change.set.push_back(fmt::format("/schedules/{}/micro_batches_per_round={}", trial.index, rounds * divisor));
  return change;
}

/// One key of the schedule where it takes that key.
Change set_key(const char* key, const char* value) {
  return [=](const Trial& trial) -> std::optional<Alternative> {
    if (is_own_step(trial) || !traits_of(trial.spec()).takes(key)) return std::nullopt;
    return Alternative{
        fmt::format("{} {}", key, value), {}, {fmt::format("/schedules/{}/{}={}", trial.index, key, value)}};
  };
}

/// Keys that say how gradients are reduced after the backward pass do not go with reductions beside it.
std::optional<Alternative> reduce_beside(const Trial& trial) {
  const ScheduleSpec& spec = trial.spec();
  if (is_own_step(trial) || !traits_of(spec).takes("overlap") || spec.overlap != Overlap::kNone) return std::nullopt;
  JsonValue entry = usual_entry(traits_of(spec), spec.label, spec);
  entry.set("overlap", JsonValue(name_of(Overlap::kBackward)));
  return Alternative{"overlap backward", {}, {fmt::format("/schedules/{}={}", trial.index, dump_json(entry))}};
}

}  // namespace

std::vector<std::string> joined(std::vector<std::string> set, const std::vector<std::string>& more) {
  set.insert(set.end(), more.begin(), more.end());
  return set;
}

std::optional<Alternative> fuse_attention(const Trial& trial) {
  const Cluster& cluster = trial.scenario.cluster;
  Alternative fused = of_groups(cluster, fused_where_naive(cluster));
  if (is_own_step(trial) || fused.set.empty()) return std::nullopt;
  return fused;
}

Change implement(Implementation implementation) {
  return [implementation](const Trial& trial) -> std::optional<Alternative> {
    const Implementation now = trial.scenario.training.implementation;
    const bool merges_more =
        now == Implementation::kEager || (now == Implementation::kCompiled && implementation == Implementation::kFused);
    if (now == implementation || !merges_more) return std::nullopt;
    return of_training("implementation", name_of(implementation));
  };
}

Change recompute(Recompute what) {
  return [what](const Trial& trial) -> std::optional<Alternative> {
    const Training& training = trial.scenario.training;
    const Recompute now = training.activation_recompute;
    const bool more_blocks = now == what && training.recomputed_blocks != RecomputedBlocks{};
    if (is_own_step(trial) || (rank_of(what) <= rank_of(now) && !more_blocks)) return std::nullopt;
    return recomputed(training, what, {});
  };
}

Change recompute_some(Fits fits) {
  return [fits = std::move(fits)](const Trial& trial) -> std::optional<Alternative> {
    const Training& training = trial.scenario.training;
    if (is_own_step(trial) || training.activation_recompute != Recompute::kNone) return std::nullopt;
    RecomputedBlocks before;
    for (const int part : {8, 4, 3, 2}) {
      const RecomputedBlocks blocks = some_blocks(training, trial.scenario.model.num_hidden_layers, part);
      if (blocks == before) continue;
      Alternative change = recomputed(training, whole_blocks(training.framework), blocks);
      if (fits(joined(trial.set, change.set))) return change;
      before = blocks;
    }
    return std::nullopt;
  };
}

Change divide_micro_batch(Fits fits) {
  return [fits = std::move(fits)](const Trial& trial) -> std::optional<Alternative> {
    int common = 0;
    for (const NodeGroup& group : trial.scenario.cluster.nodes) common = std::gcd(common, group.micro_batch_size);
    std::optional<Alternative> last;
    for (int divisor = 2; divisor <= common; ++divisor) {
      if (common % divisor != 0) continue;
      std::optional<Alternative> next = divided(trial, divisor);
      if (!next) break;
      last = std::move(next);
      if (fits(joined(trial.set, last->set))) break;
    }
    return last;
  };
}

Change schedule(const ScheduleTraits& traits) {
  return [&traits](const Trial& trial) -> std::optional<Alternative> {
    const ScheduleSpec& spec = trial.spec();
    if (traits.name == spec.name || (is_own_step(trial) && traits.accocal == AccocalRuns::kNowhere))
      return std::nullopt;
    return Alternative{
        fmt::format("schedule {}", traits.name),
        {},
        {fmt::format("/schedules/{}={}", trial.index, dump_json(usual_entry(traits, spec.label, spec)))}};
  };
}

std::vector<Change> schedule_keys() {
  return {
      set_key("shard_group", name_of(Island::kWorld)),
      set_key("reshard_after_forward", "true"),
      set_key("reshard_after_backward", "true"),
      set_key("all_reduce", name_of(Sync::kEveryMicroBatch)),
      set_key("sync", name_of(Sync::kEveryMicroBatch)),
      set_key("optimizer_sharding", name_of(OptimizerSharding::kZeroRedundancy)),
      set_key("gradient_as_bucket_view", "true"),
  };
}

std::vector<Change> keys_that_hide() {
  return {
      set_key("shard_group", name_of(Island::kNode)),
      set_key("sync", name_of(Sync::kLastMicroBatch)),
      set_key("reshard_after_forward", "false"),
      reduce_beside,
  };
}

int largest_that_fits(int fitting, int too_many, const std::function<bool(int)>& fits) {
  while (too_many - fitting > 1) {
    const int middle = fitting + (too_many - fitting) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  return fitting;
}

int largest_micro_batch(const Trial& trial, const Fits& fits) {
  const Cluster& cluster = trial.scenario.cluster;
  const int now = cluster.nodes.front().micro_batch_size;
  if (std::ranges::any_of(cluster.nodes, [&](const NodeGroup& group) { return group.micro_batch_size != now; }))
    return 0;
  return largest_that_fits(0, now, [&](int size) {
    std::vector<std::string> set = trial.set;
    for (std::size_t g = 0; g < cluster.nodes.size(); ++g)
      set.push_back(fmt::format("{}={}", of_group(cluster, g, "micro_batch_size"), size));
    return fits(set);
  });
}

}  // namespace accosim
