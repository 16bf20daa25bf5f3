// The verb `compare` of a run that accocal made: the same run predicted, side by side in numbers and on a timeline.
#include <iostream>

#include "models/base/outputs.hpp"
#include "reports/evidence/live_report.hpp"
#include "reports/trace/trace_json.hpp"
#include "sim/app/measured_run.hpp"
#include "sim/app/modes.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/trace.hpp"

namespace accosim {
namespace {

/// Both on one timeline: the measured ranks, and behind them as many predicted.
void write_both(const std::string& path, const MeasuredRun& run, const Timeline& measured, const Timeline& predicted) {
  TraceFile file(path);
  TraceWriter writer(file.stream());
  int pid = 1;
  for (const auto& [line, what] : {std::pair(&measured, "measured"), std::pair(&predicted, "predicted")}) {
    writer.begin_schedule(line->graph, run.algorithm + ", " + what, {}, pid);
    for (const Span& span : line->spans) writer.add(span);
    pid += run.ranks;
  }
  writer.finish();
  file.commit();
  tell_written(path, "trace of the run and its prediction");
}

}  // namespace

ExitCode compare_with_run(const Arguments& arguments) {
  const RunOnMachine both = load_run(arguments.text("scenario"), arguments.text("--machine"));
  const std::string& trace = arguments.text("--trace");
  check_outputs({{"--trace", trace, trace_kind_of(trace)}}, both.files, arguments.flag("--force"));
  warn_of_differences(both);
  const RunBesidePrediction beside = predict(both, arguments.whole("--trace-updates"), network_of(arguments));
  write_run_comparison(std::cout, both.run, beside.predicted,
                       compare_parts(beside.measured_line, beside.predicted_line), console_options());
  if (arguments.given("--trace")) write_both(trace, both.run, beside.measured_line, beside.predicted_line);
  return ExitCode::kDone;
}

}  // namespace accosim
