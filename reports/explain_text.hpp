// Where the time of one update goes, in words and in a table: the verb `explain`.
#pragma once

#include <iosfwd>
#include <vector>

#include "reports/table.hpp"
#include "sim/explain/explanation.hpp"

namespace accosim {

/// Of each schedule the causes of the update's time with their shares, what interference costs, and the critical path
/// step by step, steps that repeat once; then the operators of a micro-batch, once for all schedules that have the
/// same.
void write_explanations(std::ostream& out, const std::vector<Explanation>& explanations, const ConsoleOptions& options);

}  // namespace accosim
