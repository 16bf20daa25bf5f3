// What a user wrote may hold anything, and it is repeated in messages: these make it safe to print.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accosim {

/// Offset of the first byte that is not valid UTF-8 (RFC 3629: no surrogates, nothing overlong, nothing past U+10FFFF),
/// or the size of the text when all of it is.
std::size_t first_invalid_utf8(std::string_view text);

/// The text with one U+FFFD for each invalid part; a part is the bytes that could have begun a character, at least one.
std::string valid_utf8(std::string_view text);

/// The text with control characters and bytes that are not UTF-8 written as \n, \t, \xNN, and characters that turn the
/// direction of a line as \u202e; cut with "..." after `most` bytes. Never breaks a character.
std::string printable(std::string_view text, std::size_t most = 60);
inline constexpr std::size_t kAllOfIt = std::numeric_limits<std::size_t>::max() / 2;

/// printable() between double quotes, inner quotes and backslashes escaped.
std::string in_quotes(std::string_view text, std::size_t most = 60);

/// The text inside Markdown, in a cell of a table too: what would be markup is escaped, a new line is a blank.
std::string in_markdown(std::string_view text);

/// The text as code inside Markdown, between backticks; its own become quotes.
std::string in_code(std::string_view text);

/// The text as XML has it between tags and in attributes that are in double quotes.
std::string in_xml(std::string_view text);

/// With A to Z as small letters, whatever the locale.
std::string lower(std::string_view text);

/// Without the blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);

/// The number that a text begins with, and what is behind it.
struct LeadingNumber {
  double number = 0;
  std::string_view rest;
};
/// Nothing where there is none, or it is not finite.
std::optional<LeadingNumber> leading_number(std::string_view text);
/// The finite number that the text is, in decimal digits: no "0x10".
std::optional<double> finite_number(std::string_view text);

/// "ddp, zero2 and zero3".
std::string in_words(const std::vector<std::string>& names, const char* last = " and ");

/// The text as one word of a shell's command line: as it is, or in single quotes.
std::string in_shell(std::string_view text);

/// The number that up to nine digits, and nothing else, make; nothing of any other text.
std::optional<int> whole_number(std::string_view text);

/// Shortest decimal text that reads back as the same double, in the form that JSON takes.
std::string shortest(double value);

}  // namespace accosim
