#include "models/fit/own_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "models/base/csv.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {

std::string OwnStep::in_words() const {
  std::string text = scenario;
  if (!schedule.empty()) text += ", " + schedule;
  for (const std::string& set : sets) text += ", " + set;
  return text;
}

bool holds_steps(const std::string& text) {
  Diagnostics ignored;
  const CsvTable table = parse_csv(text, "", ignored);
  return table.find("scenario").has_value() && !table.find("fabric").has_value();
}

std::vector<OwnStep> read_own_steps(const std::string& text, const std::string& name) {
  static const std::vector<std::string> kColumns = {"scenario", "schedule", "set", "time_s"};
  Diagnostics diagnostics;
  const CsvTable table = parse_csv(text, name, diagnostics);
  const JsonOrigin heading{std::make_shared<const std::string>(name), table.heading, 1};
  for (const std::string& column : table.columns)
    if (std::ranges::find(kColumns, column) == kColumns.end() && column != "time_us")
      diagnostics.add(
          heading, "",
          fmt::format("{} is no column of a table of steps; write {}", in_quotes(column), in_words(kColumns)));
  if (!table.find("time_s") && !table.find("time_us"))
    diagnostics.add(heading, "", "has no column time_s; write what an update took, in seconds");
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  std::vector<OwnStep> steps;
  for (const CsvRow& row : table.rows) {
    CsvRowReader reader(table, row, diagnostics);
    OwnStep step{.scenario = reader.text("scenario"), .line = row.line};
    step.schedule = reader.has("schedule") ? reader.text("schedule", "") : "";
    std::istringstream sets(reader.has("set") ? reader.text("set", "") : "");
    for (std::string set; std::getline(sets, set, ';');) {
      const std::string setting(trimmed(set));
      if (setting.empty()) continue;
      if (!setting.starts_with('/') || setting.find('=') == std::string::npos)
        reader.fail("set", in_quotes(setting) +
                               " is no setting; write /training/micro_batch_size=2, and several with a "
                               "semicolon between, without quotes and commas");
      step.sets.push_back(setting);
    }
    step.measured = reader.time();
    steps.push_back(std::move(step));
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return steps;
}

}  // namespace accosim
