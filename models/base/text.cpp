// UTF-8 checked by the letter of RFC 3629, because a terminal is not the place to find out what a file held.
#include "models/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace accosim {
namespace {

/// The bytes of a character, or as many as could have begun one.
struct Character {
  std::size_t length;
  bool valid;
};

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {1, true};
  std::size_t length = 0;
  unsigned least = 0x80, most = 0xBF;  // of the second byte: what rules out overlong forms, surrogates, the far end
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) least = 0xA0;
    if (lead == 0xED) most = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) least = 0x90;
    if (lead == 0xF4) most = 0x8F;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || byte(at + i) < least || byte(at + i) > most) return {i, false};
    least = 0x80, most = 0xBF;
  }
  return {length, true};
}

/// Length of the valid character at `at`, or 0.
std::size_t character_length(std::string_view text, std::size_t at) {
  const Character character = character_at(text, at);
  return character.valid ? character.length : 0;
}

/// Control characters that have two bytes in UTF-8 (U+0080 to U+009F); some terminals obey them.
bool is_c1_control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
}

/// Embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069), after which a line shows what it is not.
bool turns_direction(std::string_view character) {
  if (character.size() != 3 || character[0] != '\xE2') return false;
  const auto last = static_cast<unsigned char>(character[2]);
  return (character[1] == '\x80' && last >= 0xAA && last <= 0xAE) ||
         (character[1] == '\x81' && last >= 0xA6 && last <= 0xA9);
}

std::string escaped(std::string_view text, std::size_t most, std::string_view also) {
  const bool plain =
      std::ranges::all_of(text, [&](char c) { return c >= ' ' && c <= '~' && also.find(c) == std::string_view::npos; });
  if (plain && text.size() <= most) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    std::string piece;
    if (length == 0) {
      piece = fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[at])));
    } else if (length == 1) {
      const char c = text[at];
      if (c == '\n') {
        piece = "\\n";
      } else if (c == '\t') {
        piece = "\\t";
      } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        piece = fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
      } else {
        if (also.find(c) != std::string_view::npos) piece = "\\";
        piece += c;
      }
    } else {
      const std::string_view character = text.substr(at, length);
      if (is_c1_control(character)) {
        piece = fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(character[1])));
      } else if (turns_direction(character)) {
        piece =
            fmt::format("\\u20{:02x}", (character[1] == '\x80' ? 0x00U : 0x40U) |
                                           (static_cast<unsigned>(static_cast<unsigned char>(character[2])) & 0x3FU));
      } else {
        piece = std::string(character);
      }
    }
    if (out.size() + piece.size() > most) return out + "...";
    out += piece;
    at += length == 0 ? 1 : length;
  }
  return out;
}

}  // namespace

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    out += character.valid ? text.substr(at, character.length) : std::string_view("\xEF\xBF\xBD");
    at += character.length;
  }
  return out;
}

std::string printable(std::string_view text, std::size_t most) { return escaped(text, most, ""); }

std::string in_quotes(std::string_view text, std::size_t most) { return '"' + escaped(text, most, "\"\\") + '"'; }

std::string in_markdown(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '\n' || c == '\r') {
      out += ' ';
      continue;
    }
    if (const std::string_view end = text.substr(at, 3); end == "\u2028" || end == "\u2029") {
      out += ' ';
      at += end.size() - 1;
      continue;
    }
    // Brackets alone make no link.
    const bool link = c == ']' && (next == '(' || next == '[' || next == ':');
    if (link || std::string_view("\\|`<*").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  // What a terminal would obey is left to printable(), whose backslashes are shown.
  return printable(out, kAllOfIt);
}

std::string in_code(std::string_view text) {
  std::string out = printable(text, kAllOfIt);
  std::replace(out.begin(), out.end(), '`', '\'');
  return '`' + out + '`';
}

std::string in_xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text, kAllOfIt)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

std::optional<LeadingNumber> leading_number(std::string_view text) {
  LeadingNumber leading;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), leading.number);
  if (error != std::errc() || !std::isfinite(leading.number)) return std::nullopt;
  leading.rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return leading;
}

std::optional<double> finite_number(std::string_view text) {
  const std::optional<LeadingNumber> number = leading_number(text);
  return number && number->rest.empty() ? std::optional(number->number) : std::nullopt;
}

std::string in_words(const std::vector<std::string>& names, const char* last) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += &name == &names.back() ? last : ", ";
    text += name;
  }
  return text;
}

std::string in_shell(std::string_view text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::optional<int> whole_number(std::string_view text) {
  constexpr std::size_t kDigits = 9;  // that any int holds
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || text.size() > kDigits || !digits) return std::nullopt;
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string shortest(double value) {
  std::array<char, 40> buffer{};
  const std::to_chars_result end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

}  // namespace accosim
