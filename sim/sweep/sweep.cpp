#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/spec/scenario_error.hpp"
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
  const auto is_inside = [&](const std::string& set) {
    return std::ranges::any_of(
        axes, [&](const Axis& axis) { return axis.set.empty() && set.rfind(axis.pointer + "/", 0) == 0; });
  };
  std::vector<std::string> settings, inside;
  for (const std::string& set : sweep.set) (is_inside(set) ? inside : settings).push_back(set);
  for (const std::vector<std::string>& more : {settings_of(axes, point), inside})
    settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

bool is_grid(const Space& space) {
  return space.kind == Space::Kind::kAxis ||
         (space.kind == Space::Kind::kProduct && std::ranges::all_of(space.parts, is_grid));
}

/// The scenario as it is resolved, without the places that its values come from: those are another machine's.
std::string without_places(const std::string& resolved) {
  JsonDocument document = parse_json(resolved, "");
  document.root.erase("origins");
  return dump_json(document.root);
}

/// What all points are held against: what the scenario names as it is written, also where the first point lacks it.
std::string baseline_of(const Sweep& sweep, const LoadedScenario& first) {
  if (first.left_out.empty()) return first.scenario.baseline;
  try {
    return load_scenario(sweep.scenario, sweep.set).scenario.baseline;
  } catch (const ScenarioError&) {
    return first.scenario.baseline;
  }
}

/// Labels of the schedules that are asked for, and whether they are synchronous; last those that cannot be had at the
/// first point, and may be at others.
std::vector<std::pair<std::string, bool>> asked_for(const LoadedScenario& first, std::vector<std::string> words) {
  std::vector<std::pair<std::string, bool>> out, all;
  const bool any = words.empty();
  for (const LeftOutSchedule& each : first.left_out) {
    const auto names = [&](const std::string& word) { return word == each.label || word == each.name; };
    if (!any && std::ranges::none_of(words, names)) continue;
    out.emplace_back(each.label, is_synchronous(ScheduleSpec{.name = each.name}));
    const auto names_no_other = [&](const std::string& word) {
      const std::vector<ScheduleSpec>& others = first.scenario.schedules;
      return names(word) && std::ranges::none_of(others, [&](const ScheduleSpec& other) {
               return word == other.label || word == other.name;
             });
    };
    std::erase_if(words, names_no_other);
  }
  if (any || !words.empty())
    for (const int index : chosen_schedules(first.scenario, words)) {
      const ScheduleSpec& spec = first.scenario.schedules[index];
      all.emplace_back(spec.label, is_synchronous(spec));
    }
  all.insert(all.end(), out.begin(), out.end());
  return all;
}

/// Where no schedule fits; it is looked for only there, since it takes as long as some comparisons.
std::optional<FittingWay> way_to_fit(std::vector<RunResult>& results, const WhatIf& what_if,
                                     const std::vector<int>& indices) {
  if (std::ranges::any_of(results, &RunResult::fits)) return {};
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].ways_to_fit = ways_to_fit(what_if, static_cast<std::size_t>(indices[i]));
  const std::optional<FastestFit> fastest = fastest_fit(results);
  if (!fastest) return {};
  return FittingWay{static_cast<std::size_t>(fastest->result - results.data()), fastest->change,
                    fastest->total_time.value};
}

/// Of the schedule that communication keeps waiting for the largest part of its update: what is said of it holds for
/// the others where they wait at all.
Binding binding_at(const Scenario& scenario, const std::vector<int>& indices, const std::vector<RunResult>& results,
                   const Evaluations& evaluations) {
  const auto waits = [](const RunResult& each) { return each.exposed_communication / each.update_time; };
  const auto most = std::ranges::max_element(results, {}, waits) - results.begin();
  return binding_of(*evaluations.play(scenario, scenario.schedules[indices[most]]));
}

/// Adds the tuned schedules to those of a point, or says why there are none.
Tuned add_tuned_to(Row& row, Scenario& scenario, std::vector<int>& indices, std::vector<std::size_t>& places,
                   const Evaluations& evaluations) {
  const std::size_t delayed = row.left_out.size() - 2, synchronous = delayed + 1;
  const bool any_delayed =
      std::ranges::any_of(indices, [&](int index) { return !is_synchronous(scenario.schedules[index]); });
  if (!any_delayed) row.left_out[delayed] = "no delayed or local schedule can be had here";
  Tuned tuned = add_tuned(scenario, indices, evaluations, any_delayed);
  if (!tuned.synchronous) {
    row.left_out[synchronous] = "no synchronous schedule can be had here";
    if (any_delayed) row.left_out[delayed] = "no synchronous schedule can be had here to hold it against";
    return tuned;
  }
  row.best_synchronous = tuned.synchronous->name();
  if (any_delayed) row.best_delayed = tuned.delayed->name();
  if (any_delayed) places.push_back(delayed);
  places.push_back(synchronous);
  return tuned;
}

