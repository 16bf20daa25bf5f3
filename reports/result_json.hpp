// What other programs read: one JSON document with every figure in SI units. Its keys and their order are an interface:
// they only ever grow, and the schema's number changes when one changes its meaning.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/spec/spec.hpp"
#include "sim/answers/fairness.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Schema accosim.result/1. "version" is accosim's and "sets" what --set replaced, as it was given. `network` names the
/// network that was played on. What is absent or not a number is null. "fair_baselines", "fair_gains" and "fair_words"
/// are there where ranks differ. The ranks are written one a line and never held as a document, so many of them cost no
/// memory.
void write_results_json(std::ostream& out, const Scenario& scenario, const std::string& network,
                        const std::vector<RunResult>& results, const FairComparison& fair = {});

}  // namespace accosim
