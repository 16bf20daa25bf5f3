#include "sim/result/run.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "models/price/spread.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/player/player.hpp"
#include "sim/result/critical_path.hpp"
#include "sim/result/warnings.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// The spec replayed at another number of micro-batches per update.
ScheduleSpec at_batch(ScheduleSpec spec, int accumulation_steps) {
  const int rounds = traits_of(spec).rounds;
  if (rounds > 1) spec.micro_batches_per_round = accumulation_steps / rounds;
  return spec;
}

}  // namespace

double samples_per_update(const SteadyPlay& play) {
  double samples = 0;
  const EventGraph& graph = play.folded.graph;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r)
    samples += graph.ranks[r].multiplicity * play.measured.ranks[r].micro_batches_per_update *
               graph.programs[graph.ranks[r].program].micro_batch_size;
  return samples;
}

MemoryParts memory_of(const Costs& costs, const RankKind& kind, const ScheduleSpec& spec, int accumulation_steps) {
  return resident_memory({spec, kind.layers, kind.device, shard_ranks(costs, spec), accumulation_steps,
                          kind.tied_embeddings, kind.workload.implementation == Implementation::kAccocal});
}

namespace {

double samples_per_step(const Scenario& scenario) {
  double samples = 0;
  for (const NodeGroup& group : scenario.cluster.nodes)
    samples += 1.0 * group.count * group.gpus * group.micro_batch_size;
  return samples;
}

/// Beyond this many times the micro-batches asked for, a baseline that does as many as it is told is extrapolated
/// instead of played: every further micro-batch adds the same time, and on a slow network there may be millions of
/// them.
constexpr int kMostReplayed = 2;

/// Seconds per sample of the baseline at `samples` per update. Between two numbers of micro-batches that it can do, the
/// update time is interpolated: it is affine where communication is not hidden.
/// Absent where the baseline cannot do so few: it accumulates more by itself, or ranks do at least one micro-batch
/// each.
std::optional<double> baseline_time_per_sample(const Scenario& scenario, const ScheduleSpec& baseline, double samples,
                                               NetworkKind network) {
  const ScheduleTraits& traits = traits_of(baseline);
  const int unit = traits.rounds;
  const double steps = samples / samples_per_step(scenario) / unit;
  if (steps < 1 - 1e-9) return std::nullopt;
  const double most =
      !traits.delayed ? std::max(4.0, 1.0 * kMostReplayed * scenario.training.gradient_accumulation_steps) : 1e9;
  const int below = unit * static_cast<int>(std::floor(std::min(steps, most) + 1e-9));
  const auto at = [&](int n) {
    const SteadyPlay play = play_steady(scenario, at_batch(baseline, n), n, network);
    return std::pair(play.measured.update_time.value, samples_per_update(play));
  };
  const auto [time, done] = at(below);
  if (done > samples * (1 + 1e-9)) return std::nullopt;
  const double between = steps * unit - below;
  if (between < 1e-9) return time / done;
  const auto [more_time, more_done] = at(below + unit);
  const double share = between / unit;
  return (time + share * (more_time - time)) / (done + share * (more_done - done));
}

void add_memory(RunResult& result, const ScheduleSpec& spec, const Costs& costs, int accumulation_steps) {
  result.memory_formula = memory_formula(spec, costs.parameters, shard_ranks(costs, spec));
  double least_room = 0;
  for (const RankKind& kind : costs.kinds) {
    const MemoryParts parts = memory_of(costs, kind, spec, accumulation_steps);
    const double room = kind.device.memory.value - parts.total().value;
    if (!result.memory_parts.parts.empty() && room >= least_room) continue;
    least_room = room;
    result.memory_parts = parts;
    result.memory_resident = parts.total();
    result.memory_capacity = kind.device.memory;
  }
  result.fits = least_room >= 0;
}

void add_utilization(RunResult& result, const SteadyPlay& play) {
  const EventGraph& graph = play.folded.graph;
  double model = 0, hardware = 0, peak = 0, idle = 0, exposed = 0, sent = 0;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const double count = graph.ranks[r].multiplicity;
    const RankKind& kind = play.costs.kinds[graph.ranks[r].program];
    const RankMeasure& rank = play.measured.ranks[r];
    model += count * rank.micro_batches_per_update * kind.model_flops.value;
    hardware += count * rank.micro_batches_per_update * kind.hardware_flops.value;
    peak += count * kind.device.peak[static_cast<int>(kind.workload.compute)].value_or(FlopsPerSecond{0}).value;
    idle += count * rank.idle_fraction;
    exposed += count * rank.exposed_communication.value;
    sent += count * rank.sent.value;
    result.micro_batches_per_update += count * rank.micro_batches_per_update;
  }
  const double ranks = play.costs.ranks(), time = play.measured.update_time.value;
  result.mfu = model / time / peak;
  result.hfu = hardware / time / peak;
  result.gpu_idle_fraction = idle / ranks;
  result.exposed_communication = Seconds{exposed / ranks};
  result.bytes_sent_per_rank_per_update = Bytes{sent / ranks};
}

constexpr Bytes kLargeMessage{1e9};  // what training sends: every kind of links' spread of large messages

