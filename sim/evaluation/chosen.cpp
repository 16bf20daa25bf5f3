#include "sim/evaluation/chosen.hpp"

#include <fmt/format.h>

#include <numeric>

#include "models/base/nearest.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {

std::vector<int> schedules_named(const Scenario& scenario, const std::string& option,
                                 const std::vector<std::string>& wanted) {
  std::vector<bool> chosen(scenario.schedules.size(), false);
  std::vector<std::string> errors;
  for (const std::string& want : wanted) {
    bool any = false;
    const auto choose = [&](auto&& matches) {
      for (std::size_t i = 0; i < chosen.size(); ++i)
        if (matches(scenario.schedules[i])) chosen[i] = any = true;
    };
    choose([&](const ScheduleSpec& spec) { return spec.label == want; });
    if (!any) choose([&](const ScheduleSpec& spec) { return spec.name == want; });
    if (any) continue;
    std::string labels;
    std::vector<std::string> known;
    for (const ScheduleSpec& spec : scenario.schedules) {
      labels += fmt::format("{}\"{}\"", labels.empty() ? "" : ", ", spec.label);
      known.insert(known.end(), {spec.label, spec.name});
    }
    std::string advice = did_you_mean(want, known);
    if (find_schedule(want) != nullptr)
      advice = fmt::format("add {{\"name\": \"{}\"}} to its \"schedules\"; ", want);
    else if (advice.empty())
      advice = advice_for_schedule(want);
    errors.push_back(fmt::format("{} {}: the scenario has no such schedule; {}its schedules are {}", option,
                                 printable(want), advice, labels));
  }
  if (!errors.empty()) throw ScenarioError(errors);
  std::vector<int> indices;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) indices.push_back(static_cast<int>(i));
  return indices;
}

std::vector<int> chosen_schedules(const Scenario& scenario, const std::vector<std::string>& wanted) {
  if (!wanted.empty()) return schedules_named(scenario, "--schedule", wanted);
  std::vector<int> all(scenario.schedules.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

const ScheduleSpec* schedule_labelled(const Scenario& scenario, const std::string& label) {
  for (const ScheduleSpec& spec : scenario.schedules)
    if (spec.label == label) return &spec;
  return nullptr;
}

const ScheduleSpec& baseline_of(const Scenario& scenario) { return *schedule_labelled(scenario, scenario.baseline); }

JsonValue usual_entry(const ScheduleTraits& traits, const std::string& label, const ScheduleSpec& dtypes) {
  return json_object({{"name", traits.name},
                      {"label", label},
                      {"parameter_dtype", name_of(dtypes.parameter_dtype)},
                      {"gradient_dtype", name_of(dtypes.gradient_dtype)},
                      {"optimizer_dtype", name_of(dtypes.optimizer_dtype)}});
}

}  // namespace accosim
