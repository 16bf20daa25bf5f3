// Steps that a user timed on a machine of their own, as rows of a table.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"

namespace accosim {

struct OwnStep {
  std::string scenario;             ///< as it is named in the table
  std::vector<std::string> sets{};  ///< "/json/pointer=value"
  std::string schedule{};           ///< label or name; empty: the baseline
  Seconds measured{};               ///< of an update
  int line = 0;                     ///< of the table

  /// "mine.json, zero1, /training/micro_batch_size=2".
  std::string in_words() const;
};

/// Whether the text is a table of steps, by its heading.
bool holds_steps(const std::string& text);

/// Columns scenario, schedule, set ("/a=1; /b=2"; may be left out, as may be the schedule) and time_s (or time_us), and
/// no others. Throws ScenarioError with all that is wrong, as "name:line:column: what".
std::vector<OwnStep> read_own_steps(const std::string& text, const std::string& name);

}  // namespace accosim
