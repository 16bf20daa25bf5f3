// What a person reads: schedules side by side, on the terminal or as a page, or everything about one of them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/base/stages.hpp"
#include "models/spec/scenario.hpp"
#include "reports/table.hpp"
#include "sim/result/metrics.hpp"
#include "sim/what_if/fairness.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

/// The verb `compare`: what was simulated, one row a schedule, how ranks of different speed share the work, what is
/// fair to compare with where they differ, the warnings with their advice, and what the speedups mean.
void write_comparison(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                      const Standing& standing, ConsoleOptions options, const FairComparison& fair = {},
                      const Tuned& tuned = {});

/// `compare --markdown`: a row a schedule, the fastest first; the columns are explained below the table. `command`
/// wrote the page.
void write_comparison_markdown(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                               const Standing& standing, const std::string& command);

/// The verb `run`: every metric of one schedule with what it means, the parts of its memory, its ranks (equal ones as
/// one row), its warnings.
void write_run(std::ostream& out, const Scenario& scenario, const RunResult& result, const Standing& standing,
               ConsoleOptions options);

/// With -v: where the program's own time and memory went, a row a stage, and what was counted; nothing where no stage
/// was watched.
void write_stages(std::ostream& out, const StagesUsed& used, const ConsoleOptions& options);

}  // namespace accosim
