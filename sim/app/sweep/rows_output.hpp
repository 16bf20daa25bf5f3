// What the verbs that have a sweep's rows make of them: the summary on the terminal, and a table.
#pragma once

#include <vector>

#include "models/base/outputs.hpp"
#include "sim/app/verb.hpp"
#include "sim/sweep/rows.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {

/// --by.
Option by_option();
Score score_of(const Arguments& arguments);
/// That, and what the winner is held to.
Merit merit_of(const Arguments& arguments);
/// The options of both, and --csv.
std::vector<Option> rows_options();

/// --csv as check_outputs() takes it.
Output csv_output(const Arguments& arguments);

/// Prints the summary and writes the table. Throws BadInput where every point failed.
ExitCode report_rows(const SweepRows& rows, const Arguments& arguments);

}  // namespace accosim
