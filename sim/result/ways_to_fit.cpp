#include "sim/result/ways_to_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "models/price/costs.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/scenario_parts.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

constexpr Bytes kWorthSaying{0.05 * 0x1p30};

/// A scenario and one of its schedules, to be changed.
struct Trial {
  Scenario scenario;
  ScheduleSpec spec;
};

struct Need {
  Bytes room;    ///< on the GPU that has least; negative: it does not fit
  Seconds time;  ///< per sample of a rank: the closed form, for the slowest kind of rank
};

Need need_of(const Trial& trial) {
  const int steps = trial.scenario.training.gradient_accumulation_steps;
  const Costs costs = price(trial.scenario, trial.spec);
  Need need{Bytes{std::numeric_limits<double>::infinity()}, Seconds{0}};
  for (const RankKind& kind : costs.kinds) {
    need.room = std::min(need.room, kind.device.memory - memory_of(costs, kind, trial.spec, steps).total());
    const ScheduleInput input{trial.spec, costs, kind, kind.steps(steps), 1};
    const double samples = closed_form_micro_batches(input) * kind.workload.micro_batch_size;
    need.time = std::max(need.time, closed_form(input) / samples);
  }
  return need;
}

/// One thing to change, and its name. Nothing: it is so already, or cannot be.
struct Changed {
  std::string name;
  Trial trial;
};
using Change = std::function<std::optional<Changed>(const Trial&)>;

bool is_own_step(const Trial& trial) { return trial.scenario.training.implementation == Implementation::kAccocal; }

/// Fused attention that the group's devices run; nothing where one has none.
std::optional<Attention> fused_on(const NodeGroup& group) {
  Attention fused = Attention::kFlash;
  for (const Device& device : group.devices) {
    if (!device.attention && device.flash_attention_efficiency == 0) return std::nullopt;
    if (!runs_on(device.architecture, fused)) fused = Attention::kMemoryEfficient;
  }
  return fused;
}

std::optional<Changed> fuse_attention(const Trial& trial) {
  if (is_own_step(trial)) return std::nullopt;
  Changed changed{"", trial};
  for (NodeGroup& group : changed.trial.scenario.cluster.nodes) {
    const std::optional<Attention> fused = fused_on(group);
    if (group.attention != Attention::kNaive || !fused) continue;
    group.attention = *fused;
    if (changed.name.find(name_of(*fused)) == std::string::npos)
      changed.name += (changed.name.empty() ? "attention " : " and ") + std::string(name_of(*fused));
  }
  if (changed.name.empty()) return std::nullopt;
  return changed;
}

std::optional<Changed> compile(const Trial& trial) {
  if (trial.scenario.training.implementation != Implementation::kEager) return std::nullopt;
  Changed changed{"implementation compiled", trial};
  changed.trial.scenario.training.implementation = Implementation::kCompiled;
  return changed;
}

/// Recomputes more than before.
Change recompute(Recompute what) {
  return [what](const Trial& trial) -> std::optional<Changed> {
    const Recompute now = trial.scenario.training.activation_recompute;
    if (is_own_step(trial) || now == what || now == Recompute::kFull) return std::nullopt;
    if (what == Recompute::kSelective && now != Recompute::kNone) return std::nullopt;
    Changed changed{fmt::format("activation_recompute {}", name_of(what)), trial};
    changed.trial.scenario.training.activation_recompute = what;
    return changed;
  };
}

/// The least number above 1 by which every node group's micro-batch can be divided; 1: there is none.
int least_divisor(const std::vector<NodeGroup>& groups) {
  int common = 0;
  for (const NodeGroup& group : groups) common = std::gcd(common, group.micro_batch_size);
  for (int divisor = 2; divisor <= common; ++divisor)
    if (common % divisor == 0) return divisor;
  return 1;
}

/// The micro-batch divided until it fits, or cannot be divided further; the samples of an update stay.
std::optional<Changed> smaller_micro_batch(const Trial& trial) {
  Changed changed{"", trial};
  std::vector<NodeGroup>& groups = changed.trial.scenario.cluster.nodes;
  Training& training = changed.trial.scenario.training;
  for (int divisor = least_divisor(groups); divisor > 1; divisor = least_divisor(groups)) {
    for (NodeGroup& group : groups) {
      group.micro_batch_size /= divisor;
      for (int& own : group.accumulation_steps) own *= divisor;
    }
    training.gradient_accumulation_steps *= divisor;
    changed.trial.spec.micro_batches_per_round *= divisor;
    const int size = groups.front().micro_batch_size, parts = trial.scenario.cluster.nodes.front().micro_batch_size;
    const bool equal = std::all_of(groups.begin(), groups.end(),
                                   [&](const NodeGroup& group) { return group.micro_batch_size == size; });
    changed.name = equal ? fmt::format("micro_batch_size {}", size)
                         : fmt::format("every micro_batch_size divided by {}", parts / size);
    const bool own = std::any_of(groups.begin(), groups.end(),
                                 [](const NodeGroup& group) { return !group.accumulation_steps.empty(); });
    changed.name += own ? fmt::format(" with gradient_accumulation_steps times {}", parts / size)
                        : fmt::format(" with gradient_accumulation_steps {}", training.gradient_accumulation_steps);
    if (need_of(changed.trial).room >= Bytes{0}) break;
  }
  if (changed.name.empty()) return std::nullopt;
  return changed;
}

