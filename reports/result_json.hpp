// What other programs read: one JSON document with every figure in SI units. Its keys and their order are an interface:
// they only ever grow, and the schema's number changes when one changes its meaning.
#pragma once

#include <iosfwd>
#include <string>

#include "models/base/json.hpp"
#include "reports/answer.hpp"

namespace accosim {

/// Schema accosim.result/2. "version" is accosim's and "sets" what --set replaced, as it was given. `network` names the
/// network that was played on; `settings`, where it is no null, is what decides about the prediction, as
/// recorded_settings() gives it. What is absent or not a number is null. "fair_baselines", "fair_gains" and
/// "fair_words" are there where ranks differ. "rank_classes" has ranks that do the same once, "ranks" with `all_ranks`
/// each by itself. "answer" says who is the fastest, by sim/what_if/winner.hpp. Ranks are
/// written one a line and never held as a document, so many of them cost no memory. Version 1 of the schema had every
/// rank in "ranks" always.
void write_results_json(std::ostream& out, const Scenario& scenario, const std::string& network,
                        const Comparison& comparison, bool all_ranks = false, const JsonValue& settings = {});

}  // namespace accosim
