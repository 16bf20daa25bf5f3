// What the verb diff reads: a document against itself, which differs in nothing, and against one that is right.
#include <cmath>

#include "models/spec/scenario_error.hpp"
#include "reports/difference_text.hpp"
#include "tests/fuzz/parsers.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/support/printed.hpp"

namespace accosim {
namespace {

void require_adds_up(const FigureDifference& figure) {
  double sum = 0, whole = 0;
  for (const DifferencePart& part : figure.parts) {
    sum += part.difference();
    whole += std::fabs(part.value[0]) + std::fabs(part.value[1]);
  }
  require(std::fabs(sum - figure.difference()) <= 1e-9 * whole, "parts that do not add up to the difference");
}

void show(const Differences& differences, bool same) {
  for (const ScheduleDifference& one : differences.schedules) {
    require_adds_up(one.update_time);
    require_adds_up(one.memory);
    require(!same || one.update_time.difference() == 0, "a document that differs from itself");
  }
  require_printable(on_terminal(differences_document(differences, {{{"a", "one"}, {"b", "other"}}})), "a page");
  require(parse_json(dump_json(differences_json(differences, {})), "diff").whole, "a difference that is no JSON");
}

/// `right` is a seed's name.
void compare(const auto& found, const char* right, const auto& read) {
  show(difference_of(found, found), true);
  show(difference_of(found, read(seed_named("recorded", right))), false);
}

/// A document's settings beside themselves, and beside those of one that is right.
void compare_settings(const JsonDocument& document) {
  const RecordedSettings found = read_recorded_settings(document);
  require(differing_settings(found, found).differ.empty(), "settings that differ from themselves");
  show(Differences{.settings = differing_settings(
                       found, read_recorded_settings(parse_json(seed_named("recorded", "results.json"), "right")))},
       false);
}

void read_recorded(const std::string& text) {
  if (is_trace(text))
    return compare(read_recorded_trace(text, "input"), "trace.json",
                   [](const std::string& right) { return read_recorded_trace(right, "right"); });
  const JsonDocument document = parse_json(text, "input", kMaxMeasuredValues);
  if (!document.whole) throw ScenarioError(document.errors);
  compare(read_recorded_results(document), "results.json",
          [](const std::string& right) { return read_recorded_results(parse_json(right, "right")); });
  compare_settings(document);
}

}  // namespace

std::vector<Parser> recorded_parsers() { return {{"recorded", InputForm::kJson, read_recorded}}; }

}  // namespace accosim
