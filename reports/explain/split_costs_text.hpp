// What splitting a model costs an update, in sentences and tables of the verb `explain`.
#pragma once

#include <iosfwd>

#include "reports/table.hpp"
#include "sim/explain/split_costs.hpp"

namespace accosim {

void write_split_costs(std::ostream& out, const SplitCosts& costs, const ConsoleOptions& options);

}  // namespace accosim
