// Which of a scenario's schedules are meant, and how one is written that is not among them.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

/// Indices of the schedules that --schedule names by label or by name; all without it. Throws ScenarioError.
std::vector<int> chosen_schedules(const Scenario& scenario, const std::vector<std::string>& wanted);

/// Those that `wanted` names, by label or by name; `option` is what the messages call it. Throws ScenarioError.
std::vector<int> schedules_named(const Scenario& scenario, const std::string& option,
                                 const std::vector<std::string>& wanted);

/// The schedule of that label, nullptr where there is none.
const ScheduleSpec* schedule_labelled(const Scenario& scenario, const std::string& label);
/// The one that the others are compared with.
const ScheduleSpec& baseline_of(const Scenario& scenario);

/// An entry of "schedules": that schedule in its usual form, with the dtypes of another.
JsonValue usual_entry(const ScheduleTraits& traits, const std::string& label, const ScheduleSpec& dtypes);

}  // namespace accosim