/// Another schedule in its usual form, with the same dtypes.
Change schedule(const ScheduleTraits& traits) {
  return [&traits](const Trial& trial) -> std::optional<Changed> {
    if (traits.name == trial.spec.name || (is_own_step(trial) && traits.accocal == AccocalRuns::kNowhere))
      return std::nullopt;
    const auto text = [](const char* value) { return json_text(value, {}); };
    JsonValue json = json_object({});
    json.set("name", text(traits.name));
    json.set("parameter_dtype", text(name_of(trial.spec.parameter_dtype)));
    json.set("gradient_dtype", text(name_of(trial.spec.gradient_dtype)));
    json.set("optimizer_dtype", text(name_of(trial.spec.optimizer_dtype)));
    Diagnostics diagnostics;
    ScheduleSpec spec = read_schedule(json, "", trial.scenario.training, trial.scenario.cluster, diagnostics);
    if (!diagnostics.errors.empty()) return std::nullopt;
    return Changed{fmt::format("schedule {}", traits.name), {trial.scenario, std::move(spec)}};
  };
}

/// Synchronous schedules that shard something.
std::vector<Change> sharded_schedules() {
  std::vector<Change> changes;
  for (const ScheduleTraits& traits : schedules())
    if (traits.sharding != Sharding::kNothing && !traits.delayed && !traits.local) changes.push_back(schedule(traits));
  return changes;
}

/// Least loss of time first; the most sharded schedule last, for it is another training.
std::vector<Change> changes_together() {
  std::vector<Change> changes = {fuse_attention, compile, smaller_micro_batch, recompute(Recompute::kFull)};
  for (const ScheduleTraits& traits : schedules())
    if (traits.sharding == Sharding::kParameters) changes.push_back(schedule(traits));
  return changes;
}

std::string described(const WayToFit& way) {
  return fmt::format("{} ({:.1f} GiB less, {:.2f} x the time)", way.change, way.saves.value / 0x1p30, way.time_ratio);
}

std::string list_of(const std::vector<WayToFit>& ways, bool fitting) {
  std::string text;
  for (const WayToFit& way : ways)
    if (way.fits() == fitting) text += (text.empty() ? "" : "; ") + described(way);
  return text;
}

}  // namespace

WaysToFit ways_to_fit(const Scenario& scenario, const ScheduleSpec& spec) {
  const Trial now{scenario, spec};
  const Need before = need_of(now);
  const auto way_of = [&](const Changed& changed) {
    const Need then = need_of(changed.trial);
    return WayToFit{changed.name, then.room - before.room, then.room, then.time / before.time};
  };
  std::vector<Change> changes;
  if (!family_of(scenario.model).measured)  // otherwise its activations are not known
    changes = {fuse_attention, compile, recompute(Recompute::kSelective), recompute(Recompute::kFull),
               smaller_micro_batch};
  for (Change& change : sharded_schedules()) changes.push_back(std::move(change));
  WaysToFit ways;
  for (const Change& change : changes) {
    const std::optional<Changed> changed = change(now);
    if (!changed) continue;
    const WayToFit way = way_of(*changed);
    if (way.saves >= kWorthSaying) ways.alone.push_back(way);
  }
  std::stable_sort(ways.alone.begin(), ways.alone.end(), [](const WayToFit& a, const WayToFit& b) {
    return std::pair(!a.fits(), a.time_ratio) < std::pair(!b.fits(), b.time_ratio);
  });
  if (!ways.alone.empty() && ways.alone.front().fits()) return ways;
  Trial trial = now;
  Bytes room = before.room;
  for (const Change& change : changes_together()) {
    if (family_of(scenario.model).measured) break;
    const std::optional<Changed> changed = change(trial);
    if (!changed) continue;
    const WayToFit way = way_of(*changed);
    if (way.room < room + kWorthSaying) continue;
    ways.together.push_back(way);
    if (way.fits()) break;
    trial = changed->trial;
    room = way.room;
  }
  return ways;
}

std::string in_words(const WaysToFit& ways) {
  if (ways.alone.empty()) return "nothing that accosim can try saves memory: take more GPUs, or GPUs with more memory";
  const std::string fitting = list_of(ways.alone, true), others = list_of(ways.alone, false);
  if (!fitting.empty())
    return "any of these makes it fit: " + fitting + (others.empty() ? "" : "; not enough alone: " + others);
  std::string text = "none of these alone makes it fit: " + others;
  if (ways.together.empty()) return text;
  std::string all;
  for (const WayToFit& way : ways.together) all += (all.empty() ? "" : ", ") + way.change;
  const WayToFit& last = ways.together.back();
  if (last.fits()) return fmt::format("{}; together these do: {} ({:.2f} x the time)", text, all, last.time_ratio);
  return fmt::format("{}; together ({}) they still lack {:.1f} GiB: take more GPUs, or GPUs with more memory", text,
                     all, -last.room.value / 0x1p30);
}

RecomputeGain recompute_gain(const Scenario& scenario, const ScheduleSpec& spec) {
  Trial trial{scenario, spec};
  const Need with = need_of(trial);
  trial.scenario.training.activation_recompute = Recompute::kNone;
  const Need without = need_of(trial);
  return {with.room - without.room, with.time / without.time};
}

}  // namespace accosim
