#include "sim/advise/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/errors.hpp"
#include "models/read/check_schedules.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

const ScheduleSpec& labelled(const Scenario& scenario, const std::string& label) {
  const ScheduleSpec* const spec = schedule_labelled(scenario, label);
  if (spec == nullptr) throw BadInput(fmt::format("there is no schedule \"{}\" here", label));
  return *spec;
}

bool is_batch(double asked, double samples, double tolerance) { return std::abs(samples / asked - 1) <= tolerance; }

/// So many updates of one rank by itself: it waits for nobody, and its collectives have the network to themselves.
Seconds time_alone(const ScheduleSpec& spec, const Costs& costs, int steps, std::size_t kind, int updates) {
  EventGraph all = build(spec, costs, steps, updates);
  EventGraph one{.labels = std::move(all.labels)};
  one.programs.push_back(std::move(all.programs[kind]));
  one.ranks.push_back({0, {}, 1});
  one.programs[0].streaming_sms = 0;
  for (std::vector<Op>& lane : one.programs[0].lanes)
    for (Op& op : lane) {
      op.slot = -1;
      if (op.kind != OpKind::kCollective) continue;
      op.kind = OpKind::kCompute;
      op.duration = request_time(costs, all.requests[op.plan], costs.kinds[kind].first_rank);
    }
  return play(one, NetworkKind::kReference, {}).end;
}

/// Seconds a sample that no play goes below, as it has the same ops and others to wait for: what an update adds to the
/// slowest kind of rank by itself. Of schedules that do no more micro-batches than they are asked for.
double least_time_per_sample(const Scenario& scenario, const ScheduleSpec& spec, const Costs& costs) {
  const int steps = scenario.training.gradient_accumulation_steps;
  Seconds least;
  for (std::size_t kind = 0; kind < costs.kinds.size(); ++kind)
    least = std::max(least, time_alone(spec, costs, steps, kind, 2) - time_alone(spec, costs, steps, kind, 1));
  return least.value / updates_per_mark(spec) / samples_asked(scenario);
}

/// Most micro-batches of a GPU in an update.
double most_steps(const Scenario& scenario) {
  int most = 1;
  for (const NodeGroup& group : scenario.cluster.nodes)
    for (int gpu = 0; gpu < group.gpus; ++gpu)
      most = std::max(most, accumulation_steps_of(group, gpu, scenario.training));
  return most;
}

/// A bound of what a play comes to, in seconds a sample, and how far beyond the best it may be.
struct Least {
  double per_sample = 0;
  double hopeful = kHopeful;
};

/// Of what takes long to play; nothing of what does not, or of which no bound is known: of micro-batches that are
/// drawn, and of unlike ranks that go on while they wait.
std::optional<Least> least_of(const Scenario& scenario, const ScheduleSpec& spec, const Costs& costs, double most) {
  const Training& training = scenario.training;
  if (training.unsteady.varies()) return std::nullopt;
  const bool grows = accumulates_while_waiting(spec), split = model_ranks_of(training.parallel) > 1;
  const int steps = training.gradient_accumulation_steps;
  const double samples = samples_asked(scenario);
  if (!split) {
    if (grows || collectives_of(spec, most_steps(scenario), scenario.model) <= kManyCollectives) return std::nullopt;
    return Least{least_time_per_sample(scenario, spec, costs), kHopeful};
  }
  if (!grows) return Least{least_update_time(spec, costs, steps).value / samples, 1};
  if (costs.kinds.size() != static_cast<std::size_t>(training.parallel.pipeline)) return std::nullopt;
  // Of more micro-batches each stage's take in proportion; the way to it and back is one for all that there may be.
  return Least{least_update_time(spec, costs, steps).value / std::max(samples, most), 1};
}

/// What a play comes to.
void add_play(Evaluation& result, const RunResult& run, const AdviceQuery& asked) {
  result.has_time = true;
  result.samples = run.samples_per_update;
  Contender contender = contender_of(run, {});
  contender.batch_growth = result.samples / asked.samples;
  contender.fit_probability = result.fit_probability;
  result.caveats = caveats_of(contender, asked.rule);
  result.update_time = run.update_time.value;
  result.low = run.update_time_low.value;
  result.high = run.update_time_high.value;
  result.spread = run.spread;
  result.sent = run.bytes_sent_per_rank_per_update.value;
  result.exposed = run.exposed_communication.value;
  result.mfu = run.mfu;
  result.idle = run.gpu_idle_fraction;
  result.total_time = run.total_time.value;
  result.cost = run.cost.value_or(0);
}

}  // namespace

LoadedScenario loaded_with(const AdviceQuery& asked, const std::vector<std::string>& settings) {
  if (asked.made) return load_again(*asked.made, settings);
  std::vector<std::string> all = asked.set;
  all.insert(all.end(), settings.begin(), settings.end());
  return load_scenario(asked.scenario, all);
}

