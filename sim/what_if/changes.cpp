// Settings are written for the place that decides: a node group's own micro-batch and attention stand before those of
// the training.
#include "sim/what_if/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/base/json.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"
#include "sim/evaluation/crews.hpp"

namespace accosim {
namespace {

bool is_own_step(const Trial& trial) { return trial.scenario.training.implementation == Implementation::kAccocal; }

std::string setting(const std::string& pointer, const std::string& value) { return pointer + "=" + value; }
std::string setting(const std::string& pointer, int value) { return setting(pointer, std::to_string(value)); }

/// "" for the schedule itself.
std::string of_schedule(const Trial& trial, const std::string& key) {
  const std::vector<ScheduleSpec>& all = trial.scenario.schedules;
  const auto own =
      std::find_if(all.begin(), all.end(), [&](const ScheduleSpec& spec) { return spec.label == trial.spec.label; });
  return fmt::format("/schedules/{}{}{}", own - all.begin(), key.empty() ? "" : "/", key);
}

/// Fused attention that the group's devices run; nothing where one has none.
std::optional<Attention> fused_on(const NodeGroup& group) {
  Attention fused = Attention::kFlash;
  for (const Device& device : group.devices) {
    if (!device.attention && device.flash_attention_efficiency == 0) return std::nullopt;
    if (!runs_on(device.architecture, fused)) fused = Attention::kMemoryEfficient;
  }
  return fused;
}

Changed recomputed(const Trial& trial, Recompute what, RecomputedBlocks blocks) {
  Changed changed{fmt::format("activation_recompute {}", name_of(what)), {}, trial};
  Training& training = changed.trial.scenario.training;
  const RecomputedBlocks before = training.recomputed_blocks;
  training.activation_recompute = what;
  training.recomputed_blocks = blocks;
  changed.set = {setting("/training/activation_recompute", name_of(what))};
  if (blocks.every != before.every) {
    changed.set.push_back(setting("/training/recompute_every", blocks.every));
    changed.name += blocks.every > 1 ? fmt::format(" with recompute_every {}", blocks.every) : " of every block";
  }
  if (blocks.fraction != before.fraction) {
    changed.set.push_back(setting("/training/recompute_fraction", digits_json(blocks.fraction)));
    changed.name += " of every block";
  }
  return changed;
}

bool is_of_whole_blocks(Recompute what) { return what == Recompute::kFull || what == Recompute::kFullEarlyStop; }

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

/// Those of a group that has its own, one a GPU.
void multiply_own_steps(Scenario& scenario, std::size_t index, int factor, std::vector<std::string>& set) {
  std::string list;
  for (int& steps : scenario.cluster.nodes[index].accumulation_steps) {
    steps *= factor;
    list += fmt::format("{}{}", list.empty() ? "" : ",", steps);
  }
  if (!list.empty())
    set.push_back(fmt::format("{}=[{}]", of_group(scenario.cluster, index, "gradient_accumulation_steps"), list));
}

/// The micro-batches of all groups divided by `divisor`, with as many more accumulation steps.
std::optional<Changed> divided(const Trial& trial, int divisor) {
  int most = trial.scenario.training.gradient_accumulation_steps;
  for (const NodeGroup& group : trial.scenario.cluster.nodes)
    for (const int steps : group.accumulation_steps) most = std::max(most, steps);
  if (most > kMaxInteger / divisor) return std::nullopt;
  Changed changed{"", {}, trial};
  std::vector<NodeGroup>& groups = changed.trial.scenario.cluster.nodes;
  Training& training = changed.trial.scenario.training;
  bool own = false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].micro_batch_size /= divisor;
    changed.set.push_back(setting(of_group(trial.scenario.cluster, i, "micro_batch_size"), groups[i].micro_batch_size));
    own = own || !groups[i].accumulation_steps.empty();
    multiply_own_steps(changed.trial.scenario, i, divisor, changed.set);
  }
  training.gradient_accumulation_steps *= divisor;
  changed.set.push_back(setting("/training/gradient_accumulation_steps", training.gradient_accumulation_steps));
  if (changed.trial.spec.micro_batches_per_round > 0) {
    changed.trial.spec.micro_batches_per_round *= divisor;
    changed.set.push_back(
        setting(of_schedule(trial, "micro_batches_per_round"), changed.trial.spec.micro_batches_per_round));
  }
  const int size = groups.front().micro_batch_size;
  const bool equal =
      std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) { return group.micro_batch_size == size; });
  changed.name =
      equal ? fmt::format("micro_batch_size {}", size) : fmt::format("every micro_batch_size divided by {}", divisor);
  changed.name += own ? fmt::format(" with every gradient_accumulation_steps times {}", divisor)
                      : fmt::format(" with gradient_accumulation_steps {}", training.gradient_accumulation_steps);
  return changed;
}

/// Sets one key of the schedule where it takes that key.
template <class Member>
Change set_key(const char* key, Member ScheduleSpec::*member, Member value, const char* written) {
  return [=](const Trial& trial) -> std::optional<Changed> {
    if (is_own_step(trial) || trial.spec.*member == value || !traits_of(trial.spec).takes(key)) return std::nullopt;
    Changed changed{fmt::format("{} {}", key, written), {setting(of_schedule(trial, key), written)}, trial};
    changed.trial.spec.*member = value;
    return changed;
  };
}

/// Not beside a written all_reduce, which would then be refused.
std::optional<Changed> share_one_copy(const Trial& trial) {
  if (trial.spec.all_reduce != Sync::kEveryMicroBatch) return std::nullopt;
  return set_key("shard_group", &ScheduleSpec::shard_group, ShardGroup::kWorld, name_of(ShardGroup::kWorld))(trial);
}

}  // namespace

