#include "sim/evidence/step_spreads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "models/price/interval.hpp"
#include "models/price/spread.hpp"
#include "sim/evidence/predict.hpp"

namespace accosim {
namespace {

bool is_step(const PublishedCase& one) {
  return one.scored() && !one.own_machine && !is_memory(one.asked) &&
         (one.group == kTrainingGroup || one.group == kSplitGroup || one.group == kMixedGroup);
}

/// Without what it was widened by.
double own_spread(const ValidationPrediction& predicted, const Scenario& scenario) {
  const double all = std::log(predicted.high / predicted.low) / (2 * kEightyPercent),
               added = step_spread(scenario.cluster, scenario.training.parallel);
  return std::sqrt(std::max(0.0, all * all - added * added));
}

std::string in_words(const std::string& name) {
  return name == kSplitSteps ? " of split models" : name == kMixedSteps ? " on GPUs of several kinds" : "";
}

FittedSpread fitted(const std::string& name, const std::vector<StepError>& errors) {
  const auto count = static_cast<int>(errors.size());
  const double absolute = sum_of<double>(errors, [&](const StepError& each) { return std::abs(each.error) / count; });
  return {{name, missing_spread(errors), count},
          fmt::format("accosim fit, {} training steps{}; mean absolute log of measured over predicted {:.3f}", count,
                      in_words(name), absolute)};
}

}  // namespace

double missing_spread(const std::vector<StepError>& errors) {
  if (errors.empty()) return 0;
  double absolute = 0, squares = 0;
  for (const StepError& each : errors) {
    absolute += std::abs(each.error);
    squares += each.spread * each.spread;
  }
  const auto count = static_cast<double>(errors.size());
  absolute /= count;
  return std::sqrt(std::max(0.0, std::numbers::pi / 2 * absolute * absolute - squares / count));
}

std::vector<FittedSpread> fit_step_spreads(const Published& published, const Refit& refit, int jobs,
                                           NetworkKind network) {
  std::vector<const PublishedCase*> cases;
  for (const PublishedCase& one : published.cases)
    if (is_step(one)) cases.push_back(&one);
  const std::vector<ValidationPrediction> predicted = predict_all(cases, refit, jobs, network);
  std::vector<StepError> errors, split;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    errors.push_back(
        {std::log(cases[i]->measured / predicted[i].value), own_spread(predicted[i], *cases[i]->scenario)});
    if (cases[i]->group == kSplitGroup) split.push_back(errors.back());
  }
  std::vector<FittedSpread> spreads;
  if (!split.empty()) spreads.push_back(fitted(kSplitSteps, split));
  std::map<std::string, std::vector<StepError>> of;  // by the device of all, or what mixes are called
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool is_split = !spreads.empty() && model_ranks_of(cases[i]->scenario->training.parallel) > 1;
    if (is_split) errors[i].spread = std::hypot(errors[i].spread, spreads.front().spread.spread);
    of[cases[i]->group == kMixedGroup ? kMixedSteps : cases[i]->device].push_back(errors[i]);
  }
  if (of.contains(kMixedSteps)) spreads.push_back(fitted(kMixedSteps, of[kMixedSteps]));
  for (const auto& [name, own] : of) {
    if (name == kMixedSteps || own.size() < kFewestSteps) continue;
    if (FittedSpread spread = fitted(name, own); spread.spread.spread > 0) spreads.push_back(std::move(spread));
  }
  return spreads;
}

}  // namespace accosim
