#include "sim/what_if/what_if.hpp"

#include <utility>

#include "models/base/statistics.hpp"
#include "models/read/scenario_tree.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/evaluation/chosen.hpp"

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

/// The entry of "schedules" that writes the added schedule down, with its label here.
JsonValue entry_of(const AddedSchedule& added, const LoadedScenario& loaded) {
  JsonValue entry = added.entry;
  if (added.own()) {
    const ScheduleSpec* const own = schedule_labelled(loaded.scenario, added.form);
    JsonValue written = json_object({{"schedules", *loaded.tree->root.find("schedules")}});
    Diagnostics diagnostics;
    for (const std::string& set : added.set) apply_set(written, set, diagnostics);
    entry = written.find("schedules")->elements.at(static_cast<std::size_t>(own - loaded.scenario.schedules.data()));
  }
  entry.set("label", added.label);
  return entry;
}

}  // namespace

WhatIf::WhatIf(const LoadedScenario& loaded, const Evaluations& evaluations, const Tuned& tuned)
    : loaded_(&loaded), evaluations_(evaluations) {
  for (const std::optional<AddedSchedule>* added : {&tuned.delayed, &tuned.synchronous})
    if (loaded.tree != nullptr && *added && (*added)->label != (*added)->form)
      added_.push_back(entry_of(**added, loaded));
}

WhatIf WhatIf::on(NetworkKind network) const {
  WhatIf other = *this;
  other.evaluations_ = evaluations_.on(network);
  return other;
}

Trial WhatIf::now(std::size_t schedule) const {
  Trial trial{{}, schedule, scenario()};
  trial.scenario.schedules = {scenario().schedules[schedule]};
  return trial;
}

std::optional<Trial> WhatIf::with(std::size_t schedule, std::vector<std::string> set) const {
  if (loaded_->tree == nullptr) return std::nullopt;  // a scenario that was read from nowhere
  std::vector<std::string> of_ground, of_schedules;
  for (const std::string& each : set) (is_of_schedules(each) ? of_schedules : of_ground).push_back(each);
  const auto [known, anew] = grounds_->try_emplace(of_ground);
  std::optional<Scenario>& ground = known->second;
  if (anew) ground = taken([&] { return ground_with(*loaded_->tree, of_ground); });
  if (!ground) return std::nullopt;
  std::optional<Scenario> alone =
      taken([&] { return alone_on(*ground, *loaded_->tree, added_, schedule, of_schedules); });
  if (!alone) return std::nullopt;
  return Trial{std::move(set), schedule, std::move(*alone)};
}

std::vector<RunResult> with_bands(const std::vector<std::vector<RunResult>>& by_seed) {
  std::vector<RunResult> results = by_seed.front();
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Of one schedule; absent where any seed lacks the figure.
    const auto band = [&](const auto& figure) -> std::optional<SeedBand> {
      std::vector<double> values;
      for (const std::vector<RunResult>& of_seed : by_seed) {
        const std::optional<double> value = figure(of_seed[i]);
        if (!value) return std::nullopt;
        values.push_back(*value);
      }
      return SeedBand{percentile(values, 0.5), percentile(values, 0.1), percentile(values, 0.9)};
    };
    SeedBands bands{.seeds = static_cast<int>(by_seed.size())};
    bands.update_time = *band([](const RunResult& result) { return result.update_time.value; });
    bands.tokens_per_second = *band([](const RunResult& result) { return result.tokens_per_second; });
    bands.speedup = band([](const RunResult& result) { return result.speedup; });
    bands.speedup_same_batch = band([](const RunResult& result) { return result.speedup_same_batch; });
    results[i].seeds = bands;
  }
  return results;
}

Scenario with_seed(const Scenario& scenario, int number) {
  Scenario other = scenario;
  other.training.unsteady.seed += static_cast<std::uint64_t>(number);
  return other;
}

}  // namespace accosim
