#include "sim/what_if/what_if.hpp"

#include <utility>

#include "models/read/scenario_tree.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

bool is_of_schedules(const std::string& set) { return set.rfind("/schedules/", 0) == 0; }

/// Nothing where the loader refuses it.
template <class Read>
std::optional<Scenario> taken(const Read& read) {
  try {
    return read();
  } catch (const ScenarioError&) {
    return std::nullopt;
  }
}

}  // namespace

WhatIf::WhatIf(const LoadedScenario& loaded, const Evaluations& evaluations)
    : loaded_(&loaded), evaluations_(evaluations) {}

Trial WhatIf::now(std::size_t schedule) const {
  Trial trial{{}, schedule, scenario()};
  trial.scenario.schedules = {scenario().schedules[schedule]};
  return trial;
}

std::optional<Trial> WhatIf::with(std::size_t schedule, std::vector<std::string> set) const {
  if (loaded_->tree == nullptr) return std::nullopt;  // a scenario that was read from nowhere
  std::vector<std::string> of_ground, of_schedules;
  for (const std::optional<AddedSchedule>* added : {&scenario().best_delayed, &scenario().best_synchronous})
    if (*added && (*added)->index == schedule)
      for (const std::string& each : (*added)->set)
        if (!is_of_schedules(each)) of_ground.push_back(each);
  for (const std::string& each : set) (is_of_schedules(each) ? of_schedules : of_ground).push_back(each);
  const auto [known, anew] = grounds_->try_emplace(of_ground);
  std::optional<Scenario>& ground = known->second;
  if (anew) ground = taken([&] { return ground_with(*loaded_->tree, of_ground); });
  if (!ground) return std::nullopt;
  std::optional<Scenario> alone =
      taken([&] { return alone_on(*ground, *loaded_->tree, scenario(), schedule, of_schedules); });
  if (!alone) return std::nullopt;
  return Trial{std::move(set), schedule, std::move(*alone)};
}

}  // namespace accosim