/// Puts what was played to its place among the columns of the heading.
void spread_out(Row& row, const std::vector<std::size_t>& places) {
  std::vector<Metrics> all(row.left_out.size(), no_figures());
  for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = row.schedules[i];
  row.schedules = std::move(all);
  if (row.alone) row.alone->schedule = places[row.alone->schedule];
  if (row.way_to_fit) row.way_to_fit->schedule = places[row.way_to_fit->schedule];
  if (std::ranges::all_of(row.left_out, &std::string::empty)) row.left_out.clear();
}

/// Whether speedups are over the heading's baseline, or over one that the point chooses.
bool keeps_baseline(const Heading& heading) {
  return std::ranges::none_of(heading.axes, [](const Axis& axis) { return axis.pointer == "/baseline"; });
}

/// Of a point that cannot have the heading's baseline.
void drop_speedups(std::vector<RunResult>& results) {
  for (RunResult& each : results) {
    each.speedup.reset();
    each.speedup_same_batch.reset();
    each.speedup_interval.reset();
    each.speedup_same_batch_interval.reset();
  }
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

LoadedScenario first_point(const Sweep& sweep) {
  const std::vector<std::string> settings = all_settings(sweep, axes_of(sweep.space), point_of(sweep.space, 0));
  try {
    return load_scenario(sweep.scenario, settings);
  } catch (const ScenarioError& error) {
    try {
      load_scenario(sweep.scenario, sweep.set);
    } catch (const ScenarioError&) {
      throw error;
    }
  }
  return load_varied(sweep.scenario, settings);
}

Heading heading_of(const Sweep& sweep, NetworkKind network) {
  Heading heading;
  heading.version = kVersion;
  heading.axes = axes_of(sweep.space);
  heading.points = size_of(sweep.space);
  heading.grid = is_grid(sweep.space);
  heading.side_by_side = sweep.space.kind == Space::Kind::kZip;
  heading.fair = sweep.fair;
  check_apart(heading.axes);
  const LoadedScenario first = first_point(sweep);
  heading.scenario = first.scenario.name;
  const auto varies = [&](std::string_view place) {
    return std::ranges::any_of(heading.axes, [&](const Axis& axis) { return axis.pointer.rfind(place, 0) == 0; });
  };
  const Training& training = first.scenario.training;
  if (!varies("/model")) heading.trains.model = first.scenario.model.name;
  if (!varies("/training/train_tokens")) heading.trains.train_tokens = training.train_tokens;
  if (!varies("/training/sequence_length")) heading.trains.sequence_length = training.sequence_length;
  heading.baseline = baseline_of(sweep, first);
  for (const auto& [label, synchronous] : asked_for(first, sweep.schedules)) {
    heading.schedules.push_back(label);
    heading.tuned = heading.tuned || (sweep.tuned && !synchronous);
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

Row play_point(const Sweep& sweep, const Heading& heading, std::size_t index, NetworkKind network, PartCache& cache) {
  Row row{index, point_of(sweep.space, index), {}, {}, {}, {}};
  try {
    LoadedScenario loaded = load_varied(sweep.scenario, all_settings(sweep, heading.axes, row.point));
    Scenario& scenario = loaded.scenario;
    row.left_out.resize(heading.schedules.size());
    std::vector<int> indices;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < heading.schedules.size() - (heading.tuned ? 2 : 0); ++i) {
      for (const LeftOutSchedule& each : loaded.left_out)
        if (each.label == heading.schedules[i]) row.left_out[i] = each.why;
      if (!row.has(i)) continue;
      const ScheduleSpec* const spec = schedule_labelled(scenario, heading.schedules[i]);
      if (spec == nullptr) throw BadInput(fmt::format("there is no schedule \"{}\" here", heading.schedules[i]));
      indices.push_back(static_cast<int>(spec - scenario.schedules.data()));
      places.push_back(i);
    }
    const bool has_baseline = schedule_labelled(scenario, heading.baseline) != nullptr;
    if (has_baseline && keeps_baseline(heading)) scenario.baseline = heading.baseline;
    if (indices.empty()) throw BadInput(heading.schedules.front() + ": " + row.left_out.front());
    const Evaluations evaluations(network);
    const Tuned tuned = heading.tuned ? add_tuned_to(row, scenario, indices, places, evaluations) : Tuned();
    std::vector<RunResult> results = compare(scenario, indices, evaluations, tuned);
    row.way_to_fit = way_to_fit(results, WhatIf(loaded, evaluations, tuned), indices);
    if (!has_baseline && keeps_baseline(heading)) drop_speedups(results);
    row.schedules.assign(results.begin(), results.end());
    for (const Warning& each : cautions_of(scenario, results.front().costs))
      row.cautions.push_back(each.code + ": " + each.message);
    if (may_be_flat(heading)) row.binds = binding_at(scenario, indices, results, evaluations);
    if (heading.fair) add_fair(row, loaded, indices, results, tuned, evaluations, cache);
    spread_out(row, places);
  } catch (const ScenarioError& error) {
    row = {index, row.point, error.errors.front(), {}, {}, {}};
  } catch (const BadInput& error) {
    row = {index, row.point, error.what(), {}, {}, {}};
  }
  return row;
}

}  // namespace accosim
