// The console's part about a mixed cluster: the best synchronous schedule with its work balanced and each kind of GPU
// alone, and what the gains are due to.
#pragma once

#include <iosfwd>

#include "models/base/json.hpp"
#include "reports/table.hpp"
#include "sim/what_if/fairness.hpp"

namespace accosim {

/// Nothing where the comparison is empty.
void write_fair_comparison(std::ostream& out, const FairComparison& fair, const ConsoleOptions& options);

/// "fair_baselines" and "fair_gains" of the document of results.
JsonValue fair_baselines_json(const FairComparison& fair);
JsonValue fair_gains_json(const FairComparison& fair);

}  // namespace accosim
