#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "models/spec/scenario.hpp"
#include "sim/result/balance.hpp"
#include "sim/result/chosen.hpp"
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

/// Of results at one point, and the baseline among them or not.
std::vector<Figures> figures_of(const std::vector<RunResult>& results) {
  const RunResult* best = nullptr;
  for (const RunResult& result : results)
    if (result.fits() && (best == nullptr || result.tokens_per_second > best->tokens_per_second)) best = &result;
  if (best == nullptr) best = &results.front();
  std::vector<Figures> all;
  for (const RunResult& result : results) {
    Figures figures;
    figures.update_time = result.update_time.value;
    figures.update_time_low = result.update_time_low.value;
    figures.update_time_high = result.update_time_high.value;
    figures.samples_per_update = result.samples_per_update;
    figures.tokens_per_second = result.tokens_per_second;
    figures.speedup = result.speedup;
    figures.speedup_interval = result.speedup_interval;
    figures.speedup_same_batch = result.speedup_same_batch;
    figures.speedup_same_batch_interval = result.speedup_same_batch_interval;
    figures.behind = best->tokens_per_second / result.tokens_per_second;
    figures.behind_interval =
        &result == best ? Interval{1, 1} : interval_80(figures.behind, ratio_spread(result.spread, best->spread));
    figures.fits = result.fits();
    figures.memory = result.memory_resident.value;
    figures.capacity = result.memory_capacity.value;
    figures.sent = result.bytes_sent_per_rank_per_update.value;
    figures.exposed = result.exposed_communication.value;
    figures.mfu = result.mfu;
    figures.idle = result.gpu_idle_fraction;
    all.push_back(figures);
  }
  return all;
}

}  // namespace

std::vector<std::string> files_of(const Sweep& sweep) {
  return load_balanced(sweep.scenario, all_settings(sweep, axes_of(sweep.space), point_of(sweep.space, 0))).files;
}

Heading heading_of(const Sweep& sweep, NetworkKind network) {
  Heading heading;
  heading.version = kVersion;
  heading.axes = axes_of(sweep.space);
  heading.points = size_of(sweep.space);
  heading.grid = is_grid(sweep.space);
  heading.fair = sweep.fair;
  for (std::size_t i = 0; i < heading.axes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (heading.axes[i].pointer == heading.axes[j].pointer)
        throw BadInput(fmt::format("{} is varied by two axes; write one", heading.axes[i].pointer));
  const LoadedScenario first =
      load_balanced(sweep.scenario, all_settings(sweep, heading.axes, point_of(sweep.space, 0)));
  heading.scenario = first.scenario.name;
  heading.baseline = first.scenario.baseline;
  for (const int index : chosen_schedules(first.scenario, sweep.schedules))
    heading.schedules.push_back(first.scenario.schedules[static_cast<std::size_t>(index)].label);
  // All that decides what the points come to: the scenario with its files, the order of the points, the network.
  std::string points;
  for (std::size_t i = 0; i < std::min<std::size_t>(heading.points, 1000); ++i)
    for (const std::size_t at : point_of(sweep.space, i)) points += fmt::format("{} ", at);
  std::string set;
  for (const std::string& each : sweep.set) set += each + "\n";
  const Heading without_id = heading;
  const std::uint64_t id = hash_of(line_of(without_id) + without_places(first.resolved()) + set + points +
                                   (network == NetworkKind::kSimgrid ? "simgrid" : "reference"));
  heading.id = fmt::format("{:016x}", id);
  return heading;
}

Row play_point(const Sweep& sweep, const Heading& heading, std::size_t index, NetworkKind network, PartCache& cache) {
  Row row{index, point_of(sweep.space, index), {}, {}, {}};
  try {
    const LoadedScenario loaded = load_balanced(sweep.scenario, all_settings(sweep, heading.axes, row.point));
    const Scenario& scenario = loaded.scenario;
    std::vector<int> indices;
    for (const std::string& label : heading.schedules) {
      const auto spec = std::find_if(scenario.schedules.begin(), scenario.schedules.end(),
                                     [&](const ScheduleSpec& each) { return each.label == label; });
      if (spec == scenario.schedules.end()) throw BadInput(fmt::format("there is no schedule \"{}\" here", label));
      indices.push_back(static_cast<int>(spec - scenario.schedules.begin()));
    }
    const std::vector<RunResult> results = compare(scenario, indices, network, Advice::kNone);
    row.schedules = figures_of(results);
    if (heading.fair) add_fair(row, loaded, indices, results, network, cache);
  } catch (const ScenarioError& error) {
    row.failure = error.errors.front();
  } catch (const BadInput& error) {
    row.failure = error.what();
  }
  return row;
}

}  // namespace accosim
