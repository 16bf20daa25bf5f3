#include "sim/result/run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/base/reader.hpp"
#include "models/base/stages.hpp"
#include "models/base/statistics.hpp"
#include "models/price/spread.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/frameworks.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/critical_path.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// Beyond this many times the micro-batches asked for, a baseline that does as many as it is told is extrapolated
/// instead of played: every further micro-batch adds the same time, and on a slow network there may be millions of
/// them.
constexpr int kMostReplayed = 2;

void add_memory(RunResult& result, const Scenario& asked, const ScheduleSpec& spec, const Costs& costs) {
  const RankKind& first = costs.kinds.front();
  const int holders = sharding_of(spec) == Sharding::kParameters ? first.shards : 1;
  const double own = has_own_experts(first) ? first.expert_parameters : 0;  // shared by fewer ranks
  result.memory_formula = memory_formula(spec, first.parameters - own, first.shards, costs.ranks()) +
                          memory_formula(spec, own, first.shards / first.share.experts, costs.ranks()) +
                          1.0 / holders * first.frozen;
  result.memory_by_kind = memory_by_kind(costs, spec, asked.training.gradient_accumulation_steps);
  const KindMemory& least = least_likely(result.memory_by_kind);
  result.memory_parts = least.parts;
  result.memory_resident = least.parts.total();
  const Interval interval = resident_interval(least.parts);
  result.memory_resident_low = Bytes{interval.low};
  result.memory_resident_high = Bytes{interval.high};
  result.memory_capacity = least.capacity;
  result.fit = least.fit;
}

void add_utilization(RunResult& result, const SteadyPlay& play) {
  const EventGraph& graph = play.folded.graph;
  double peak = 0, idle = 0, exposed = 0, sent = 0;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const double count = graph.ranks[r].multiplicity;
    const RankKind& kind = play.costs->kinds[graph.ranks[r].program];
    const RankMeasure& rank = play.measured.ranks[r];
    peak += count * kind.device.peak[static_cast<int>(kind.workload.compute)].value_or(FlopsPerSecond{0}).value;
    idle += count * rank.idle_fraction;
    exposed += count * rank.exposed_communication.value;
    sent += count * rank.sent.value;
    result.micro_batches_per_update += count * rank.micro_batches_per_update;
  }
  result.micro_batches_per_update /= model_ranks_of(play.costs->layout);
  const double ranks = play.costs->ranks(), time = play.measured.update_time.value;
  const Worked worked = worked_per_update(play);
  result.mfu = worked.model_flops.value / time / peak;
  result.model_flops_per_gpu = FlopsPerSecond{worked.model_flops.value / time / ranks};
  result.hfu = worked.hardware_flops.value / time / peak;
  result.gpu_idle_fraction = idle / ranks;
  result.exposed_communication = Seconds{exposed / ranks};
  result.bytes_sent_per_rank_per_update = Bytes{sent / ranks};
}

constexpr Bytes kLargeMessage{1e9};  // what training sends: every kind of links' spread of large messages

/// The spread of the update time: those of computation and communication, times their shares of the critical path. What
/// a replica sends by itself is as uncertain as the links that it has inside. Unlike GPUs in one job err more.
Spread spread_of(const ScheduleSpec& spec, const SteadyPlay& play) {
  const CriticalPath path = critical_path(play);
  const std::vector<double> spreads = mapped<double>(play.costs->kinds, compute_spread);
  std::map<std::pair<Ranks, int>, double> of_ranks;  // by the rank that meets others
  double compute = 0, communication = 0;
  for (const PathStep& step : path.steps) {
    const double share = step.duration / path.update_time;
    if (step.cls == OpClass::kCommunication) {
      const Ranks ranks = traits_of(spec).local ? step.ranks : Ranks{};
      const auto [known, is_new] = of_ranks.emplace(std::pair(ranks, step.rank), 0);
      if (is_new)
        known->second =
            communication_spread(play.costs->cluster, ring_of(*play.costs, ranks, step.rank), kLargeMessage);
      communication += share * known->second;
    } else if (step.cls != OpClass::kMark) {
      compute += share * spreads[play.costs->kind_of[step.rank]];
    }
  }
  return {std::hypot(compute, step_spread(play.costs->cluster, play.costs->parallel)), communication};
}

