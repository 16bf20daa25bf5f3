#include "sim/evidence/time_to_loss.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/evaluation/chosen.hpp"

namespace accosim {
namespace {

/// The measured algorithm that a schedule trains as; empty: accocal has none.
std::string algorithm_of(const ScheduleSpec& spec) {
  const ScheduleTraits& traits = traits_of(spec);
  const ScheduleTraits* const inner = inner_schedule(spec);
  const bool as_released = spec.form == MethodForm::kCode && traits.meets_beside;  // it hides less, and is less late
  const bool e3m0 = spec.outer_dtype == OuterDtype::kE3m0, fragments = traits.in_fragments;
  if (as_released || (inner != nullptr && inner->delayed) || (e3m0 && !fragments)) return "";
  std::string name = traits.trains_as;
  if (name.empty()) return name;
  if (!spec.rollback_estimate && *traits.trains_as_keeping != '\0') name = traits.trains_as_keeping;
  if (spec.estimate == EstimateOf::kLocal) name += "-local";
  if (traits.delayed && spec.delay > 1) name += fmt::format("-{}", spec.delay);
  if (e3m0) name += "-e3m0";
  return name;
}

using Curve = MeasuredConvergence::Algorithm;

/// What else of a local schedule is not as it was measured.
void add_other_options(const ScheduleSpec& spec, const Curve& measured, int layers, std::vector<std::string>& all) {
  const ScheduleTraits& traits = traits_of(spec);
  if (measured.outer_every && spec.outer_every > 0 && spec.outer_every != *measured.outer_every)
    all.push_back(
        fmt::format("an outer step every {} updates, here every {}", *measured.outer_every, spec.outer_every));
  if (traits.takes("delay") && measured.delay && spec.delay != *measured.delay)
    all.push_back(fmt::format("a delay of {}, here {}", *measured.delay, spec.delay));
  if (traits.takes("mixing") && measured.mixing && spec.mixing != *measured.mixing)
    all.push_back(fmt::format("mixing of {:.3g}, here {:.3g}", *measured.mixing, spec.mixing));
  if (traits.in_fragments && measured.fragments && fragments_of(spec, layers) != *measured.fragments)
    all.push_back(fmt::format("{} fragments, here {}", *measured.fragments, fragments_of(spec, layers)));
  if (spec.outer_dtype == OuterDtype::kInt8) all.push_back("exchanges in fp32, here in int8");
}

/// What the measurements of one size say of the user's runs.
class MeasuredSize {
 public:
  /// `critical_batch`: the user's own, 0 where there is none.
  MeasuredSize(const MeasuredConvergence& convergence, const RunResult& base, const Scenario& scenario,
               double critical_batch)
      : convergence_(convergence),
        base_(base),
        own_(critical_batch > 0),
        parameters_(static_cast<double>(parameter_count(scenario.model))),
        layers_(scenario.model.num_hidden_layers + 2),
        sample_(convergence.tokens_per_sample / scenario.training.sequence_length),
        critical_(own_ ? critical_batch : sample_ * convergence.critical_batch) {}

  /// nullptr: nothing was measured under this name.
  const Curve* find(const std::string& name) const {
    const std::vector<Curve>& all = convergence_.algorithms;
    const auto found = std::ranges::find(all, name, &Curve::name);
    return found == all.end() ? nullptr : &*found;
  }

  TimeToLoss time_to_loss(const RunResult& result, const Curve& measured) const {
    const double base_time = weighed_time(base_), time = weighed_time(result);
    const double batch = growth(result.samples_per_update) / growth(base_.samples_per_update);
    TimeToLoss to_loss;
    if (measured.samples) {
      to_loss.samples = *measured.samples * batch;
      to_loss.speedup = base_time / (time * *measured.samples);
      to_loss.speedup_low = base_time / (time * *measured.high);
      to_loss.speedup_high = base_time / (time * *measured.low);
    } else {
      to_loss.reached = false;
      to_loss.samples = measured.at_least * batch;
      to_loss.speedup = to_loss.speedup_high = base_time / (time * measured.at_least);
    }
    return to_loss;
  }

