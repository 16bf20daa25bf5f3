// A sweep on the terminal: what is fastest where, where that changes, and what failed.
#pragma once

#include <iosfwd>

#include "reports/table.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {

void write_sweep_summary(std::ostream& out, const SweepRows& rows, const Merit& merit, const ConsoleOptions& options);

}  // namespace accosim
