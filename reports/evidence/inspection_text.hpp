// Whether machines are as they should be, as a person reads it and as a document: the verb `inspect`.
#pragma once

#include <vector>

#include "models/base/json.hpp"
#include "reports/document.hpp"
#include "sim/evidence/inspect.hpp"

namespace accosim {

/// Of each machine a sentence for what is slow, what that costs a step and where to look; then one table of all of
/// them, what costs most first, and what the documents do not tell.
Document inspection_document(const std::vector<InspectedMachine>& machines);

/// Schema accosim.inspection/1, with the verdicts of that table. Seconds, and bytes a second of links and buses.
JsonValue inspection_json(const std::vector<InspectedMachine>& machines);

}  // namespace accosim
