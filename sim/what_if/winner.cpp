#include "sim/what_if/winner.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/evaluation/chosen.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kMayFit = 0.1;  ///< probability: FitVerdict::kTight begins there

/// From the fastest on.
void name_faster(Standing& standing) {
  standing.faster.clear();
  for (std::size_t i = 0; i < standing.times.size(); ++i)
    if (standing.times[i] > kNoticeablyFaster && !standing.caveats[i].none()) standing.faster.push_back(i);
  std::ranges::stable_sort(standing.faster,
                           [&](std::size_t a, std::size_t b) { return standing.times[a] > standing.times[b]; });
}

}  // namespace

int Caveats::count() const {
  return (statistics != Statistics::kSynchronous ? 1 : 0) + (batch_growth > 1 ? 1 : 0) + (fit_probability < 1 ? 1 : 0) +
         (loss_unreached ? 1 : 0);
}

Contender contender_of(const Metrics& figures, std::optional<double> score) {
  return {{figures.statistics, figures.batch_inflation, figures.fit.probability, false, figures.updates_late}, score};
}

Caveats caveats_of(const Contender& contender, const WinnerRule& rule) {
  Caveats caveats = contender;
  if (caveats.batch_growth <= rule.batch_growth * (1 + kRounding)) caveats.batch_growth = 1;
  if (caveats.fit_probability >= rule.fit_probability) caveats.fit_probability = 1;
  return caveats;
}

Standing standing_of(const std::vector<Contender>& contenders, const WinnerRule& rule) {
  Standing standing{.rule = rule};
  std::vector<std::size_t> order;  // from the highest score on
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    standing.caveats.push_back(caveats_of(contenders[i], rule));
    if (contenders[i].score) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return *contenders[a].score > *contenders[b].score; });
  const auto winner = std::ranges::find_if(order, [&](std::size_t i) { return standing.caveats[i].none(); });
  if (winner != order.end()) standing.winner = *winner;
  const auto price = [&](std::size_t i) {
    const bool no_room = contenders[i].fit_probability < kMayFit;
    return std::tuple(no_room, no_room ? -contenders[i].fit_probability : 0, standing.caveats[i].count());
  };
  if (!standing.winner && !order.empty())
    standing.nearest =
        *std::ranges::min_element(order, [&](std::size_t a, std::size_t b) { return price(a) < price(b); });
  standing.times.assign(contenders.size(), 0);
  for (const std::size_t i : order) standing.times[i] = *contenders[i].score / *contenders[*standing.best()].score;
  name_faster(standing);
  return standing;
}

bool is_decided_by_loss(const RunResult& result) {
  return result.to_loss && result.to_loss->holds && result.to_loss->reached;
}

std::vector<Contender> contenders_of(const std::vector<RunResult>& results, const std::string& baseline) {
  const auto all_have = [&](std::optional<double> Metrics::*speedup) {
    return std::ranges::all_of(results, [&](const RunResult& each) { return (each.*speedup).has_value(); });
  };
  std::optional<double> Metrics::*const score = all_have(&Metrics::over_best_synchronous)
                                                    ? &Metrics::over_best_synchronous
                                                : all_have(&Metrics::speedup_same_batch) ? &Metrics::speedup_same_batch
                                                                                         : &Metrics::speedup;
  // A speedup to the loss is over the baseline as it is written.
  double over_written = 1;
  for (const RunResult& each : results)
    if (each.label == baseline && score != &Metrics::speedup) over_written = *(each.*score);
  std::vector<Contender> contenders;
  for (const RunResult& each : results) {
    Contender contender = contender_of(each, each.speedup ? each.*score : each.tokens_per_second);
    contender.loss_unreached = each.to_loss && each.to_loss->holds && !each.to_loss->reached;
    if (is_decided_by_loss(each)) {
      contender.score = over_written * each.to_loss->speedup;
      contender.statistics = Statistics::kSynchronous;
      contender.batch_growth = 1;
    }
    contenders.push_back(contender);
  }
  return contenders;
}

std::optional<std::size_t> alike_of(const Scenario& scenario, const std::vector<RunResult>& results,
                                    const Standing& standing, const Tuned& tuned) {
  if (!standing.winner || is_decided_by_loss(results[*standing.winner])) return std::nullopt;
  const std::size_t winner = *standing.winner;
  const auto synchronous = [&](std::size_t i) {
    const ScheduleSpec* const spec = schedule_labelled(scenario, results[i].label);
    return spec != nullptr && is_synchronous(*spec);
  };
  std::optional<std::size_t> near;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool other_side = !tuned.synchronous || synchronous(i) != synchronous(winner);
    const bool repeats =
        tuned.synchronous && tuned.synchronous->repeats() && tuned.synchronous->label == results[i].label;
    if (i == winner || !standing.caveats[i].none() || standing.times[i] <= 0 || !other_side || repeats) continue;
    const double spread = ratio_spread(results[i].spread, results[winner].spread);
    if (interval_80(1 / standing.times[i], spread).low <= 1 && (!near || standing.times[i] > standing.times[*near]))
      near = i;
  }
  return near;
}

Standing standing_of(const Scenario& scenario, const std::vector<RunResult>& results, const WinnerRule& rule,
                     const Evaluations& evaluations, const Tuned& tuned) {
  Standing standing = standing_of(contenders_of(results, scenario.baseline), rule);
  if (!standing.best()) return standing;
  const RunResult& best = results[*standing.best()];
  const auto time_at = [&](const RunResult& result, double samples) {
    const ScheduleSpec* const spec = schedule_labelled(scenario, result.label);
    return spec == nullptr ? std::nullopt : time_at_batch(scenario, *spec, samples, evaluations, tuned);
  };
  const double own = best.samples_per_update, own_time = best.update_time.value / own;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunResult& other = results[i];
    const double samples = other.samples_per_update;
    if (is_decided_by_loss(other) || is_decided_by_loss(best) || std::abs(samples / own - 1) < kRounding) continue;
    if (samples > own) {
      if (const auto time = time_at(best, samples)) standing.times[i] = *time * samples / other.update_time.value;
    } else if (const auto time = time_at(other, own)) {
      standing.times[i] = own_time / *time;
    }
  }
  name_faster(standing);
  standing.alike = alike_of(scenario, results, standing, tuned);
  return standing;
}

}  // namespace accosim
