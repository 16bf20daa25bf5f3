// Predictions beside what others measured: for the terminal, for other programs, and as the page that is committed.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reports/document.hpp"
#include "sim/evidence/memory_verdicts.hpp"
#include "sim/evidence/nccl_choices.hpp"
#include "sim/evidence/paper_rows.hpp"
#include "sim/evidence/scores.hpp"

namespace accosim {

/// For a terminal: scores by group, device and source; single cases where they are few, else the worst; broken bounds.
Document validation_reading(const Validation& validation);
/// reports/published/validation.md: scores, every case that belongs to no series, series of tables, what is left out or
/// cannot be expressed and why, the sources. The same for the same predictions, to the digits shown.
Document validation_page(const Validation& validation);
/// Schema accosim.validate/1: everything, in SI units.
void write_validation_json(std::ostream& out, const Validation& validation);

/// What is named, and what its kind of ranks holds: with its 80 % interval, of how much, the verdict and the
/// probability that it fits.
Values memory_cells(const std::string& name, const KindMemory& kind);
/// reports/published/memory-verdicts.md, nccl-choices.md and acco-rows.md, likewise.
Document memory_verdicts_page(const std::vector<VerdictRow>& rows);
Document nccl_choices_page(const std::vector<ChoiceSeries>& series);
Document paper_rows_page(const std::vector<PaperRow>& rows);

}  // namespace accosim
