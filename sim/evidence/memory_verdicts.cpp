// Nothing is played: memory is a matter of prices.
#include "sim/evidence/memory_verdicts.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/fit/published_file.hpp"
#include "models/read/references.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/evidence/fits_of_runs.hpp"

namespace accosim {
namespace {

/// A scenario and one of its schedules, to be priced.
struct Run {
  LoadedScenario loaded;
  std::optional<std::size_t> schedule;  ///< index
  std::optional<Bytes> reserved;
};

Run run_of(const VerdictCase& of, const Published& published, const std::string& folder) {
  Run run;
  if (of.published.empty()) {
    run.loaded = load_scenario(folder + "/" + of.scenario, of.settings);
    const std::vector<ScheduleSpec>& schedules = run.loaded.scenario.schedules;
    for (std::size_t i = 0; i < schedules.size(); ++i)
      if (schedules[i].label == of.schedule) run.schedule = i;
  } else {
    for (const PublishedCase& one : published.cases) {
      if (one.id == of.published) {
        run.loaded = {*one.scenario, {}, {}, one.tree};
        run.schedule = static_cast<std::size_t>(one.schedule);
      }
      if (one.id == of.published + " " + kMemoryGroup && one.asked == Asked::kMemoryReserved)
        run.reserved = Bytes{one.measured};
    }
  }
  if (!run.schedule)
    throw ScenarioError(
        {fmt::format("{}: there is no {}; name a schedule of the scenario, or a case of the folder", in_quotes(of.what),
                     in_quotes(of.published.empty() ? of.schedule : of.published))});
  return run;
}

}  // namespace

std::vector<VerdictCase> load_verdict_cases(const std::string& path) {
  Diagnostics diagnostics;
  References references(diagnostics);
  std::vector<VerdictCase> cases;
  if (std::optional<JsonValue> tree = references.open(path)) {
    ObjectReader top(*tree, "", diagnostics);
    top.schema("accosim.memory_verdicts/1");
    std::size_t index = 0;
    for (JsonValue* element : list_of(top, "cases")) {
      ObjectReader reader(*element, top.pointer("cases") + pointer_part(index++), diagnostics);
      VerdictCase one{.what = reader.text("run"), .published = reader.text("published", std::string())};
      if (one.published.empty()) {
        one.scenario = reader.text("scenario");
        one.settings = read_texts(reader, "set");
        one.schedule = reader.text("schedule");
      }
      reader.finish();
      cases.push_back(std::move(one));
    }
    top.finish();
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return cases;
}

std::vector<VerdictRow> memory_verdicts(const std::vector<VerdictCase>& cases, const Published& published,
                                        const std::string& folder) {
  std::vector<VerdictRow> rows;
  for (const VerdictCase& of : cases) {
    const Run run = run_of(of, published, folder);
    VerdictRow row{of, fullest_kind(run.loaded.scenario, static_cast<int>(*run.schedule)), {}, run.reserved};
    if (row.kind.fit.verdict != FitVerdict::kFits)
      row.ways = ways_to_fit(WhatIf(run.loaded, NetworkKind::kReference), *run.schedule);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace accosim
