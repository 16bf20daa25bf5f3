// The two leaves of JSON that are easy to get wrong by hand, for the writers that stream.
#pragma once

#include <string>

namespace accosim {

/// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const std::string& text);
/// The shortest number that reads back as `value`, or null where JSON has none (infinite, not a number).
std::string json_number(double value);

}  // namespace accosim
