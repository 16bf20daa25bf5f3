// The warning that ranks wait for each other, and what to do about it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/price/price.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/what_if/changes.hpp"
#include "sim/what_if/warnings.hpp"

namespace accosim {
namespace {

constexpr double kMuchIdle = 0.25;
constexpr double kMuchMore = 0.1;      ///< than the ranks that are waited for
constexpr double kMostTried = 1e6;     ///< samples of a micro-batch
constexpr double kWorthSaying = 1.01;  ///< of tokens per second

/// The fraction of an update in which the ranks of each crew are idle, in the mean.
std::vector<double> idle_of(const std::vector<Crew>& crews, const SteadyPlay& play) {
  std::map<std::pair<int, int>, std::size_t> crew_of;  // by group and GPU
  for (std::size_t c = 0; c < crews.size(); ++c)
    for (const int gpu : crews[c].gpus) crew_of[{crews[c].group, gpu}] = c;
  std::vector<double> idle(crews.size());
  for (std::size_t rank = 0; rank < play.costs->places.size(); ++rank) {
    const Place& place = play.costs->places[rank];
    idle[crew_of.at({place.group, place.gpu})] += play.measured.ranks[play.folded.class_of[rank]].idle_fraction;
  }
  for (std::size_t c = 0; c < crews.size(); ++c) idle[c] /= crews[c].ranks;
  return idle;
}

bool fits(const Trial& trial, const Evaluations& evaluations) {
  const Shared<Costs> costs = evaluations.costs(trial.scenario, trial.spec());
  return std::ranges::all_of(costs->kinds, [&](const RankKind& kind) {
    return memory_of(kind, trial.spec(), trial.scenario.training.gradient_accumulation_steps).total() <=
           kind.device.memory;
  });
}

/// What to do, as far as micro-batches go; empty where none was found to help.
std::string better_micro_batch(const WhatIf& what_if, std::size_t schedule, const SteadyPlay& play, const Crew& waiting,
                               const Crew& holding) {
  const Scenario& scenario = what_if.scenario();
  const Evaluations& evaluations = what_if.evaluations();
  // A node group has one micro-batch; a measured model's time does not depend on it; divided work has its own.
  if (waiting.group == holding.group || family_of(scenario.model).measured) return {};
  if (scenario.schedules[schedule].balance != Balance::kNone) return {};
  const auto time = [&](const Crew& crew) {
    const RankKind& kind = play.costs->kinds[play.costs->kind_of[crew.first_rank]];
    return kind.forward + kind.backward;
  };
  const auto size = [&](const Crew& crew) { return scenario.cluster.nodes[crew.group].micro_batch_size; };
  const double ratio = time(holding) / time(waiting);
  if (ratio <= 1) return {};
  const double now = samples_per_update(play) / play.measured.update_time.value;
  const auto setting = [&](const Crew& crew, int micro_batch) {
    return fmt::format("{}={}", of_group(scenario.cluster, static_cast<std::size_t>(crew.group), "micro_batch_size"),
                       micro_batch);
  };
  // The best of a few, as it is said; empty where none is worth saying.
  const auto advice = [&](const Crew& crew, const std::vector<int>& sizes) {
    std::string text;
    double best = kWorthSaying;
    for (const int micro_batch : sizes) {
      if (micro_batch == size(crew)) continue;
      const std::string set = setting(crew, micro_batch);
      const std::optional<Trial> tried = what_if.with(schedule, {set});
      if (!tried) continue;
      const auto then = evaluations.play(tried->scenario, tried->spec(), play.accumulation_steps);
      const double samples = samples_per_update(*then);
      const double gain = samples / then->measured.update_time.value / now;
      if (gain < best) continue;
      best = gain;
      text = fmt::format(
          "give {} micro-batches of {} instead of {} (--set {}): {:.0f} % more tokens per second, {:.0f} samples an "
          "update",
          name_of(scenario.cluster, crew), micro_batch, size(crew), set, 100 * (gain - 1), samples);
    }
    return text;
  };
  // What waits has time for more, if it has room; what is waited for can do less.
  constexpr double kRounding = 1 + 1e-9;  // a ratio of 3 may be 2.999...
  const int most = static_cast<int>(std::min(size(waiting) * ratio * kRounding, kMostTried));
  const int fitting = largest_that_fits(size(waiting), most + 2, [&](int micro_batch) {
    const std::optional<Trial> trial = what_if.with(schedule, {setting(waiting, micro_batch)});
    return trial && fits(*trial, evaluations);
  });
  std::vector<int> sizes = {std::min(fitting, most)};
  if (fitting > most) sizes.push_back(fitting);
  std::string more = advice(waiting, sizes);
  if (!more.empty()) return more;
  const int less = static_cast<int>(size(holding) / ratio);
  return advice(holding, {less + 1, std::max(1, less)});
}

/// Of a pipeline of unlike GPUs, which all do the same micro-batches; empty where it would not help.
std::string better_stages(const WhatIf& what_if, std::size_t schedule, const SteadyPlay& play) {
  constexpr const char* kSet = "/training/parallel/stage_layers=speed";
  if (what_if.scenario().training.parallel.blocks_by_speed) return {};
  const std::optional<Trial> tried = what_if.with(schedule, {kSet});
  if (!tried) return {};
  const auto then = what_if.evaluations().play(tried->scenario, tried->spec(), play.accumulation_steps);
  const double gain = play.measured.update_time / then->measured.update_time;
  if (gain < kWorthSaying) return {};
  return fmt::format("share the blocks among the stages by their speed (--set {}): {:.0f} % more tokens per second",
                     kSet, 100 * (gain - 1));
}

}  // namespace

std::optional<Warning> ranks_wait(const WhatIf& what_if, std::size_t schedule, const SteadyPlay& play) {
  if (play.costs->kinds.size() < 2) return std::nullopt;
  const Scenario& scenario = what_if.scenario();
  const std::vector<Crew> crews = crews_of(scenario.cluster);
  const std::vector<double> idle = idle_of(crews, play);
  const auto [least, most] = std::ranges::minmax_element(idle);
  if (*most < kMuchIdle || *most - *least < kMuchMore) return std::nullopt;
  const Crew &waiting = crews[most - idle.begin()], &holding = crews[least - idle.begin()];
  const std::vector<std::vector<int>> teams =
      teams_of(scenario.cluster, scenario.training.parallel, island_of(scenario.schedules[schedule]));
  const auto team_of = [&](const Crew& crew) { return teams[crew.group][crew.gpus.front()]; };
  const bool stages =
      scenario.training.parallel.pipeline > 1 && team_of(waiting) == team_of(holding);  // of one pipeline
  std::string advice =
      stages ? better_stages(what_if, schedule, play) : better_micro_batch(what_if, schedule, play, waiting, holding);
  if (!stages && !traits_of(scenario.schedules[schedule]).takes("late_communication"))
    advice +=
        fmt::format("{}choose a schedule whose ranks accumulate while they wait (acco)", advice.empty() ? "" : ", or ");
  return Warning{
      "ranks_wait",
      fmt::format("{} wait for {}: they are idle for {:.0f} % of an update, the latter for {:.0f} %",
                  name_of(scenario.cluster, waiting), name_of(scenario.cluster, holding), 100 * *most, 100 * *least),
      advice};
}

}  // namespace accosim