  /// What of a schedule's run is not as it was measured; empty: nothing.
  std::string outside(const RunResult& result, const ScheduleSpec& spec, const Curve& measured) const {
    std::vector<std::string> all;
    if (parameters_ != convergence_.parameters)
      all.push_back(
          fmt::format("a model of {:.3g} parameters, this one has {:.3g}", convergence_.parameters, parameters_));
    if (!holds_at(result))
      all.push_back(fmt::format("batches of {:.3g} to {:.3g} samples of this length, these are {:.3g}", least(), most(),
                                result.samples_per_update));
    if (traits_of(spec).local) {
      const int inner = measured.inner_updates > 0 ? measured.inner_updates : convergence_.inner_updates;
      if (inner > 0 && spec.inner_updates != inner)
        all.push_back(fmt::format("{} inner updates, here {}", inner, spec.inner_updates));
      add_other_options(spec, measured, layers_, all);
      if (island_of(spec) != Island::kGpu)
        all.push_back(fmt::format("replicas of one GPU, here of a {}", name_of(island_of(spec))));
    }
    return fmt::format("{}", fmt::join(all, "; "));
  }

  /// Whether model or batch are beyond ten times the range that was measured.
  bool is_far(const RunResult& result) const {
    constexpr double kFar = 10;
    const auto beyond = [](double value, double low, double high) { return value * kFar < low || value > kFar * high; };
    return beyond(parameters_, convergence_.parameters, convergence_.parameters) ||
           (!own_ && beyond(result.samples_per_update, least(), most()));
  }

  /// Whether batches like this run's were measured, or the user knows what they cost.
  bool holds_at(const RunResult& result) const {
    return own_ || (result.samples_per_update >= least() && result.samples_per_update <= most());
  }

 private:
  double least() const { return sample_ * convergence_.least_batch; }
  double most() const { return sample_ * convergence_.most_batch; }
  double growth(double batch) const { return critical_ > 0 ? 1 + batch / critical_ : 1; }
  /// Of a sample, with what its batch makes it worth.
  double weighed_time(const RunResult& result) const {
    return result.update_time.value / result.samples_per_update * growth(result.samples_per_update);
  }

  const MeasuredConvergence& convergence_;
  const RunResult& base_;
  bool own_;
  double parameters_;
  int layers_;       // the embedding and the head among them
  double sample_;    // of the user's, by the tokens that they hold
  double critical_;  // batch, in the user's samples
};

/// nullptr, after a warning that says why: there is no measurement of it.
const Curve* measured_as(const std::string& name, const MeasuredSize& measured, RunResult& result) {
  const Curve* const found = name.empty() ? nullptr : measured.find(name);
  if (name.empty())
    result.warnings.push_back({"convergence_unknown", "accocal has no algorithm that trains as this schedule does",
                               "judge it by its time per token, and by what its authors say of its losses"});
  else if (found == nullptr)
    result.warnings.push_back({"convergence_unknown", fmt::format("the convergence file says nothing of {}", name),
                               "measure it with accocal converge, if that has it (accocal converge --help); else judge "
                               "it by its time per token"});
  return found;
}

}  // namespace

void add_time_to_loss(std::vector<RunResult>& results, const RunResult& base, const Scenario& scenario,
                      const MeasuredConvergence& measured_sizes, double critical_batch) {
  const double parameters = static_cast<double>(parameter_count(scenario.model));
  const MeasuredSize measured(nearest_size(measured_sizes, parameters), base, scenario, critical_batch);
  for (RunResult& result : results) {
    const ScheduleSpec& spec = *schedule_labelled(scenario, result.label);
    const Curve* const curve = measured_as(algorithm_of(spec), measured, result);
    if (curve == nullptr) continue;
    const std::string outside = measured.outside(result, spec, *curve);
    result.to_loss = measured.time_to_loss(result, *curve);
    result.to_loss->holds = outside.empty() && measured.holds_at(base);
    result.to_loss->far = measured.is_far(result);
    if (!outside.empty())
      result.warnings.push_back({"convergence_extrapolates", "the time to a loss was measured on " + outside,
                                 "take it as a direction; measure your own with accocal converge, or give your own "
                                 "--critical-batch"});
  }
}

}  // namespace accosim