DrawnUpdates drawn_updates(const SteadyPlay& play) {
  std::vector<double> durations;
  for (const Seconds each : play.measured.durations) durations.push_back(each.value);
  DrawnUpdates drawn{.seed = play.costs->pace.unsteady.seed,
                     .played = static_cast<int>(durations.size()),
                     .updates_each = play.folded.graph.updates_per_mark,
                     .band_of_mean = band_of_mean(play.measured.durations)};
  drawn.narrow = drawn.band_of_mean <= kNarrowBand;
  drawn.p10 = Seconds{percentile(durations, 0.1)};
  drawn.median = Seconds{percentile(durations, 0.5)};
  drawn.p90 = Seconds{percentile(durations, 0.9)};
  return drawn;
}

SteadyState steady_state(const SteadyPlay& play) {
  const Measured& measured = play.measured;
  const int per_mark = play.folded.graph.updates_per_mark;
  SteadyState steady{.played = play.updates * per_mark,
                     .averaged = (measured.last - measured.first) * per_mark,
                     .lockstep = play.lockstep};
  if (measured.periodic) {
    steady.repeats_after = steady.averaged;
    return steady;
  }
  const std::size_t half = measured.durations.size() / 2;
  if (half == 0) return steady;
  Seconds earlier, later;
  for (std::size_t i = 0; i < half; ++i) {
    earlier += measured.durations[i];
    later += measured.durations[measured.durations.size() - 1 - i];
  }
  steady.halves_differ = later / earlier - 1;
  return steady;
}

std::vector<RankResult> rank_results(const SteadyPlay& play) {
  std::vector<RankResult> results;
  // By rank of the folded graph: the result of each node group that has such ranks. Few have several.
  std::vector<std::vector<std::pair<int, std::size_t>>> of_class(play.measured.ranks.size());
  for (int rank = 0; rank < play.costs->ranks(); ++rank) {
    const auto played = static_cast<std::size_t>(play.folded.class_of[rank]);
    const int group = play.costs->places[rank].group;
    auto& known = of_class[played];
    const auto same = std::ranges::find_if(known, [&](const auto& each) { return each.first == group; });
    if (same != known.end()) {
      std::vector<RankRange>& ranks = results[same->second].ranks;
      if (ranks.back().last + 1 == rank)
        ++ranks.back().last;
      else
        ranks.push_back({rank, rank});
      continue;
    }
    known.emplace_back(group, results.size());
    results.push_back(
        {play.measured.ranks[played], {{rank, rank}}, play.costs->kinds[play.costs->kind_of[rank]].device.name});
  }
  return results;
}

/// By the schedule's row; a single replica does not drift.
Statistics statistics_of(const ScheduleSpec& spec, const Costs& costs) {
  if (spec.estimate == EstimateOf::kLocal && costs.ranks() > 1) return Statistics::kLocalEstimate;
  const Statistics statistics = traits_of(spec).statistics;
  const bool alone = costs.layout.size(Dim::kReplica) < 2;
  return statistics == Statistics::kReplicasDrift && alone ? Statistics::kSynchronous : statistics;
}

