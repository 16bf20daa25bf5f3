#include "sim/app/sweep/rows_output.hpp"

#include <algorithm>
#include <iostream>

#include "models/base/whole_file.hpp"
#include "reports/sweep/sweep_report.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"

namespace accosim {

Option by_option() {
  return {.names = "--by",
          .help =
              "What counts as fast in a sweep. same-batch: the speedup over the baseline at equal samples an update. "
              "best-synchronous: that over the best synchronous schedule. tokens: tokens per second. time, cost: the "
              "least for all tokens. alone: the speedup over the fastest part alone (rows of --fair)",
          .value = std::string("same-batch"),
          .choices = {"same-batch", "best-synchronous", "tokens", "time", "cost", "alone"},
          .default_shown = true};
}

Score score_of(const Arguments& arguments) { return *value_named<Score>(arguments.text("--by")); }

Merit merit_of(const Arguments& arguments) { return {score_of(arguments), winner_rule_of(arguments)}; }

std::vector<Option> rows_options() {
  return joined(
      joined({by_option()}, winner_options()),
      {{.names = "--csv", .help = "Write a table too, a line a point and schedule", .empty = "names no file"}});
}

Output csv_output(const Arguments& arguments) {
  return {"--csv", arguments.text("--csv"), table_kind(kSweepCsvBegins)};
}

ExitCode report_rows(const SweepRows& rows, const Arguments& arguments) {
  const Merit merit = merit_of(arguments);
  check_score(rows, merit.by);
  if (arguments.given("--csv")) {
    WholeFile file(arguments.text("--csv"));
    write_sweep_csv(file.stream(), rows, merit);
    file.commit();
    tell_written(arguments.text("--csv"), "table of " + so_many(rows.rows.size(), "configuration"));
  }
  write_sweep_summary(std::cout, rows, merit, console_options());
  const bool none = std::ranges::none_of(rows.rows, &Row::done);
  if (none && !rows.rows.empty()) throw BadInput("every point failed; the summary says why");
  return ExitCode::kDone;
}

}  // namespace accosim
