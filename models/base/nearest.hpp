// "Did you mean": the known name closest to what was written, so that a slip of the keyboard costs one look and not a
// search through the documentation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace accosim {

/// Least number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (the optimal
/// string alignment distance), in bytes.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate with the least distance, first among equals; empty when none is near enough to be what was meant: at
/// most a third of the longer word, and case does not count.
std::string nearest(std::string_view written, const std::vector<std::string>& candidates);

/// "did you mean "x"? " when one is near, else nothing.
std::string did_you_mean(std::string_view written, const std::vector<std::string>& candidates);

/// "; did you mean "x"?" when one is near, else "; one of: "a", "b", "c"" (at most `kMostNamed` of them), for the end
/// of an error.
std::string hint(std::string_view written, const std::vector<std::string>& candidates);
inline constexpr int kMostNamed = 20;

}  // namespace accosim