/// Of a play of the scenario with its work divided, if it asks for that.
RunResult result_of(const Scenario& scenario, const ScheduleSpec& spec, const SteadyPlay& play) {
  RunResult result;
  result.schedule = spec.name;
  result.label = spec.label;
  result.update_time = play.measured.update_time;
  result.spread = spread_of(spec, play);
  const Interval interval = interval_80(result.update_time.value, result.spread.total());
  result.update_time_low = Seconds{interval.low};
  result.update_time_high = Seconds{interval.high};
  result.samples_per_update = samples_per_update(play);
  const Worked worked = worked_per_update(play);
  result.tokens_per_second = worked.tokens / result.update_time.value;
  result.tokens_padded_per_second = worked.padded / result.update_time.value;
  result.tokens_per_second_per_gpu = result.tokens_per_second / play.costs->ranks();
  result.total_time = Seconds{scenario.training.train_tokens / result.tokens_per_second};
  const double hours = result.total_time.value / 3600;
  result.gpu_hours = hours * gpu_count(scenario.cluster);
  if (const std::optional<double> price = price_per_hour(scenario.cluster)) result.cost = hours * *price;
  result.currency = scenario.cluster.currency;
  result.statistics = statistics_of(spec, *play.costs);
  if (result.statistics == Statistics::kStaleGradients) result.updates_late = spec.delay;
  result.batch_inflation = result.samples_per_update / samples_asked(scenario);
  add_utilization(result, play);
  result.steady = steady_state(play);
  if (play.lockstep) {
    result.update_time_low = std::min(result.update_time_low, *play.lockstep);
    result.update_time_high = std::max(result.update_time_high, *play.lockstep);
  }
  if (play.costs->pace.unsteady.varies()) result.drawn = drawn_updates(play);
  result.pauses = play.pauses;
  add_memory(result, scenario, spec, play.costs);
  result.ranks = rank_results(play);
  if (const auto published = scenario.published.find(spec.label); published != scenario.published.end()) {
    result.published_speedup = published->second.speedup;
    result.published_time = published->second.time;
    result.published_of_another_run = scenario.published_of_another_run;
  }
  return result;
}

/// time_per_sample() of what is divided already. Its own samples, where they are so many to kNearSamples, count as
/// those.
std::optional<double> time_as_divided(const Division& own, double samples, int most_times,
                                      const Evaluations& evaluations) {
  const Scenario& scenario = own.scenario;
  const ScheduleSpec& spec = own.spec;
  const int unit = rounds_of(spec) * micro_batches_apart(parallel_of(scenario.training, spec));
  const int common = common_steps(scenario);
  if (!own.as_written && std::abs(samples_asked(scenario) / samples - 1) <= kNearSamples) {
    const auto play = evaluations.play(scenario, spec);
    if (samples_per_update(*play) > samples * (1 + kNearSamples)) return std::nullopt;
    return time_per_sample(*play);
  }
  const double steps = samples / (samples_asked(scenario) / common) / unit;
  if (steps < 1 - 1e-9) return std::nullopt;
  const double most = !traits_of(spec).delayed ? std::max(4.0, 1.0 * most_times * common) : 1e9;
  const int below = unit * static_cast<int>(std::floor(std::min(steps, most) + 1e-9));
  const auto at = [&](int n) { return replayed_at(scenario, spec, n, evaluations); };
  const auto [time, done] = at(below);
  if (done > samples * (1 + 1e-9)) return std::nullopt;
  const double between = steps * unit - below;
  if (between < 1e-9) return time / done;
  const auto [more_time, more_done] = at(below + unit);
  const double share = between / unit;
  return (time + share * (more_time - time)) / (done + share * (more_done - done));
}

RunResult run_phase(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations) {
  const auto play = evaluations.play(scenario, spec);
  RunResult result = result_of(scenario, spec, *play);
  result.costs = play->costs;
  return result;
}

/// What figures of the two phases come to in the mean of all updates. Memory is that of the phase that holds more;
/// ranks and what is drawn are those of the later phase.
RunResult mean_of_phases(const RunResult& first, RunResult later, double share) {
  const auto mean = [share](const auto& a, const auto& b) { return share * a + (1 - share) * b; };
  const double tokens = later.tokens_per_second * later.update_time.value;
  const double idle =
      mean(first.gpu_idle_fraction * first.update_time.value, later.gpu_idle_fraction * later.update_time.value);
  for (Seconds Metrics::*time : {&Metrics::update_time, &Metrics::update_time_low, &Metrics::update_time_high,
                                 &Metrics::exposed_communication, &Metrics::total_time})
    later.*time = mean(first.*time, later.*time);
  later.gpu_hours = mean(first.gpu_hours, later.gpu_hours);
  later.gpu_idle_fraction = idle / later.update_time.value;
  later.bytes_sent_per_rank_per_update =
      mean(first.bytes_sent_per_rank_per_update, later.bytes_sent_per_rank_per_update);
  if (later.cost) later.cost = mean(*first.cost, *later.cost);
  if (first.memory_resident > later.memory_resident) {
    later.memory_formula = first.memory_formula;
    later.memory_resident = first.memory_resident;
    later.memory_resident_low = first.memory_resident_low;
    later.memory_resident_high = first.memory_resident_high;
    later.fit = first.fit;
    later.memory_parts = first.memory_parts;
    later.memory_by_kind = first.memory_by_kind;
  }
  const double rate = tokens / later.update_time.value / later.tokens_per_second;
  later.tokens_per_second *= rate;
  later.tokens_padded_per_second *= rate;
  later.tokens_per_second_per_gpu *= rate;
  later.model_flops_per_gpu = rate * later.model_flops_per_gpu;
  later.mfu *= rate;
  later.hfu *= rate;
  return later;
}

