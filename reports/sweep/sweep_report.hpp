// A sweep as it is shown: on the terminal, as a table and as a page.
#pragma once

#include <iosfwd>
#include <string>

#include "reports/table.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {

/// On the terminal: what is fastest where, where that changes, and what failed.
void write_sweep_summary(std::ostream& out, const SweepRows& rows, const Merit& merit, const ConsoleOptions& options);

/// A table for a spreadsheet or pandas, a line for each point and schedule; RFC 4180 but for the ends of lines, which
/// are "\n". Columns: index, one for each axis by its pointer, status, why, schedule, wins (1 of the schedule that
/// does, else 0), and the figures of a row by their names there. Empty where there is none.
void write_sweep_csv(std::ostream& out, const SweepRows& rows, const Merit& merit);
/// How such a table begins, for whoever looks at the file.
inline constexpr const char* kSweepCsvBegins = "index,";

/// The page: what the summary says, and charts of the rows to look around in. `command`: that makes it again; `merit`:
/// what it begins with, all else can be picked. Throws BadInput where the rows are more than a page takes, or none.
void write_sweep_page(std::ostream& out, const SweepRows& rows, const std::string& command, const Merit& merit);
/// Its document, schema accosim.page/1 with the member "sweep".
std::string sweep_page_json(const SweepRows& rows, const std::string& command, const Merit& merit);
/// Points times schedules that a page takes: more would be slow to open.
inline constexpr std::size_t kMostOnPage = 200'000;
/// Throws BadInput where they are more.
void check_page_takes(const Heading& heading);

}  // namespace accosim