std::optional<Changed> fuse_attention(const Trial& trial) {
  if (is_own_step(trial)) return std::nullopt;
  Changed changed{"", {}, trial};
  std::vector<NodeGroup>& groups = changed.trial.scenario.cluster.nodes;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::optional<Attention> fused = fused_on(groups[i]);
    if (groups[i].attention != Attention::kNaive || !fused) continue;
    groups[i].attention = *fused;
    changed.set.push_back(setting(of_group(trial.scenario.cluster, i, "attention"), name_of(*fused)));
    if (changed.name.find(name_of(*fused)) == std::string::npos)
      changed.name += (changed.name.empty() ? "attention " : " and ") + std::string(name_of(*fused));
  }
  if (changed.name.empty()) return std::nullopt;
  return changed;
}

Change implement(Implementation implementation) {
  return [implementation](const Trial& trial) -> std::optional<Changed> {
    const Implementation now = trial.scenario.training.implementation;
    const bool merges_more =
        now == Implementation::kEager || (now == Implementation::kCompiled && implementation == Implementation::kFused);
    if (now == implementation || !merges_more) return std::nullopt;
    const std::string name = name_of(implementation);
    Changed changed{"implementation " + name, {setting("/training/implementation", name)}, trial};
    changed.trial.scenario.training.implementation = implementation;
    return changed;
  };
}

Change recompute(Recompute what) {
  return [what](const Trial& trial) -> std::optional<Changed> {
    const Training& training = trial.scenario.training;
    const Recompute now = training.activation_recompute;
    const RecomputedBlocks every{};
    const bool more_blocks = now == what && training.recomputed_blocks != every;
    if (is_own_step(trial) || (rank_of(what) <= rank_of(now) && !more_blocks)) return std::nullopt;
    return recomputed(trial, what, is_of_whole_blocks(what) ? every : training.recomputed_blocks);
  };
}

Change recompute_some(Fits fits) {
  return [fits = std::move(fits)](const Trial& trial) -> std::optional<Changed> {
    if (is_own_step(trial) || trial.scenario.training.activation_recompute != Recompute::kNone) return std::nullopt;
    for (const int every : {8, 4, 3, 2}) {
      Changed changed = recomputed(trial, Recompute::kFullEarlyStop, {every, 1});
      if (fits(changed.trial)) return changed;
    }
    return std::nullopt;
  };
}

Change divide_micro_batch(Fits fits) {
  return [fits = std::move(fits)](const Trial& trial) -> std::optional<Changed> {
    int common = 0;
    for (const NodeGroup& group : trial.scenario.cluster.nodes) common = std::gcd(common, group.micro_batch_size);
    std::optional<Changed> last;
    for (int divisor = 2; divisor <= common; ++divisor) {
      if (common % divisor != 0) continue;
      std::optional<Changed> next = divided(trial, divisor);
      if (!next) break;
      last = std::move(next);
      if (fits(last->trial)) break;
    }
    return last;
  };
}

Change schedule(const ScheduleTraits& traits) {
  return [&traits](const Trial& trial) -> std::optional<Changed> {
    if (traits.name == trial.spec.name || (is_own_step(trial) && traits.accocal == AccocalRuns::kNowhere))
      return std::nullopt;
    const auto text = [](const std::string& value) { return json_text(value, {}); };
    JsonValue json = json_object({});
    json.set("name", text(traits.name));
    json.set("label", text(trial.spec.label));
    json.set("parameter_dtype", text(name_of(trial.spec.parameter_dtype)));
    json.set("gradient_dtype", text(name_of(trial.spec.gradient_dtype)));
    json.set("optimizer_dtype", text(name_of(trial.spec.optimizer_dtype)));
    const std::string written = dump_json(json);
    Diagnostics diagnostics;
    ScheduleSpec spec = read_schedule(json, "", trial.scenario.training, trial.scenario.cluster, diagnostics);
    if (!diagnostics.errors.empty()) return std::nullopt;
    return Changed{fmt::format("schedule {}", traits.name),
                   {setting(of_schedule(trial, ""), written)},
                   {trial.scenario, std::move(spec)}};
  };
}

std::vector<Change> schedule_keys() {
  return {
      share_one_copy,
      set_key("reshard_after_forward", &ScheduleSpec::reshard_after_forward, true, "true"),
      set_key("reshard_after_backward", &ScheduleSpec::reshard_after_backward, true, "true"),
      set_key("all_reduce", &ScheduleSpec::all_reduce, Sync::kEveryMicroBatch, name_of(Sync::kEveryMicroBatch)),
      set_key("sync", &ScheduleSpec::sync, Sync::kEveryMicroBatch, name_of(Sync::kEveryMicroBatch)),
      set_key("optimizer_sharding", &ScheduleSpec::optimizer_sharding, OptimizerSharding::kZeroRedundancy,
              name_of(OptimizerSharding::kZeroRedundancy)),
      set_key("gradient_as_bucket_view", &ScheduleSpec::gradient_as_bucket_view, true, "true"),
  };
}

int largest_micro_batch(const Trial& trial, const Fits& fits) {
  const std::vector<NodeGroup>& groups = trial.scenario.cluster.nodes;
  const int now = groups.front().micro_batch_size;
  if (std::any_of(groups.begin(), groups.end(), [&](const NodeGroup& group) { return group.micro_batch_size != now; }))
    return 0;
  int fitting = 0, too_many = now;
  while (too_many - fitting > 1) {
    const int middle = fitting + (too_many - fitting) / 2;
    Trial tried = trial;
    for (NodeGroup& group : tried.scenario.cluster.nodes) group.micro_batch_size = middle;
    (fits(tried) ? fitting : too_many) = middle;
  }
  return fitting;
}

}  // namespace accosim
