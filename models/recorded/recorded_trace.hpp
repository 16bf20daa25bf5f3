// A trace in Chrome's format that accosim or accocal wrote, read back: what each rank did when, and where its updates
// end. And a run of accocal in the same form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/json.hpp"
#include "models/recorded/measured_run.hpp"

namespace accosim {

/// What a stretch of time is spent on. Of several at once on one rank, the first in this order counts.
enum class RecordedUse : std::uint8_t { kComputation, kCopy, kHost, kCommunication, kWaiting };

/// Times are whole nanoseconds of the trace's clock.
struct RecordedSpan {
  std::string name{};
  std::string waits_for{};  ///< of kWaiting: for which op, empty where that is not known
  RecordedUse use = RecordedUse::kComputation;
  std::int64_t begin = 0, end = 0;
  std::int64_t count = 1;  ///< repetitions that are drawn as one
};

struct RecordedMark {
  std::int64_t time = 0;
  int updates = 1;  ///< that have ended since the mark before
};

struct RecordedRank {
  std::vector<RecordedSpan> spans;
  std::vector<RecordedMark> marks;  ///< in order
};

struct RecordedSchedule {
  std::string label;
  bool measured = false;            ///< by accocal; else predicted
  std::vector<RecordedRank> ranks;  ///< those that are in the trace
};

/// Throws ScenarioError with all that is wrong, each with its place: a document that is no such trace, one that holds
/// only its first events, a rank on which fewer than two updates end. There is at least one schedule. `source` is how
/// the file is shown. The events are read one by one, so that the text may have kMaxTraceBytes (trace_text.hpp).
std::vector<RecordedSchedule> read_recorded_trace(std::string_view text, const std::string& source);
/// Whether a text is one, by its list of events.
bool is_trace(std::string_view text);

/// Its marks begin where the updates end that do not count; those of DiLoCo are of whole phases. `name` is for errors:
/// throws ScenarioError for a run of more than 63 years.
RecordedSchedule recorded_run(const MeasuredRun& run, const std::string& name);

/// What accocal's spans of this label are.
RecordedUse use_of_measured(const std::string& label);

}  // namespace accosim
