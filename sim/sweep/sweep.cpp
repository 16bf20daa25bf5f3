#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/knobs/in_settings.hpp"
#include "sim/knobs/knob_table.hpp"
#include "sim/result/best_synchronous.hpp"
#include "sim/result/run.hpp"
#include "sim/sweep/fair.hpp"
#include "sim/sweep/hash.hpp"

namespace accosim {
namespace {

std::vector<std::string> all_settings(const Sweep& sweep, const std::vector<Axis>& axes, const Coordinates& point) {
  std::vector<std::string> settings = sweep.set;
  for (std::string& setting : settings_of(axes, point)) settings.push_back(std::move(setting));
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
  return [&sweep, loaded = std::optional<LoadedScenario>()](const std::string& name) mutable {
    const KnobRow& row = knob_named(name);
    if (!loaded) loaded = load_scenario(sweep.scenario, sweep.set);
    std::vector<std::size_t> indices;
    for (const int index : chosen_schedules(loaded->scenario, sweep.schedules))
      indices.push_back(static_cast<std::size_t>(index));
    const Knob knob = knob_in_settings(*loaded, row, indices);
    if (knob.alternatives.size() < 2)
      throw BadInput(fmt::format("--over {}: there is nothing to choose {}; leave it out", name,
                                 row.of_scenario != nullptr ? "here" : "in these schedules"));
    Axis axis{name, {}, {}};
    for (const Alternative& each : knob.alternatives) {
      const bool named = each.text.rfind(name + " ", 0) == 0;
      axis.values.push_back(each.text.empty() ? "as written" : named ? each.text.substr(name.size() + 1) : each.text);
      axis.set.push_back(each.set);
    }
    return axis;
  };
}

std::vector<std::string> files_of(const Sweep& sweep) {
  return load_scenario(sweep.scenario, all_settings(sweep, axes_of(sweep.space), point_of(sweep.space, 0))).files;
}

Heading heading_of(const Sweep& sweep, NetworkKind network) {
  Heading heading;
  heading.version = kVersion;
  heading.axes = axes_of(sweep.space);
  heading.points = size_of(sweep.space);
  heading.grid = is_grid(sweep.space);
  heading.fair = sweep.fair;
  check_apart(heading.axes);
  const LoadedScenario first =
      load_scenario(sweep.scenario, all_settings(sweep, heading.axes, point_of(sweep.space, 0)));
  heading.scenario = first.scenario.name;
  heading.baseline = first.scenario.baseline;
  for (const int index : chosen_schedules(first.scenario, sweep.schedules)) {
    const ScheduleSpec& spec = first.scenario.schedules[static_cast<std::size_t>(index)];
    heading.schedules.push_back(spec.label);
    heading.tuned = heading.tuned || (sweep.tuned && !is_synchronous(spec));
  }
  if (heading.tuned) heading.schedules.emplace_back(kBestSynchronous);
  // All that decides what the points come to: the scenario with its files, the order of the points, the network.
  std::string points;
  for (std::size_t i = 0; i < std::min<std::size_t>(heading.points, 1000); ++i)
    for (const std::size_t at : point_of(sweep.space, i)) points += fmt::format("{} ", at);
  std::string set;
  for (const std::string& each : sweep.set) set += each + "\n";
  for (const Axis& axis : heading.axes)
    for (const std::vector<std::string>& value : axis.set)
      for (const std::string& each : value) set += each + "\n";
  const Heading without_id = heading;
  const std::uint64_t id = hash_of(line_of(without_id) + without_places(first.resolved()) + set + points +
                                   (network == NetworkKind::kSimgrid ? "simgrid" : "reference"));
  heading.id = fmt::format("{:016x}", id);
  return heading;
}

Row play_point(const Sweep& sweep, const Heading& heading, std::size_t index, NetworkKind network, PartCache& cache) {
  Row row{index, point_of(sweep.space, index), {}, {}, {}, {}};
  try {
    LoadedScenario loaded = load_scenario(sweep.scenario, all_settings(sweep, heading.axes, row.point));
    Scenario& scenario = loaded.scenario;
    std::vector<int> indices;
    for (std::size_t i = 0; i < heading.schedules.size() - (heading.tuned ? 1 : 0); ++i) {
      const ScheduleSpec* const spec = schedule_labelled(scenario, heading.schedules[i]);
      if (spec == nullptr) throw BadInput(fmt::format("there is no schedule \"{}\" here", heading.schedules[i]));
      indices.push_back(static_cast<int>(spec - scenario.schedules.data()));
    }
    const Evaluations evaluations(network);
    if (heading.tuned) {
      add_best_synchronous(scenario, indices, evaluations);
      if (!scenario.best_synchronous)
        throw BadInput("no synchronous schedule can be played here; leave the best one out with --no-tuned");
      row.best_synchronous = scenario.best_synchronous->name();
    }
    const std::vector<RunResult> results = compare(scenario, indices, evaluations, Advice::kNone);
    row.schedules.assign(results.begin(), results.end());
    if (heading.fair) add_fair(row, loaded, indices, results, evaluations, cache);
  } catch (const ScenarioError& error) {
    row.failure = error.errors.front();
  } catch (const BadInput& error) {
    row.failure = error.what();
  }
  return row;
}

}  // namespace accosim
