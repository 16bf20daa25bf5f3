// What a document shows, on a terminal and on a page of Markdown.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "reports/document.hpp"

namespace accosim {

inline std::string on_terminal(const Document& document, const ConsoleOptions& options = {}) {
  std::ostringstream out;
  print_terminal(out, document, options);
  return out.str();
}

inline std::string on_page(const Document& document) {
  std::ostringstream out;
  print_markdown(out, document);
  return out.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace accosim