/// A schedule played again at as many samples an update as others have.
class Replayed {
 public:
  Replayed(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations, const Tuned& tuned)
      : result(run_schedule(scenario, spec, evaluations)),
        scenario_(scenario),
        accumulates_(accumulating(spec)),
        evaluations_(evaluations),
        tuned_(tuned),
        repeats_(accumulates_ == spec),
        as_told_(repeats_ && rounds_of(spec) == 1 && result.samples_per_update == samples_asked(scenario)) {}

  /// Speedup of another at its samples; absent where this one cannot do so few.
  std::optional<double> at_batch_of(const RunResult& other) {
    if (other.label == result.label && repeats_) return 1;
    const std::optional<double> time = time_at(other.samples_per_update);
    return time ? std::optional(*time * other.samples_per_update / other.update_time.value) : std::nullopt;
  }

  const RunResult result;

 private:
  /// Seconds a sample. Of one that does as many micro-batches as it is told, at as many as it did, what it was.
  std::optional<double> time_at(double samples) {
    if (as_told_ && samples == result.samples_per_update) return result.update_time.value / samples;
    const auto [time, anew] = times_.try_emplace(samples);
    if (anew) time->second = time_at_batch(scenario_, accumulates_, samples, evaluations_, tuned_);
    return time->second;
  }

  const Scenario& scenario_;
  ScheduleSpec accumulates_;
  const Evaluations& evaluations_;
  const Tuned& tuned_;
  bool repeats_, as_told_;
  std::map<double, std::optional<double>> times_;  // by samples an update
};

std::optional<Interval> interval_of(const std::optional<double>& speedup, const RunResult& result,
                                    const RunResult& base) {
  if (!speedup || result.label == base.label) return std::nullopt;
  return interval_80(*speedup, ratio_spread(result.spread, base.spread));
}

}  // namespace

std::optional<Phases> phases_of(const Scenario& scenario, const ScheduleSpec& spec) {
  if (spec.synchronous_updates == 0) return std::nullopt;
  Phases phases;
  JsonValue entry = usual_entry(plain_schedule(), spec.label, spec);
  Diagnostics diagnostics;
  phases.first = read_schedule(entry, "", scenario.training, scenario.cluster, diagnostics);
  phases.first.balance = spec.balance;
  phases.later = spec;
  phases.later.synchronous_updates = 0;
  const double length = mean_length(scenario.training.unsteady.lengths, scenario.training.sequence_length);
  const double updates = scenario.training.train_tokens / (samples_asked(scenario) * length);
  phases.share = std::min(1.0, spec.synchronous_updates / updates);
  return phases;
}

std::optional<double> time_per_sample(const Scenario& asked, const ScheduleSpec& asked_spec, double samples,
                                      const Evaluations& evaluations) {
  if (const std::optional<Phases> phases = phases_of(asked, asked_spec)) {
    const auto first = time_per_sample(asked, phases->first, samples, evaluations),
               later = time_per_sample(asked, phases->later, samples, evaluations);
    if (!first || !later) return std::nullopt;
    return phases->share * *first + (1 - phases->share) * *later;
  }
  // What is sent in every micro-batch is played piece by piece: at no more of them than were asked for.
  const int most_times = meets_every_micro_batch(asked_spec) ? 1 : kMostReplayed;
  const Division own = evaluations.divided(asked, asked_spec, std::min(samples, most_times * samples_asked(asked)));
  if (asked_spec.balance != Balance::kNone && !own.as_written) {
    ScheduleSpec undivided = asked_spec;
    undivided.balance = Balance::kNone;
    const std::optional<double> written = time_per_sample(asked, undivided, samples, evaluations);
    const std::optional<double> divided = time_as_divided(own, samples, most_times, evaluations);
    return written && divided ? std::min(written, divided) : written ? written : divided;
  }
  return time_as_divided(own, samples, most_times, evaluations);
}

