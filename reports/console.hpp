// What a person reads: schedules side by side, on the terminal or as a page, or everything about one of them.
#pragma once

#include <iosfwd>
#include <string>

#include "models/base/stages.hpp"
#include "reports/answer.hpp"
#include "reports/document.hpp"

namespace accosim {

/// The verb `compare`: what was simulated, one row a schedule, how ranks of different speed share the work, what is
/// fair to compare with where they differ, the warnings with their advice, and what the speedups mean.
Document comparison_document(const Scenario& scenario, const Comparison& comparison);

/// `compare --markdown`: a row a schedule, the fastest first; the columns are explained below the table. `command`
/// wrote the page.
Document comparison_page(const Scenario& scenario, const Comparison& comparison, const std::string& command);

/// The verb `run`: every metric of one schedule with what it means, the parts of its memory, its ranks (equal ones as
/// one row), its warnings.
Document run_document(const Scenario& scenario, const RunResult& result, const Standing& standing);

/// With -v: where the program's own time and memory went, a row a stage, and what was counted; nothing where no stage
/// was watched.
void write_stages(std::ostream& out, const StagesUsed& used, const ConsoleOptions& options);

}  // namespace accosim
