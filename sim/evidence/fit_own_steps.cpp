#include "sim/evidence/fit_own_steps.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/minimise.hpp"
#include "models/price/price.hpp"
#include "models/price/spread.hpp"
#include "sim/evaluation/evaluation.hpp"

namespace accosim {
namespace {

enum : std::size_t { kComputation, kLaunches };

const ScheduleSpec& spec_of(const TimedStep& step) {
  return step.scenario.schedules[static_cast<std::size_t>(step.schedule)];
}

Seconds predicted(const TimedStep& step, const Parameters& factors, NetworkKind network) {
  Scenario scenario = step.scenario;
  for (NodeGroup& group : scenario.cluster.nodes)
    for (Device& each : group.devices) {
      each.step_factor *= factors[kComputation];
      each.launch_interval = factors[kLaunches] * each.launch_interval;
    }
  const Evaluations evaluations(network);
  const Division own = evaluations.divided(scenario, spec_of(step));
  return evaluations.play(own.scenario, own.spec)->measured.update_time;
}

double root_mean_square(const std::vector<double>& logs) {
  const double sum = sum_of<double>(logs, [](const double each) { return each * each; });
  return std::sqrt(sum / static_cast<double>(logs.size()));
}

}  // namespace

OwnStepFit fit_own_steps(const std::vector<TimedStep>& steps, NetworkKind network) {
  const double prior = compute_spread(price(steps.front().scenario, spec_of(steps.front())).kinds.front());
  // minimise() weighs a prior against residuals of kExpectedNoise.
  constexpr double kWider = kExpectedNoise / kStepNoise;
  const std::vector<Parameter> all = {{1, kWider * prior, 0.1, 10}, {1, kWider * kHost, 0.1, 10}};
  const auto residuals = [&](const Parameters& at) {
    return mapped<double>(
        steps, [&](const TimedStep& step) { return std::log(predicted(step, at, network) / step.measured); });
  };
  Parameters best = minimise(residuals, all);

  // The inverse of what priors and steps tell together, [[a, b], [b, c]].
  const double noise = std::max(kStepNoise, root_mean_square(residuals(best)));
  double a = 1 / (prior * prior), b = 0, c = 1 / (kHost * kHost);
  const auto slopes = [&](std::size_t which) {
    const std::vector<double> up = residuals(moved(all, best, which, kDerivativeStep));
    std::vector<double> down = residuals(moved(all, best, which, -kDerivativeStep));
    for (std::size_t i = 0; i < up.size(); ++i) down[i] = (up[i] - down[i]) / (2 * kDerivativeStep * noise);
    return down;
  };
  const std::vector<double> by_kernels = slopes(kComputation), by_launches = slopes(kLaunches);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    a += by_kernels[i] * by_kernels[i];
    b += by_kernels[i] * by_launches[i];
    c += by_launches[i] * by_launches[i];
  }
  const double determinant = a * c - b * b;
  OwnStepFit fit{.computation = {best[kComputation], std::sqrt(c / determinant), prior},
                 .host = {best[kLaunches], std::sqrt(a / determinant), kHost}};
  if (!fit.computation.told()) fit.computation.factor = best[kComputation] = 1;
  if (!fit.host.told()) fit.host.factor = best[kLaunches] = 1;
  fit.left = root_mean_square(residuals(best));
  fit.spread = std::hypot(fit.computation.spread, fit.left, kOtherShapes);
  for (const TimedStep& step : steps)
    fit.rows.push_back({step.label, step.measured, predicted(step, {1, 1}, network),
                        predicted(step, {1, best[kLaunches]}, network), predicted(step, best, network)});
  return fit;
}

}  // namespace accosim
