#include "sim/evidence/time_to_loss.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/spec/model.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/chosen.hpp"

namespace accosim {
namespace {

/// The measured algorithm that a schedule trains as.
std::string algorithm_of(const ScheduleSpec& spec) {
  const ScheduleTraits& traits = traits_of(spec);
  std::string name = traits.trains_as;
  if (name.empty()) return name;
  if (!spec.rollback_estimate && *traits.trains_as_keeping != '\0') name = traits.trains_as_keeping;
  if (spec.estimate == EstimateOf::kLocal) name += "-local";
  if (traits.delayed && spec.delay > 1) name += fmt::format("-{}", spec.delay);
  if (spec.outer_dtype == OuterDtype::kE3m0) name += "-e3m0";
  return name;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size)
void add_time_to_loss(std::vector<RunResult>& results, const RunResult& base, const Scenario& scenario,
                      const MeasuredConvergence& measured_sizes, double critical_batch) {
  const double parameters = static_cast<double>(parameter_count(scenario.model));
  const MeasuredConvergence& convergence = nearest_size(measured_sizes, parameters);
  const bool own = critical_batch > 0;
  // Of the user's samples, by the tokens that they hold.
  const double sample = convergence.tokens_per_sample / scenario.training.sequence_length;
  const double critical = own ? critical_batch : sample * convergence.critical_batch;
  const auto growth = [&](double batch) { return critical > 0 ? 1 + batch / critical : 1; };
  const auto samples_ratio = [&](const std::string& name) {
    const auto found = std::find_if(convergence.algorithms.begin(), convergence.algorithms.end(),
                                    [&](const auto& each) { return each.name == name; });
    return found == convergence.algorithms.end() ? nullptr : &*found;
  };
  const double base_time = base.update_time.value / base.samples_per_update * growth(base.samples_per_update);
  for (RunResult& result : results) {
    const ScheduleSpec& spec = *schedule_labelled(scenario, result.label);
    const std::string name = algorithm_of(spec);
    const MeasuredConvergence::Algorithm* measured = samples_ratio(name);
    if (name.empty()) {
      result.warnings.push_back({"convergence_unknown", "accocal has no algorithm that trains as this schedule does",
                                 "judge it by its time per token, and by what its authors say of its losses"});
      continue;
    }
    if (measured == nullptr) {
      result.warnings.push_back({"convergence_unknown", fmt::format("the convergence file says nothing of {}", name),
                                 "measure it with accocal converge"});
      continue;
    }
    const double time = result.update_time.value / result.samples_per_update * growth(result.samples_per_update);
    const double batch = growth(result.samples_per_update) / growth(base.samples_per_update);
    TimeToLoss to_loss;
    if (measured->samples) {
      to_loss.samples = *measured->samples * batch;
      to_loss.speedup = base_time / (time * *measured->samples);
      to_loss.speedup_low = base_time / (time * *measured->high);
      to_loss.speedup_high = base_time / (time * *measured->low);
    } else {
      to_loss.reached = false;
      to_loss.samples = measured->at_least * batch;
      to_loss.speedup = to_loss.speedup_high = base_time / (time * measured->at_least);
    }
    std::string outside;
    const auto add = [&](const std::string& what) { outside += (outside.empty() ? "" : "; ") + what; };
    if (parameters != convergence.parameters)
      add(fmt::format("a model of {:.3g} parameters, this one has {:.3g}", convergence.parameters, parameters));
    const double least = sample * convergence.least_batch, most = sample * convergence.most_batch;
    if (!own && (result.samples_per_update < least || result.samples_per_update > most))
      add(fmt::format("batches of {:.3g} to {:.3g} samples of this length, these are {:.3g}", least, most,
                      result.samples_per_update));
    const int inner = measured->inner_updates > 0 ? measured->inner_updates : convergence.inner_updates;
    if (traits_of(spec).local && inner > 0 && spec.inner_updates != inner)
      add(fmt::format("{} inner updates, here {}", inner, spec.inner_updates));
    if (traits_of(spec).local && island_of(spec) != Island::kGpu)
      add(fmt::format("replicas of one GPU, here of a {}", name_of(island_of(spec))));
    const bool base_inside = own || (base.samples_per_update >= least && base.samples_per_update <= most);
    to_loss.holds = outside.empty() && base_inside;
    result.to_loss = to_loss;
    if (!outside.empty())
      result.warnings.push_back({"convergence_extrapolates", "the time to a loss was measured on " + outside,
                                 "take it as a direction; measure your own with accocal converge, or give your own "
                                 "--critical-batch"});
  }
}

}  // namespace accosim
