// What a text says, whatever lines it was wrapped to.
#pragma once

#include <sstream>
#include <string>

namespace accosim {

/// Its words with one space behind each.
inline std::string unwrapped(const std::string& text) {
  std::string result;
  std::istringstream words(text);
  for (std::string word; words >> word;) result += word + ' ';
  return result;
}

}  // namespace accosim
