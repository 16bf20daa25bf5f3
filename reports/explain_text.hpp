// Where the time of one update goes, in words and in a table: the verb `explain`.
#pragma once

#include <iosfwd>

#include "reports/table.hpp"
#include "sim/result/explain.hpp"

namespace accosim {

/// The causes of the update's time with their shares, the critical path step by step, the operators of a micro-batch.
void write_explanation(std::ostream& out, const Explanation& explanation, ConsoleOptions options = {});

}  // namespace accosim
