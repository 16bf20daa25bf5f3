#include "sim/evaluation/per_sample.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/spec/frameworks.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/resident.hpp"

namespace accosim {
namespace {

/// Both passes over its first chunk.
Seconds first_chunk(const RankKind& kind) {
  Seconds passes{0};
  for (int layer = 0; layer < kind.chunk_layers.front(); ++layer) {
    const LayerTime& time = kind.times[layer];
    passes += time.forward + time.backward;
  }
  return passes;
}

/// The spec replayed at another number of micro-batches per update.
ScheduleSpec at_batch(ScheduleSpec spec, int accumulation_steps) {
  const int rounds = rounds_of(spec);
  if (rounds > 1) spec.micro_batches_per_round = accumulation_steps / rounds;
  return spec;
}

/// Every GPU does n times its part of common_steps(): n micro-batches each, where all do as many.
Scenario at_steps(Scenario scenario, int n) {
  const int common = common_steps(scenario);
  for (NodeGroup& group : scenario.cluster.nodes)
    for (int& steps : group.accumulation_steps) steps = steps / common * n;
  // Where all groups have their own it is nobody's, and need not be divisible.
  scenario.training.gradient_accumulation_steps =
      std::max(1, scenario.training.gradient_accumulation_steps / common) * n;
  return scenario;
}

}  // namespace

Seconds least_update_time(const ScheduleSpec& spec, const Costs& costs, int micro_batches) {
  const int stages = costs.parallel.pipeline;
  std::vector<Seconds> way(static_cast<std::size_t>(stages), Seconds{0}), own = way;
  for (const RankKind& kind : costs.kinds) {
    const auto stage = static_cast<std::size_t>(kind.share.stage);
    const Seconds busy = kind.steps(micro_batches) * (kind.forward + kind.backward);
    own[stage] = std::max(own[stage], busy);
    if (kind.share.stage + 1 == stages) continue;
    const Seconds chunk = first_chunk(kind);
    way[stage + 1] = way[stage + 1] > Seconds{0} ? std::min(way[stage + 1], chunk) : chunk;
  }
  const int flights = spec.pipeline_flush ? rounds_of(spec) : 0;
  Seconds least{0}, before{0};
  for (std::size_t stage = 0; stage < own.size(); ++stage) {
    before += way[stage];
    least = std::max(least, own[stage] + flights * before);
  }
  return least;
}

double time_per_sample(const SteadyPlay& play) { return play.measured.update_time.value / samples_per_update(play); }

double least_time_per_sample(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations) {
  const Shared<Costs> costs = evaluations.costs(scenario, spec);
  return least_update_time(spec, costs, scenario.training.gradient_accumulation_steps).value / samples_asked(scenario);
}

Fit least_fit(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations) {
  const int steps = scenario.training.gradient_accumulation_steps;
  return least_likely(memory_by_kind(evaluations.costs(scenario, spec), spec, steps)).fit;
}

int common_steps(const Scenario& scenario) {
  int common = 0;
  for (const NodeGroup& group : scenario.cluster.nodes)
    for (int gpu = 0; gpu < group.gpus; ++gpu)
      common = std::gcd(common, accumulation_steps_of(group, gpu, scenario.training));
  return common;
}

Keep kept_to_rank(const Scenario& scenario, const ScheduleSpec& spec) {
  return is_synchronous(spec) && !scenario.training.unsteady.varies() ? Keep::kNothing : Keep::kLastUpdate;
}

std::pair<double, double> replayed_at(const Scenario& scenario, const ScheduleSpec& spec, int n,
                                      const Evaluations& evaluations, Keep keep) {
  const Scenario replayed = at_steps(scenario, n);
  const int steps_each = replayed.training.gradient_accumulation_steps;
  const auto play = evaluations.play(replayed, at_batch(spec, steps_each), steps_each, keep);
  return {play->measured.update_time.value, samples_per_update(*play)};
}

double estimated_time_per_sample(const Scenario& asked, const ScheduleSpec& asked_spec,
                                 const Evaluations& evaluations) {
  const Division own = evaluations.divided(asked, asked_spec);
  const Scenario& scenario = own.scenario;
  const ScheduleSpec& spec = own.spec;
  constexpr int kFew = 2, kMore = 4;  // micro-batches: from the second on each adds the same
  const int common = common_steps(scenario);
  const int stages = scenario.training.parallel.pipeline;
  const int filled = 2 * std::max(stages, micro_batches_apart(parallel_of(scenario.training, spec)));
  if (common <= (stages > 1 ? filled : kMore) || traits_of(spec).delayed)
    return time_per_sample(*evaluations.play(scenario, spec, kept_to_rank(scenario, spec)));
  const auto time_at = [&](int n) {
    return replayed_at(scenario, spec, n, evaluations, kept_to_rank(scenario, spec)).first;
  };
  if (stages > 1) {
    // Once a pipeline is filled each micro-batch adds what its slowest stage takes, or more.
    const auto least_at = [&](int n) {
      const Scenario replayed = at_steps(scenario, n);
      return least_update_time(spec, *evaluations.costs(replayed, spec), replayed.training.gradient_accumulation_steps);
    };
    const Seconds each = 1.0 / filled * (least_at(2 * filled) - least_at(filled));
    return (time_at(filled) + each.value * (common - filled)) / samples_asked(scenario);
  }
  const double few = time_at(kFew), more = time_at(kMore);
  return (more + (more - few) / (kMore - kFew) * (common - kMore)) / samples_asked(scenario);
}

}  // namespace accosim
