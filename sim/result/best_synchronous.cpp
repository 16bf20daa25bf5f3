#include "sim/result/best_synchronous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "models/base/json.hpp"
#include "models/base/stages.hpp"
#include "models/read/check_schedules.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/result/run.hpp"
#include "sim/result/winner.hpp"

namespace accosim {
namespace {

/// A synchronous schedule that might be the best.
struct Candidate {
  ScheduleSpec spec;
  AddedSchedule added;
};

/// A form of a schedule, read as its framework's; nothing where it cannot be had here.
std::optional<Candidate> candidate_of(const Scenario& scenario, const ScheduleTraits& traits, const TunedForm& form,
                                      const ScheduleSpec& dtypes) {
  Candidate candidate;
  candidate.added.form = *form.form == '\0' ? traits.name : fmt::format("{}, {}", traits.name, form.form);
  if (form.framework != scenario.training.framework)
    candidate.added.set = {
        fmt::format("/training/framework={}", name_of(form.framework)),
        fmt::format("/training/optimizer_implementation={}", name_of(scenario.training.optimizer_implementation))};
  candidate.added.entry = fmt::format(
      R"({{"name": "{}", "label": {}, "parameter_dtype": "{}", "gradient_dtype": "{}", "optimizer_dtype": "{}"{}{}}})",
      traits.name, quoted_json(candidate.added.form), name_of(dtypes.parameter_dtype), name_of(dtypes.gradient_dtype),
      name_of(dtypes.optimizer_dtype), *form.keys == '\0' ? "" : ", ", form.keys);
  Training training = scenario.training;
  training.framework = form.framework;
  JsonDocument document = parse_json(candidate.added.entry, "");
  Diagnostics diagnostics;
  candidate.spec = read_schedule(document.root, "", training, scenario.cluster, diagnostics);
  if (!diagnostics.errors.empty()) return std::nullopt;
  return candidate;
}

std::vector<TunedForm> forms_of(const ScheduleTraits& traits, const Training& training) {
  if (training.implementation != Implementation::kAccocal) return traits.tuned;
  if (traits.tuned.empty() || traits.accocal == AccocalRuns::kNowhere) return {};
  return {{training.framework, "", ""}};  // its own step has none of the choices
}

std::vector<Candidate> tuned_candidates(const Scenario& scenario, const ScheduleSpec& dtypes) {
  std::vector<Candidate> candidates;
  for (const auto* const rows : {&schedules(), &schedules_of_frameworks()})
    for (const ScheduleTraits& traits : *rows)
      for (const TunedForm& form : forms_of(traits, scenario.training))
        if (std::optional<Candidate> each = candidate_of(scenario, traits, form, dtypes))
          candidates.push_back(std::move(*each));
  return candidates;
}

/// How unlikely it fits, where that is not likely enough, then seconds a sample.
using Badness = std::tuple<double, double>;

/// Less is better. Nothing where it cannot be played.
std::optional<Badness> badness_of(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations,
                                  bool estimated) {
  const Scenario own = evaluations.divided(scenario, spec);
  if (!can_be_played(spec, own.cluster, own.training, own.model)) return std::nullopt;
  const int steps = own.training.gradient_accumulation_steps;
  const auto kinds = memory_by_kind(evaluations.costs(own, spec), spec, steps);
  const double fits = std::min(least_likely(kinds).fit.probability, WinnerRule{}.fit_probability);
  if (estimated) return Badness(-fits, estimated_time_per_sample(own, spec, evaluations));
  const auto play = evaluations.play(own, spec);
  return Badness(-fits, play->measured.update_time.value / samples_per_update(*play));
}

/// nullptr where there is none.
template <class BadnessOf>
const Candidate* best_of(const std::vector<Candidate>& candidates, const BadnessOf& badness_of) {
  const Candidate* best = nullptr;
  Badness least;
  for (const Candidate& each : candidates) {
    const std::optional<Badness> badness = badness_of(each.spec);
    if (!badness || (best != nullptr && !(*badness < least))) continue;
    best = &each;
    least = *badness;
  }
  return best;
}

}  // namespace

void add_best_synchronous(Scenario& scenario, std::vector<int>& chosen, const Evaluations& evaluations) {
  const Stage stage("looking for the best synchronous schedule");
  const bool asked = std::any_of(chosen.begin(), chosen.end(), [&](int index) {
    return !is_synchronous(scenario.schedules[static_cast<std::size_t>(index)]);
  });
  if (!asked || scenario.best_synchronous) return;
  // Which of the scenario's schedules are chosen changes nothing.
  const auto challenger = std::find_if_not(scenario.schedules.begin(), scenario.schedules.end(), is_synchronous);
  Scenario undrawn = scenario;
  undrawn.training.unsteady = {};
  const std::vector<Candidate> tuned = tuned_candidates(scenario, *challenger);
  std::vector<Candidate> finalists;
  for (const ScheduleSpec& spec : scenario.schedules)
    if (is_synchronous(spec)) finalists.push_back({spec, {0, spec.label, "", {}}});
  const Evaluations without_contention = evaluations.on(NetworkKind::kReference);
  const auto estimated = [&](const ScheduleSpec& spec) { return badness_of(undrawn, spec, without_contention, true); };
  if (const Candidate* const first = best_of(tuned, estimated)) finalists.push_back(*first);
  const auto played = [&](const ScheduleSpec& spec) { return badness_of(scenario, spec, evaluations, false); };
  const Candidate* const best = best_of(finalists, played);
  if (best == nullptr) return;
  scenario.best_synchronous = best->added;
  scenario.best_synchronous->index = scenario.schedules.size();
  chosen.push_back(static_cast<int>(scenario.schedules.size()));
  scenario.schedules.push_back(best->spec);
  scenario.schedules.back().label = fmt::format("{}: {}", kBestSynchronous, best->added.form);
}

}  // namespace accosim
