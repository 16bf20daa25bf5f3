#include "sim/evidence/fit_own_steps.hpp"

#include <cmath>

#include "models/base/minimise.hpp"
#include "models/price/spread.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "sim/evaluation/evaluation.hpp"

namespace accosim {
namespace {

enum : std::size_t { kComputation, kLaunches };

Seconds predicted(const TimedStep& step, const std::string& device, const Parameters& factors, NetworkKind network) {
  Scenario scenario = step.scenario;
  for (NodeGroup& group : scenario.cluster.nodes)
    for (Device& each : group.devices) {
      if (each.name != device) continue;
      each.step_factor *= factors[kComputation];
      each.launch_interval = factors[kLaunches] * each.launch_interval;
    }
  const Evaluations evaluations(network);
  const Division own = evaluations.divided(scenario, scenario.schedules[static_cast<std::size_t>(step.schedule)]);
  return evaluations.play(own.scenario, own.spec)->measured.update_time;
}

}  // namespace

OwnStepFit fit_own_steps(const std::vector<TimedStep>& steps, const std::string& device, NetworkKind network) {
  // minimise() weighs a prior against residuals of kExpectedNoise.
  constexpr double kWider = kExpectedNoise / kStepNoise;
  const std::vector<Parameter> all = {{1, kWider * kOperators, 0.3, 3}, {1, kWider * kHost, 0.1, 10}};
  const auto residuals = [&](const Parameters& at) {
    std::vector<double> logs;
    for (const TimedStep& step : steps) logs.push_back(std::log(predicted(step, device, at, network) / step.measured));
    return logs;
  };
  const Parameters best = minimise(residuals, all);
  OwnStepFit fit;
  for (const double each : residuals(best)) fit.left += each * each / static_cast<double>(steps.size());
  fit.left = std::sqrt(fit.left);

  // The inverse of what prior and steps tell together, [[a, b], [b, c]].
  const double noise = std::max(kStepNoise, fit.left);
  double a = 1 / (kOperators * kOperators), b = 0, c = 1 / (kHost * kHost);
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
  fit.computation = {best[kComputation], std::sqrt(c / determinant), kOperators};
  fit.host = {best[kLaunches], std::sqrt(a / determinant), kHost};
  fit.spread = std::hypot(fit.computation.spread, fit.left, kOtherShapes);
  for (const TimedStep& step : steps)
    fit.rows.push_back({step.label, step.measured, predicted(step, device, {1, 1}, network),
                        predicted(step, device, {1, best[kLaunches]}, network),
                        predicted(step, device, best, network)});
  return fit;
}

}  // namespace accosim
