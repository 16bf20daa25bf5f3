#include "sim/what_if/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/spec/schedule_traits.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

bool takes(const ScheduleSpec& spec, const char* key) { return traits_of(spec).takes(key); }

/// A change of `now` towards `to`: what it is called, or nothing where it changes nothing.
using Change = std::string (*)(const Scenario& scenario, ScheduleSpec& now, const ScheduleSpec& to);

std::string reduce_once(const Scenario&, ScheduleSpec& now, const ScheduleSpec& to) {
  if (!takes(now, "sync") || !meets_every_micro_batch(now) || meets_every_micro_batch(to)) return "";
  now.sync = Sync::kLastMicroBatch;
  return "no_sync: one gradient sync per step";
}

std::string gradients_in(const Scenario&, ScheduleSpec& now, const ScheduleSpec& to) {
  if (now.gradient_dtype == to.gradient_dtype) return "";
  now.gradient_dtype = to.gradient_dtype;
  return fmt::format("gradients in {}", name_of(to.gradient_dtype));
}

std::string parameters_in(const Scenario&, ScheduleSpec& now, const ScheduleSpec& to) {
  if (now.parameter_dtype == to.parameter_dtype && now.optimizer_dtype == to.optimizer_dtype) return "";
  now.parameter_dtype = to.parameter_dtype;
  now.optimizer_dtype = to.optimizer_dtype;
  return fmt::format("parameters {}, states {}", name_of(to.parameter_dtype), name_of(to.optimizer_dtype));
}

std::string copy_less(const Scenario&, ScheduleSpec& now, const ScheduleSpec& to) {
  std::vector<std::string> parts;
  if (now.broadcast_buffers && !to.broadcast_buffers) {
    now.broadcast_buffers = false;
    parts.emplace_back("no buffers sent");
  }
  const bool views = to.gradient_as_bucket_view || !has_bucket_copies(to);
  if (has_bucket_copies(now) && views && !now.gradient_as_bucket_view) {
    now.gradient_as_bucket_view = true;
    parts.emplace_back("no copies");
  }
  return in_words(parts);
}

std::string step_whole(const Scenario&, ScheduleSpec& now, const ScheduleSpec& to) {
  if (now.optimizer_sharding == to.optimizer_sharding || !takes(to, "optimizer_sharding")) return "";
  now.optimizer_sharding = to.optimizer_sharding;
  return to.optimizer_sharding == OptimizerSharding::kNone ? "each rank steps all parameters"
                                                           : "optimizer shared out by tensors";
}

std::string overlap(const Scenario&, ScheduleSpec& now, const ScheduleSpec& to) {
  if (!takes(now, "overlap") || !takes(to, "overlap") || traits_of(to).delayed) return "";
  ScheduleSpec changed = now;
  changed.overlap = to.overlap;
  changed.buckets = to.buckets;
  changed.bucket_cap = to.bucket_cap;
  changed.first_bucket = to.first_bucket;
  changed.bucket_cap_a_rank = to.bucket_cap_a_rank;
  const bool same = changed.overlap == now.overlap && changed.buckets == now.buckets &&
                    changed.bucket_cap == now.bucket_cap && changed.first_bucket == now.first_bucket;
  if (same) return "";
  std::swap(now, changed);
  if (changed.overlap == now.overlap) return "buckets of another size";
  return now.overlap == Overlap::kBackward ? "buckets beside the backward pass" : "sent after the backward pass";
}

/// The scenario's own serial ZeRO-1 where it has one.
ScheduleSpec serial_sharded(const Scenario& scenario, const ScheduleSpec& now) {
  for (const ScheduleSpec& spec : scenario.schedules)
    if (is_serial_sharded(spec) && spec.gradient_dtype == now.gradient_dtype &&
        spec.parameter_dtype == now.parameter_dtype && spec.optimizer_dtype == now.optimizer_dtype)
      return spec;
  return ScheduleSpec{.name = plain_sharded_schedule().name,
                      .parameter_dtype = now.parameter_dtype,
                      .gradient_dtype = now.gradient_dtype,
                      .optimizer_dtype = now.optimizer_dtype,
                      .reduce_dtype = now.reduce_dtype};
}

std::string shard(const Scenario& scenario, ScheduleSpec& now, const ScheduleSpec& to) {
  if (sharding_of(now) != Sharding::kNothing || sharding_of(to) != Sharding::kOptimizer || is_serial_sharded(to))
    return "";
  now = serial_sharded(scenario, now);
  return fmt::format("{}: optimizer sharded", plain_sharded_schedule().title);
}

/// Beside the forward pass, where gradients are beside the backward pass already.
std::string gather_beside(const Scenario&, ScheduleSpec& now, const ScheduleSpec& to) {
  if (now.name != to.name || now.overlap != Overlap::kBackward || now.overlap_param_gather || !to.overlap_param_gather)
    return "";
  now.overlap_param_gather = true;
  now.align_param_gather = to.align_param_gather;
  now.parameter_sync = to.parameter_sync;
  now.gather_cap = to.gather_cap;
  return "parameters beside the forward pass";
}

/// On unlike GPUs: what a schedule does by itself whose ranks accumulate while they wait, others can be given.
std::string divide(const Scenario& scenario, ScheduleSpec& now, const ScheduleSpec& to) {
  const bool wanted = to.balance != Balance::kNone || accumulates_while_waiting(to);
  if (!wanted || now.balance != Balance::kNone || accumulates_while_waiting(now) ||
      !can_be_divided(scenario.cluster, scenario.training))
    return "";
  now.balance = with_some_balance(to).balance;
  return "work divided by the speed of the GPUs";
}

