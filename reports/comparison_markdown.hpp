// Schedules side by side as a page: what each takes, sends, holds and does to the training.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/spec/scenario.hpp"
#include "sim/result/metrics.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

/// `compare --markdown`: a row a schedule, the fastest first; the columns are explained below the table. `command`
/// wrote the page.
void write_comparison_markdown(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                               const Standing& standing, const std::string& command);

}  // namespace accosim
