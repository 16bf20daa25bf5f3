// The console's part about a mixed cluster: the best synchronous schedule with its work balanced and each kind of GPU
// alone, and what the gains are due to.
#pragma once

#include <optional>
#include <string>

#include "models/base/json.hpp"
#include "reports/document.hpp"
#include "sim/what_if/fairness.hpp"

namespace accosim {

/// Nothing where the comparison is empty.
void add_fair_comparison(Document& document, const FairComparison& fair);

/// "Adding the V100s to the homogeneous subset of A100s, under the same schedule: 1.41x (1.24 to 1.60) with
/// load-balanced micro-batches (11 and 5), 0.94x (0.80 to 1.10, so perhaps faster) with even ones.": ratios with their
/// 80 % intervals.
std::string in_words(const Adding& adding);

/// "adding" of the documents of results and of advice; null where there is none.
JsonValue adding_json(const std::optional<Adding>& adding);

/// "fair_baselines" and "fair_gains" of the document of results.
JsonValue fair_baselines_json(const FairComparison& fair);
JsonValue fair_gains_json(const FairComparison& fair);

}  // namespace accosim
