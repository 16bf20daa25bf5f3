// What is said of updates that are not alike: drawn micro-batches, pauses, several seeds.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "reports/document.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Adds the members of a result that only drawn updates, pauses and seeds have. Names: "updates", "pauses", "seeds",
/// and with seeds "update_time_s_median", "_p10" and "_p90", the same of "tokens_per_s" and of the speedups.
void set_unsteady(JsonValue& body, const RunResult& result);

/// Tables of the same: a row a schedule, or a schedule and pause. Nothing where there is nothing to say.
void add_unsteady(Document& document, const std::vector<RunResult>& results);

/// " (10 to 90 % of 20 seeds: 1.02 s to 1.10 s an update)"; empty without seeds.
std::string band_in_words(const RunResult& result);

}  // namespace accosim
