#include "models/draw/glyphs.hpp"

#include <cstdint>

namespace accosim {
namespace {

bool within(std::uint32_t code, std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; }

/// The main blocks of zero and double width of Unicode's East Asian Width; enough for labels, not a text engine.
int columns_of(std::uint32_t code) {
  if (within(code, 0x300, 0x36F) || within(code, 0x200B, 0x200D) || within(code, 0x20D0, 0x20FF) ||
      within(code, 0xFE00, 0xFE0F) || code == 0xFEFF) {
    return 0;
  }
  if (within(code, 0x1100, 0x115F) || within(code, 0x2E80, 0xA4CF) || within(code, 0xAC00, 0xD7A3) ||
      within(code, 0xF900, 0xFAFF) || within(code, 0xFE30, 0xFE6F) || within(code, 0xFF00, 0xFF60) ||
      within(code, 0xFFE0, 0xFFE6) || within(code, 0x1F300, 0x1F64F) || within(code, 0x1F680, 0x1F6FF) ||
      within(code, 0x1F900, 0x1F9FF) || within(code, 0x20000, 0x3FFFD)) {
    return 2;
  }
  return 1;
}

/// Controls, the marks that reverse the direction of what follows, and what XML has no place for.
bool harmful(std::uint32_t code) {
  return code < 0x20 || within(code, 0x7F, 0x9F) || within(code, 0x2028, 0x202E) || within(code, 0x2066, 0x2069) ||
         within(code, 0xFFFE, 0xFFFF);
}

}  // namespace

Glyph next_glyph(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(at);
  const std::size_t length = lead < 0x80                ? 1
                             : within(lead, 0xC2, 0xDF) ? 2
                             : within(lead, 0xE0, 0xEF) ? 3
                             : within(lead, 0xF0, 0xF4) ? 4
                                                        : 0;
  std::uint32_t code = length == 1 ? lead : length == 0 ? 0 : lead & (0x7FU >> length);
  bool valid = length != 0 && at + length <= text.size();
  for (std::size_t i = 1; valid && i < length; ++i) {
    valid = (byte(at + i) & 0xC0U) == 0x80;
    code = (code << 6) | (byte(at + i) & 0x3FU);
  }
  valid = valid && !(length == 3 && (code < 0x800 || within(code, 0xD800, 0xDFFF))) &&
          !(length == 4 && !within(code, 0x10000, 0x10FFFF));
  const std::size_t used = valid ? length : 1;
  at += used;
  if (!valid || harmful(code)) return {"?", 1};
  return {std::string(text.substr(at - used, used)), columns_of(code)};
}

}  // namespace accosim
