// Verdicts on memory near the capacity as a page.
#pragma once

#include <iosfwd>
#include <vector>

#include "sim/evidence/memory_verdicts.hpp"

namespace accosim {

/// reports/published/memory-verdicts.md. Writes the same bytes for the same predictions, to the digits shown.
void write_memory_verdicts(std::ostream& out, const std::vector<VerdictRow>& rows);

}  // namespace accosim
