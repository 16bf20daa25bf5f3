// A sweep's rows as a table for a spreadsheet or pandas: a line for each point and schedule.
#pragma once

#include <iosfwd>

#include "sim/sweep/summary.hpp"

namespace accosim {

/// RFC 4180 but for the ends of lines, which are "\n". Columns: index, one for each axis by its pointer, status, why,
/// schedule, wins (1 of the schedule that does, else 0), and the figures of a row by their names there. Empty where
/// there is none.
void write_sweep_csv(std::ostream& out, const SweepRows& rows, const Merit& merit);
/// How such a table begins, for whoever looks at the file.
inline constexpr const char* kSweepCsvBegins = "index,";

}  // namespace accosim
