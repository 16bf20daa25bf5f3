// Text one character at a time, with the room that each takes on a terminal. What a user wrote may hold anything, so
// what would move a cursor, turn the direction of a line or end an XML document becomes "?".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace accosim {

struct Glyph {
  std::string text;
  int columns;  ///< 2 for wide East Asian characters and emoji, 0 for combining marks
};

/// The character at `at`, which is moved on. A byte that is not UTF-8, or a harmful character, is "?".
Glyph next_glyph(std::string_view text, std::size_t& at);

}  // namespace accosim
