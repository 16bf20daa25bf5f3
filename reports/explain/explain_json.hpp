// Where the time of an update goes, for programs.
#pragma once

#include <vector>

#include "models/base/json.hpp"
#include "sim/explain/explanation.hpp"

namespace accosim {

/// Schema accosim.explanation/1: "schedules", each with its "label", the "update_time_s" that is explained, its
/// "causes" and "path", and of a model that is split over ranks its "split". Times in seconds; what is not known is
/// null.
JsonValue explanations_json(const std::vector<Explanation>& explanations);

}  // namespace accosim
