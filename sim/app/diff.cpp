// The verb `diff`: two files that accosim or accocal wrote, and what explains their difference.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "models/base/text.hpp"
#include "models/recorded/recorded_trace.hpp"
#include "models/recorded/trace_text.hpp"
#include "models/spec/scenario_error.hpp"
#include "reports/difference_text.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

/// What one of the files holds: results, or what ranks did when.
struct Recorded {
  ComparedFile file;
  std::vector<RecordedResult> results;
  RecordedSettings settings;  ///< of results
  std::vector<RecordedSchedule> schedules;
};

Recorded read_recorded(const std::string& path) {
  const std::string text = read_unpacked(path, kMaxTraceBytes);
  if (is_trace(text))
    return while_shown("reading " + path, [&] {
      return Recorded{{path, "a trace"}, {}, {}, read_recorded_trace(text, path)};
    });
  const JsonDocument document = parse_json(text, path, kMaxMeasuredValues);
  if (!document.whole) throw ScenarioError(document.errors);
  const JsonValue& root = document.root;
  const JsonValue* const schema = root.find("schema");
  const std::string named = schema == nullptr ? "" : schema->text;
  if (named == "accosim.result/2" || named == "accosim.result/1")
    return {{path, "results"}, read_recorded_results(document), read_recorded_settings(document), {}};
  if (named == "accosim.run/1")
    return {{path, "a run of accocal"}, {}, {}, {recorded_run(read_measured_run(text, path), path)}};
  throw ScenarioError({fmt::format(
      "{}{}: {}; name results (compare or run --json), a trace (--trace), or a run that accocal train wrote",
      printable(text_of(schema == nullptr ? root.origin : schema->origin), 300), schema == nullptr ? "" : " /schema",
      schema == nullptr
          ? std::string("is none of the documents that can be compared")
          : fmt::format("is {}", schema->kind == JsonKind::kText ? in_quotes(named) : noun_of(schema->kind)))});
}

/// Where the one side was measured, what accocal measured of the other is not its prediction.
void keep_predictions(const std::vector<RecordedSchedule>& other, std::vector<RecordedSchedule>& schedules) {
  const auto measured = [](const RecordedSchedule& one) { return one.measured; };
  const bool predicted = !std::ranges::all_of(schedules, measured);
  if (std::ranges::all_of(other, measured) && predicted) std::erase_if(schedules, measured);
}

ExitCode compare_files(const Arguments& arguments) {
  std::array<Recorded, 2> both = while_shown("reading what is compared", [&] {
    return std::array<Recorded, 2>{read_recorded(arguments.text("a")), read_recorded(arguments.text("b"))};
  });
  Recorded &a = both[0], &b = both[1];
  if (a.results.empty() != b.results.empty())
    throw ScenarioError(
        {fmt::format("{} holds {} and {} {}; name two of results, or two that hold what ranks did when",
                     printable(a.file.name, 300), a.file.holds, printable(b.file.name, 300), b.file.holds)});
  keep_predictions(a.schedules, b.schedules);
  keep_predictions(b.schedules, a.schedules);
  Differences differences = while_shown("looking for what differs", [&] {
    return a.results.empty() ? difference_of(a.schedules, b.schedules) : difference_of(a.results, b.results);
  });
  if (differences.schedules.empty())
    throw ScenarioError({fmt::format("{} and {} have no schedule of one label; write both with the same --schedule",
                                     printable(a.file.name, 300), printable(b.file.name, 300))});
  if (!a.results.empty()) differences.settings = differing_settings(a.settings, b.settings);
  const std::array<ComparedFile, 2> files = {a.file, b.file};
  if (arguments.flag("--json"))
    std::cout << dump_json(differences_json(differences, files), 2) << '\n';
  else
    print_terminal(std::cout, differences_document(differences, files), console_options());
  return ExitCode::kDone;
}

}  // namespace

Verb diff_verb() {
  const std::vector<Option> options = {
      {.names = "a",
       .help = "Results (compare or run --json), a trace (--trace, also .gz), or a run of accocal train",
       .required = true},
      {.names = "b", .help = "Another of the same scenario, or the prediction of the run", .required = true},
      json_option()};
  return {.name = "diff",
          .help = "Show in which settings two results differ and what explains it, or two traces op by op",
          .options = options,
          .modes = {{.reads = names_of(options), .run = compare_files}}};
}

}  // namespace accosim
