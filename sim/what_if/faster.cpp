#include "sim/what_if/faster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/base/reader.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/changes.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {
namespace {

constexpr double kClearlyFaster = 0.97;
constexpr std::size_t kMostNamed = 3;

struct Way {
  std::string change;
  double ratio;  ///< of the time per sample
};

/// So many times as many micro-batches, each so much smaller; or more of them in a larger global batch.
Change accumulate(int times, bool larger_batch) {
  return [=](const Trial& trial) -> std::optional<Alternative> {
    const Training& training = trial.scenario.training;
    const int steps = training.gradient_accumulation_steps, size = training.micro_batch_size;
    if (trial.spec().micro_batches_per_round > 0 || trial.spec().micro_batch_size > 0 ||
        !has_one_micro_batch(trial.scenario.cluster, training) || steps > kMaxInteger / times)
      return std::nullopt;
    const std::string more = fmt::format("/training/gradient_accumulation_steps={}", steps * times);
    if (larger_batch)
      return Alternative{
          fmt::format("gradient_accumulation_steps {}, {} times the global batch", steps * times, times), {}, {more}};
    if (steps % times != 0 || size > kMaxInteger / times) return std::nullopt;
    return Alternative{
        fmt::format("micro_batch_size {} with gradient_accumulation_steps {}", size * times, steps / times),
        {},
        {fmt::format("/training/micro_batch_size={}", size * times),
         fmt::format("/training/gradient_accumulation_steps={}", steps / times)}};
  };
}

std::vector<Change> changes_of() {
  std::vector<Change> changes = keys_that_hide();
  changes.push_back(schedule(plain_sharded_schedule()));
  changes.push_back(accumulate(2, false));
  changes.push_back(accumulate(4, false));
  changes.push_back(accumulate(2, true));
  return changes;
}

bool surely_fits(const Trial& trial, const Evaluations& evaluations) {
  const int steps = trial.scenario.training.gradient_accumulation_steps;
  const auto kinds = memory_by_kind(evaluations.costs(trial.scenario, trial.spec()), trial.spec(), steps);
  return least_likely(kinds).fit.probability >= WinnerRule{}.fit_probability;
}

}  // namespace

std::string ways_to_hide(const WhatIf& what_if, std::size_t schedule) {
  const Evaluations evaluations = what_if.evaluations().on(NetworkKind::kReference);
  const Trial now = what_if.now(schedule);
  const double before = estimated_time_per_sample(now.scenario, now.spec(), evaluations);
  std::vector<Way> ways;
  for (const Change& change_of : changes_of()) {
    const std::optional<Alternative> change = change_of(now);
    const std::optional<Trial> then = change ? what_if.with(schedule, change->set) : std::nullopt;
    if (!then || !surely_fits(*then, evaluations)) continue;
    const double ratio = estimated_time_per_sample(then->scenario, then->spec(), evaluations) / before;
    if (ratio < kClearlyFaster) ways.push_back({change->text, ratio});
  }
  std::ranges::stable_sort(ways, {}, &Way::ratio);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostNamed, ways.size()); ++i)
    text += fmt::format("{}{} ({:.2f} x the time)", i == 0 ? "" : "; ", ways[i].change, ways[i].ratio);
  return text;
}

}  // namespace accosim
