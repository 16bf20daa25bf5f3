// Inputs that are nearly right: a text changed in a few places, by its bytes, or by the values of a JSON document, the
// cells of a table or the words of a text, so that changes get past the first check and reach the ones behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/random.hpp"

namespace accosim {

enum class InputForm : std::uint8_t { kText, kJson, kTable };

/// No mutation makes a text longer than this.
inline constexpr std::size_t kMostMutatedBytes = 1 << 20;

/// One to four changes; a function of the text and the state of `random`.
std::string mutated(const std::string& text, InputForm form, Random& random);

/// One change of the form's own kind: never of single bytes.
std::string mutated_by_form(const std::string& text, InputForm form, Random& random);

/// A value of a command line that is at the edge of what may be written, or past it.
std::string odd_value(Random& random);

/// What in the text a terminal should not be shown: control characters (new lines and tabs are none), bytes that are no
/// UTF-8. Empty: nothing.
std::string not_for_terminals(const std::string& text);

}  // namespace accosim
