// The text of a trace in pieces, since one of many GPUs has millions of events: the list of events is read event by
// event, and what stands around it as one small document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accosim {

/// What a trace may have in bytes: 128 ranks with hundreds of thousands of events each.
inline constexpr std::size_t kMaxTraceBytes = std::size_t{512} << 20;

struct TraceText {
  std::string frame;                     ///< the document with an empty list of events
  std::vector<std::string_view> events;  ///< each element of "traceEvents", within the text
};

/// None where the text has no "traceEvents" list at its top, or where the list does not end. It is no parser: whether
/// frame and events are JSON is for who reads them to find out.
std::optional<TraceText> trace_text(std::string_view text);

/// `event` of `text` alone, at its line and column: the other characters before it are blanks.
std::string in_its_place(std::string_view text, std::string_view event);

}  // namespace accosim