/// What the last step is called; it changes all that is left.
std::string the_rest(const ScheduleSpec& now, const ScheduleSpec& to) {
  const ScheduleTraits& traits = traits_of(to);
  if (now.name == to.name) return "all that is left";
  if (traits.delayed) return fmt::format("{}: communication hidden", traits.title);
  if (traits.local) return fmt::format("{}: meetings each {} updates", traits.title, to.inner_updates);
  return to.label == to.name ? std::string(traits.title) : fmt::format("{}: {}", traits.title, to.label);
}

constexpr Change kChanges[] = {reduce_once, gradients_in, parameters_in, copy_less, step_whole,
                               overlap,     shard,        gather_beside, divide};

bool same_run(ScheduleSpec a, const ScheduleSpec& b) {
  a.label = b.label;
  return a == b;
}

/// Tokens per second of a play at the work that is asked for.
double rate_of(const SteadyPlay& play) { return worked_per_update(play).tokens / play.measured.update_time.value; }

/// Seconds a sample of a rung at as many samples an update as the last one has. One that reduces after every
/// micro-batch takes as many times as long as it would accumulating() as it does at the work asked for: what no_sync
/// brings is not larger because another schedule's batch has grown.
std::optional<double> time_at(const Scenario& scenario, const Rung& rung, const Rung& last,
                              const Evaluations& evaluations, const Tuned& tuned) {
  const double samples = last.samples_per_update;
  if (&rung == &last) return rung.update_time.value / samples;
  const ScheduleSpec spec = accumulating(rung.spec);
  const std::optional<double> time = time_at_batch(scenario, spec, samples, evaluations, tuned);
  if (!time || spec == rung.spec) return time;
  return *time * rate_of(*evaluations.play(scenario, spec)) / rung.tokens_per_second;
}

}  // namespace

bool known_at_same_batch(const Ladder& ladder) {
  return std::all_of(ladder.rungs.begin() + 1, ladder.rungs.end(),
                     [](const Rung& rung) { return rung.speedup_same_batch.has_value(); });
}

double shown_speedup(const Ladder& ladder, std::size_t rung) {
  const Rung& one = ladder.rungs[rung];
  return rung > 0 && known_at_same_batch(ladder) ? *one.speedup_same_batch : one.speedup;
}

double shown_times(const Ladder& ladder, std::size_t rung) {
  const Rung& one = ladder.rungs[rung];
  return rung > 0 && known_at_same_batch(ladder) ? *one.times_same_batch : one.times;
}

std::vector<Rung> rungs_between(const Scenario& scenario, const ScheduleSpec& from, const ScheduleSpec& to,
                                const Tuned& tuned) {
  std::vector<Rung> rungs;
  const auto add = [&](std::string change, const ScheduleSpec& spec) {
    rungs.push_back({.change = std::move(change), .spec = spec});
  };
  add(from.label, from);
  ScheduleSpec now = from;
  const auto walk_to = [&](const ScheduleSpec& next, const std::string& name) {
    for (const Change& change : kChanges) {
      if (same_run(now, next)) break;
      if (std::string changed = change(scenario, now, next); !changed.empty()) add(std::move(changed), now);
    }
    if (same_run(now, next))
      rungs.back().spec = next;
    else
      add(name.empty() ? the_rest(now, next) : name, next);
    now = next;
  };
  // What a synchronous schedule can have comes before what a delayed or a local one hides.
  const ScheduleSpec* const best = tuned.synchronous ? &scenario.schedules[tuned.synchronous->index] : nullptr;
  if (best != nullptr && is_synchronous(from) && !is_synchronous(to)) {
    if (!same_run(from, *best)) walk_to(*best, best->label);
    add(the_rest(*best, to), to);
  } else {
    walk_to(to, "");
  }
  if (!identical_ranks(scenario.cluster)) return rungs;
  for (std::size_t i = 0; i + 1 < rungs.size(); ++i) {
    if (!is_serial_sharded(rungs[i].spec)) continue;
    rungs.back().most_same_batch = most_same_batch(to);
    rungs.back().most_over = i;
  }
  return rungs;
}

Ladder ladder(const Scenario& scenario, const ScheduleSpec& from, const ScheduleSpec& to,
              const Evaluations& evaluations, const Tuned& tuned) {
  Ladder result{from.label, to.label, rungs_between(scenario, from, to, tuned)};
  std::vector<Rung>& rungs = result.rungs;
  for (Rung& rung : rungs) {
    const auto play = evaluations.play(scenario, rung.spec);
    rung.update_time = play->measured.update_time;
    rung.samples_per_update = samples_per_update(*play);
    rung.tokens_per_second = rate_of(*play);
  }
  std::vector<std::optional<double>> times;
  for (const Rung& rung : rungs) times.push_back(time_at(scenario, rung, rungs.back(), evaluations, tuned));
  for (std::size_t i = 1; i < rungs.size(); ++i) {
    rungs[i].times = rungs[i].tokens_per_second / rungs[i - 1].tokens_per_second;
    rungs[i].speedup = rungs[i].tokens_per_second / rungs[0].tokens_per_second;
    if (times[i] && times[i - 1]) rungs[i].times_same_batch = *times[i - 1] / *times[i];
    if (times[i] && times[0]) rungs[i].speedup_same_batch = *times[0] / *times[i];
  }
  return result;
}

}  // namespace accosim
