#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/result/run.hpp"
#include "sim/study/tuned.hpp"
#include "sim/sweep/hash.hpp"
#include "sim/sweep/knob_axis.hpp"
#include "sim/sweep/summary.hpp"
#include "sim/what_if/warnings.hpp"
#include "sim/what_if/ways_to_fit.hpp"

namespace accosim {
namespace {

std::vector<std::string> all_settings(const Sweep& sweep, const std::vector<Axis>& axes, const Coordinates& point) {
  // What is set inside of a part that an axis replaces is set in each of them.
  const auto inside = [&](const std::string& set) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return axis.set.empty() && set.rfind(axis.pointer + "/", 0) == 0; });
  };
  std::vector<std::string> settings;
  for (const std::string& set : sweep.set)
    if (!inside(set)) settings.push_back(set);
  for (std::string& setting : settings_of(axes, point)) settings.push_back(std::move(setting));
  for (const std::string& set : sweep.set)
    if (inside(set)) settings.push_back(set);
  return settings;
}

bool is_grid(const Space& space) {
  return space.kind == Space::Kind::kAxis ||
         (space.kind == Space::Kind::kProduct && std::all_of(space.parts.begin(), space.parts.end(), is_grid));
}

/// The scenario as it is resolved, without the places that its values come from: those are another machine's.
std::string without_places(const std::string& resolved) {
  JsonDocument document = parse_json(resolved, "");
  document.root.erase("origins");
  return dump_json(document.root);
}

}  // namespace

KnobAxis knob_axes(const Sweep& sweep) {
  return [&sweep](const std::string& name) {
    const LoadedScenario loaded = load_scenario(sweep.scenario, sweep.set);
    std::vector<std::size_t> indices;
    for (const int index : chosen_schedules(loaded.scenario, sweep.schedules))
      indices.push_back(static_cast<std::size_t>(index));
    return knob_axis(loaded, indices, name);
  };
}

namespace {

LoadedScenario first_of(const Sweep& sweep) {
  return load_scenario(sweep.scenario, all_settings(sweep, axes_of(sweep.space), point_of(sweep.space, 0)));
}

}  // namespace

std::vector<std::string> files_of(const Sweep& sweep) { return first_of(sweep).files; }

bool first_is_priced(const Sweep& sweep) { return price_per_hour(first_of(sweep).scenario.cluster).has_value(); }

Heading heading_of(const Sweep& sweep, NetworkKind network) {
  Heading heading;
  heading.version = kVersion;
  heading.axes = axes_of(sweep.space);
  heading.points = size_of(sweep.space);
  heading.grid = is_grid(sweep.space);
  heading.side_by_side = sweep.space.kind == Space::Kind::kZip;
  heading.fair = sweep.fair;
  check_apart(heading.axes);
  const LoadedScenario first = first_of(sweep);
  heading.scenario = first.scenario.name;
  const auto varies = [&](std::string_view place) {
    return std::any_of(heading.axes.begin(), heading.axes.end(),
                       [&](const Axis& axis) { return axis.pointer.rfind(place, 0) == 0; });
  };
  const Training& training = first.scenario.training;
  if (!varies("/model")) heading.trains.model = first.scenario.model.name;
  if (!varies("/training/train_tokens")) heading.trains.train_tokens = training.train_tokens;
  if (!varies("/training/sequence_length")) heading.trains.sequence_length = training.sequence_length;
  heading.baseline = first.scenario.baseline;
  for (const int index : chosen_schedules(first.scenario, sweep.schedules)) {
    const ScheduleSpec& spec = first.scenario.schedules[index];
    heading.schedules.push_back(spec.label);
    heading.tuned = heading.tuned || (sweep.tuned && !is_synchronous(spec));
  }
  if (heading.tuned) {
    heading.schedules.emplace_back(kBestDelayedRow);
    heading.schedules.emplace_back(kBestSynchronousRow);
  }
  // All that decides what the points come to: the scenario with its files, the order of the points, the network.
  std::string points;
  for (std::size_t i = 0; i < std::min<std::size_t>(heading.points, 1000); ++i)
    for (const std::size_t at : point_of(sweep.space, i)) points += fmt::format("{} ", at);
  std::string set;
  for (const std::string& each : sweep.set) set += each + "\n";
  for (const Axis& axis : heading.axes)
    for (const std::vector<std::string>& value : axis.set)
      for (const std::string& each : value) set += each + "\n";
  Heading without_id = heading;
  for (Axis& axis : without_id.axes) axis.label.clear();  // a word changes no point
  const std::uint64_t id = hash_of(line_of(without_id) + without_places(first.resolved()) + set + points +
                                   (network == NetworkKind::kSimgrid ? "simgrid" : "reference"));
  heading.id = fmt::format("{:016x}", id);
  add_labels(heading.axes, parse_json(first.resolved(), "").root);
  return heading;
}

namespace {

/// Where no schedule fits; it is looked for only there, since it takes as long as some comparisons.
std::optional<FittingWay> way_to_fit(std::vector<RunResult>& results, const LoadedScenario& loaded,
                                     const std::vector<int>& indices, const Evaluations& evaluations) {
  if (std::any_of(results.begin(), results.end(), [](const RunResult& result) { return result.fits(); })) return {};
  const WhatIf what_if(loaded, evaluations);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].ways_to_fit = ways_to_fit(what_if, static_cast<std::size_t>(indices[i]));
  const std::optional<FastestFit> fastest = fastest_fit(results);
  if (!fastest) return {};
  return FittingWay{static_cast<std::size_t>(fastest->result - results.data()), fastest->change,
                    fastest->total_time.value};
}

}  // namespace

Row play_point(const Sweep& sweep, const Heading& heading, std::size_t index, NetworkKind network, PartCache& cache) {
  Row row{index, point_of(sweep.space, index), {}, {}, {}, {}};
  try {
    LoadedScenario loaded = load_scenario(sweep.scenario, all_settings(sweep, heading.axes, row.point));
    Scenario& scenario = loaded.scenario;
    std::vector<int> indices;
    for (std::size_t i = 0; i < heading.schedules.size() - (heading.tuned ? 2 : 0); ++i) {
      const ScheduleSpec* const spec = schedule_labelled(scenario, heading.schedules[i]);
      if (spec == nullptr) throw BadInput(fmt::format("there is no schedule \"{}\" here", heading.schedules[i]));
      indices.push_back(static_cast<int>(spec - scenario.schedules.data()));
    }
    const Evaluations evaluations(network);
    if (heading.tuned) {
      add_tuned_columns(scenario, indices, evaluations);
      if (!scenario.best_synchronous)
        throw BadInput("no synchronous schedule can be played here; leave the best one out with --no-tuned");
      row.best_synchronous = scenario.best_synchronous->name();
      row.best_delayed = scenario.best_delayed->name();
    }
    std::vector<RunResult> results = compare(scenario, indices, evaluations);
    row.way_to_fit = way_to_fit(results, loaded, indices, evaluations);
    row.schedules.assign(results.begin(), results.end());
    for (const Warning& each : cautions_of(scenario, results.front().costs))
      row.cautions.push_back(each.code + ": " + each.message);
    if (heading.fair) add_fair(row, loaded, indices, results, evaluations, cache);
  } catch (const ScenarioError& error) {
    row.failure = error.errors.front();
  } catch (const BadInput& error) {
    row.failure = error.what();
  }
  return row;
}

}  // namespace accosim
