// What explains the difference of two files, as tables and as a document: the verb `diff`.
#pragma once

#include <array>
#include <string>

#include "models/base/json.hpp"
#include "reports/document.hpp"
#include "sim/evidence/difference.hpp"

namespace accosim {

/// One of the two files: its name, and what is in it ("results", "a trace", "a run of accocal").
struct ComparedFile {
  std::string name, holds;
};

/// Of results first the settings that differ. Then a table for each pair of schedules, with what differs most first and
/// a last row that is the sum.
Document differences_document(const Differences& differences, const std::array<ComparedFile, 2>& files);

/// Schema accosim.diff/1. Of results "settings" names those that differ; "a" or "b" is null where that side has none.
/// Seconds and bytes; "share" is of the whole difference, null where there is none.
JsonValue differences_json(const Differences& differences, const std::array<ComparedFile, 2>& files);

}  // namespace accosim
