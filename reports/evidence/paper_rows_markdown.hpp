// The rows of the ACCO paper as a page: published, predicted, and with each mechanism left out.
#pragma once

#include <iosfwd>
#include <vector>

#include "sim/evidence/paper_rows.hpp"

namespace accosim {

/// reports/published/acco-rows.md. Writes the same bytes for the same predictions, to the digits shown.
void write_paper_rows(std::ostream& out, const std::vector<PaperRow>& rows);

}  // namespace accosim