std::optional<double> time_at_batch(const Scenario& scenario, const ScheduleSpec& spec, double samples,
                                    const Evaluations& evaluations, const Tuned& tuned) {
  const std::optional<double> time = time_per_sample(scenario, accumulating(spec), samples, evaluations);
  if (!tuned.synchronous || tuned.synchronous->label != spec.label) return time;
  const TunedBatch* const best = tuned.at(samples);
  return best == nullptr ? time : std::min(time.value_or(best->time), best->time);
}

RunResult run_schedule(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations) {
  const std::optional<Phases> phases = phases_of(scenario, spec);
  if (!phases) return run_phase(scenario, spec, evaluations);
  RunResult first = run_phase(scenario, phases->first, evaluations);
  if (phases->share >= 1) {  // the training is over before replicas make updates by themselves
    first.schedule = spec.name;
    return first;
  }
  return mean_of_phases(first, run_phase(scenario, phases->later, evaluations), phases->share);
}

std::vector<RunResult> compare(const Scenario& scenario, const std::vector<int>& chosen, const Evaluations& evaluations,
                               const Tuned& tuned) {
  Steps steps(chosen.size() + 2);
  Replayed base(scenario, baseline_of(scenario), evaluations, tuned);
  steps.over();
  std::optional<Replayed> best;
  if (tuned.synchronous) best.emplace(scenario, scenario.schedules[tuned.synchronous->index], evaluations, tuned);
  steps.over();
  std::vector<RunResult> results;
  for (const int index : chosen) {
    const ScheduleSpec& spec = scenario.schedules[index];
    RunResult result = spec.label == base.result.label            ? base.result
                       : best && spec.label == best->result.label ? best->result
                                                                  : run_schedule(scenario, spec, evaluations);
    result.speedup = result.tokens_per_second / base.result.tokens_per_second;
    result.speedup_interval = interval_of(result.speedup, result, base.result);
    result.baseline_fits = base.result.fits();
    result.speedup_same_batch = base.at_batch_of(result);
    result.speedup_same_batch_interval = interval_of(result.speedup_same_batch, result, base.result);
    if (best && best->result.fits()) {
      result.over_best_synchronous = best->at_batch_of(result);
      result.over_best_synchronous_interval = interval_of(result.over_best_synchronous, result, best->result);
    }
    results.push_back(std::move(result));
    steps.over();
  }
  return results;
}

EventGraph graph_for_trace(const Scenario& scenario, const ScheduleSpec& spec, int updates) {
  return graph_for_trace(price(scenario, spec), spec, scenario.training.gradient_accumulation_steps, updates);
}

EventGraph graph_for_trace(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps, int updates,
                           const std::vector<PauseCost>& pauses) {
  return fold_flows(graph_of_all_flows(costs, spec, accumulation_steps, updates, pauses));
}

EventGraph graph_of_all_flows(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps, int updates,
                              const std::vector<PauseCost>& pauses) {
  if (pauses.empty()) return build(spec, costs, accumulation_steps, updates);
  Costs paused = costs;
  const double marks = updates_per_mark(spec);
  for (std::size_t i = 0; i < pauses.size(); ++i)
    for (int k = 1;; ++k) {
      const auto after = std::max<std::int64_t>(k, std::llround(k * pauses[i].every_updates / marks));
      if (after >= updates) break;
      paused.pace.pauses.push_back(placed(costs.pace.unsteady.pauses[i], spec, costs, after));
    }
  return build(spec, paused, accumulation_steps, updates);
}

}  // namespace accosim
