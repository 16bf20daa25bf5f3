// Predictions beside what others measured: for the terminal, for other programs, and as the page that is committed.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reports/table.hpp"
#include "sim/evidence/memory_verdicts.hpp"
#include "sim/evidence/nccl_choices.hpp"
#include "sim/evidence/paper_rows.hpp"
#include "sim/evidence/scores.hpp"

namespace accosim {

/// Scores by group, device and source; single cases where they are few, else the worst; broken bounds.
void write_validation(std::ostream& out, const Validation& validation, const ConsoleOptions& options);
/// Schema accosim.validate/1: everything, in SI units.
void write_validation_json(std::ostream& out, const Validation& validation);
/// reports/published/validation.md: scores, every case that belongs to no series, series of tables, what is left out or
/// cannot be expressed and why, the sources. Writes the same bytes for the same predictions, to the digits shown.
void write_validation_markdown(std::ostream& out, const Validation& validation);

/// reports/published/memory-verdicts.md, nccl-choices.md and acco-rows.md, of the same bytes for the same predictions,
/// likewise.
void write_memory_verdicts(std::ostream& out, const std::vector<VerdictRow>& rows);
void write_nccl_choices(std::ostream& out, const std::vector<ChoiceSeries>& series);
void write_paper_rows(std::ostream& out, const std::vector<PaperRow>& rows);

/// A value of the row in its unit: "1.23 s", "82.4 GiB", "1.35x".
std::string value_text(const ValidationRow& row, double value);

/// "Of 90 training runs, which ran, ...": how many fit, are tight and do not fit.
std::string runs_in_words(const std::vector<RunFit>& runs);

}  // namespace accosim
