// How far predictions of this kind were off, as the committed page of validation has it, for those who make a
// prediction and not a validation, which takes seconds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace accosim {

/// A group of published cases, all of it or those on one device, in the page's own digits.
struct KnownError {
  std::string group, device;  ///< device empty: all of the group
  std::string cases;
  std::string without_source;  ///< mean error with each source left out of the fits: "6.4 %"; "-": not known
  std::string fitted;          ///< by the shipped constants
};

/// From the text of reports/published/validation.md: every group, and below it what it is on each of `devices`. Empty
/// where the text is another.
std::vector<KnownError> known_errors(std::string_view page, const std::vector<std::string>& devices);

/// Those of the page that came with the program; none where it did not.
std::vector<KnownError> shipped_known_errors(const std::vector<std::string>& devices);

}  // namespace accosim