Evaluation evaluate(const AdviceQuery& asked, const Choice& choice, const PlayLimit& limit) {
  const Scenario written = loaded_with(asked, choice.set).scenario;
  const Evaluations evaluations(asked.network);
  const ScheduleSpec& as_asked = labelled(written, choice.label);
  const auto& [scenario, spec, as_written] = evaluations.divided(written, as_asked);
  // Whole micro-batches seldom come nearer, and count per sample.
  const double tolerance =
      as_asked.balance == Balance::kCounts ? std::max(asked.tolerance, kNearSamples) : asked.tolerance;
  Evaluation result{
      .nodes = node_count(scenario.cluster), .synchronous = is_synchronous(spec), .reduced = reduced_in(spec)};
  // A rank that goes on while it waits does at least what is asked of it.
  result.samples = samples_asked(scenario);
  const bool grows = accumulates_while_waiting(spec);
  if (grows ? result.samples > asked.samples * (1 + tolerance) : !is_batch(asked.samples, result.samples, tolerance)) {
    result.state = PointState::kOtherBatch;
    return result;
  }
  result.price = price_per_hour(scenario.cluster).value_or(0);
  if (asked.objective == Objective::kCost) {
    if (result.price == 0) throw ScenarioError({"has no price_per_gpu_hour above 0, and the cost is to be the least"});
    result.spent_in_a_second = result.price / 3600;
  }
  result.longer = 1.0 * scenario.training.sequence_length / asked.sequence;
  const Parallel parallel = parallel_of(scenario.training, spec);
  if (parallel.pipeline > 1) result.passes = 2 * most_steps(scenario) * parallel.pipeline * parallel.chunks;
  const Shared<Costs> costs = evaluations.costs(scenario, spec);
  const std::vector<KindMemory> kinds = memory_by_kind(costs, spec, scenario.training.gradient_accumulation_steps);
  const KindMemory& least = least_likely(kinds);
  result.verdict = least.fit.verdict;
  result.fit_probability = least.fit.probability;
  result.memory = least.parts.total().value;
  result.capacity = least.capacity.value;
  if (result.verdict == FitVerdict::kDoesNotFit) {
    result.state = PointState::kDoesNotFit;
    return result;
  }
  std::optional<Least> least_time;
  if (limit.postponed || limit.best) least_time = least_of(scenario, spec, costs, asked.samples * (1 + tolerance));
  if (least_time) {
    result.update_time = least_time->per_sample * result.samples;
    result.hopeful = least_time->hopeful;
    if (limit.postponed || result.spent_per_sample() > result.hopeful * *limit.best) {
      result.state = limit.postponed ? PointState::kPostponed : PointState::kCannotWin;
      return result;
    }
  }
  add_play(result, run_schedule(scenario, spec, evaluations), asked);
  result.state = is_batch(asked.samples, result.samples, tolerance) ? PointState::kPlayed : PointState::kOtherBatch;
  return result;
}

TimeParts time_parts_at(const AdviceQuery& asked, const Choice& choice) {
  const Scenario scenario = loaded_with(asked, choice.set).scenario;
  const ScheduleSpec& spec = labelled(scenario, choice.label);
  const int index = static_cast<int>(&spec - scenario.schedules.data());
  const Evaluations evaluations(asked.network);
  return breakdowns_of(scenario, {index}, {run_schedule(scenario, spec, evaluations)}, evaluations).front().parts;
}

std::optional<Adding> adding_at(const AdviceQuery& asked, const Choice& choice) {
  const Scenario scenario = loaded_with(asked, choice.set).scenario;
  return adding_of(scenario, labelled(scenario, choice.label), asked.network);
}

NetworkRate network_rate_of(const Cluster& cluster) {
  if (const auto& sites = cluster.fabric.between_groups)
    return {"link between the sites",
            sites->bandwidth.value,
            {{"/cluster/fabric/between_groups/bandwidth", sites->bandwidth}}};
  const bool alone = node_count(cluster) == 1;
  const auto rate_of = [&](const NodeGroup& group) { return alone ? group.intra.bandwidth : group.nics.bandwidth; };
  NetworkRate network{alone ? "links of a GPU" : "network adapters", rate_of(cluster.nodes.front()).value};
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g)
    if (!alone || cluster.nodes[g].gpus > 1)
      network.links.emplace_back(of_group(cluster, g, alone ? "intra/bandwidth" : "nics/bandwidth"),
                                 rate_of(cluster.nodes[g]));
  return network;
}

std::vector<std::string> at_network_rate(const NetworkRate& network, double factor) {
  std::vector<std::string> settings;
  for (const auto& [place, rate] : network.links)
    settings.push_back(place + "=" + to_text(BytesPerSecond{rate.value * factor}));
  return settings;
}

}  // namespace accosim