/// The spread of the update time: those of computation and communication, times their shares of the critical path.
Spread spread_of(const SteadyPlay& play) {
  const CriticalPath path = critical_path(play);
  std::vector<double> spreads;
  for (const RankKind& kind : play.costs.kinds) spreads.push_back(compute_spread(kind));
  double compute = 0, communication = 0;
  for (const PathStep& step : path.steps) {
    const double share = step.duration / path.update_time;
    if (step.cls == OpClass::kCommunication) {
      communication +=
          share * communication_spread(play.costs.cluster, play.costs.world.node.size() > 1, kLargeMessage);
    } else if (step.cls != OpClass::kMark) {
      const int kind = play.costs.kind_of[static_cast<std::size_t>(step.rank)];
      compute += share * spreads[static_cast<std::size_t>(kind)];
    }
  }
  return {compute, communication};
}

RunResult result_of(const Scenario& scenario, const ScheduleSpec& spec, const SteadyPlay& play, NetworkKind network) {
  RunResult result;
  result.schedule = spec.name;
  result.label = spec.label;
  result.update_time = play.measured.update_time;
  result.spread = spread_of(play);
  const Interval interval = interval_80(result.update_time.value, result.spread.total());
  result.update_time_low = Seconds{interval.low};
  result.update_time_high = Seconds{interval.high};
  result.samples_per_update = samples_per_update(play);
  result.tokens_per_second = result.samples_per_update * scenario.training.sequence_length / result.update_time.value;
  result.tokens_per_second_per_gpu = result.tokens_per_second / play.costs.ranks();
  result.total_time = Seconds{scenario.training.train_tokens / result.tokens_per_second};
  result.batch_inflation =
      result.samples_per_update / (samples_per_step(scenario) * scenario.training.gradient_accumulation_steps);
  add_utilization(result, play);
  add_memory(result, spec, play.costs, scenario.training.gradient_accumulation_steps);
  for (int rank = 0; rank < play.costs.ranks(); ++rank) {
    const RankMeasure& measure = play.measured.ranks[play.folded.class_of[rank]];
    const RankKind& kind = play.costs.kinds[play.costs.kind_of[rank]];
    result.ranks.push_back({rank, kind.device.name, play.costs.places[rank].node, measure.micro_batches_per_round,
                            measure.least_per_round, measure.most_per_round, measure.micro_batches_per_update,
                            measure.idle_fraction});
  }
  if (const auto published = scenario.published.find(spec.label); published != scenario.published.end()) {
    result.published_speedup = published->second.speedup;
    result.published_time = published->second.time;
    result.published_of_another_run = scenario.published_of_another_run;
  }
  result.warnings = warnings_of(scenario, spec, play, result, network);
  return result;
}

}  // namespace

// A play with more spans than this is not continued in search of a period.
constexpr std::size_t kMostSpans = 1'000'000;

SteadyPlay play_steady(const Scenario& scenario, const ScheduleSpec& spec, int accumulation_steps,
                       NetworkKind network) {
  SteadyPlay play;
  play.accumulation_steps = accumulation_steps;
  play.costs = price(scenario, spec);
  // Few updates show the period of identical ranks; unequal ones may take many, or have none.
  for (const int updates : {4, 8, 32, 128, 512}) {
    if (play.spans.size() > kMostSpans) break;
    play.folded = fold(build(spec, play.costs, accumulation_steps, updates));
    play.spans.clear();
    accosim::play(play.folded.graph, network, [&](const Span& span) { play.spans.push_back(span); });
    play.measured = measure(play.folded.graph, play.spans);
    if (play.measured.periodic) break;
  }
  return play;
}

RunResult run_schedule(const Scenario& scenario, const ScheduleSpec& spec, NetworkKind network) {
  SteadyPlay play = play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, network);
  RunResult result = result_of(scenario, spec, play, network);
  result.costs = std::make_shared<const Costs>(std::move(play.costs));
  return result;
}

std::vector<RunResult> compare(const Scenario& scenario, const std::vector<int>& chosen, NetworkKind network) {
  const auto baseline = std::find_if(scenario.schedules.begin(), scenario.schedules.end(),
                                     [&](const ScheduleSpec& spec) { return spec.label == scenario.baseline; });
  const RunResult base = run_schedule(scenario, *baseline, network);
  std::vector<RunResult> results;
  for (const int index : chosen) {
    const ScheduleSpec& spec = scenario.schedules[index];
    RunResult result = &spec == &*baseline ? base : run_schedule(scenario, spec, network);
    result.speedup = result.tokens_per_second / base.tokens_per_second;
    if (&spec == &*baseline)
      result.speedup_same_batch = 1;
    else if (const auto time = baseline_time_per_sample(scenario, *baseline, result.samples_per_update, network))
      result.speedup_same_batch = *time * result.samples_per_update / result.update_time.value;
    results.push_back(std::move(result));
  }
  return results;
}

EventGraph graph_for_trace(const Scenario& scenario, const ScheduleSpec& spec, int updates) {
  return graph_for_trace(price(scenario, spec), spec, scenario.training.gradient_accumulation_steps, updates);
}

EventGraph graph_for_trace(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps, int updates) {
  return fold_flows(build(spec, costs, accumulation_steps, updates));
}

}  // namespace accosim
