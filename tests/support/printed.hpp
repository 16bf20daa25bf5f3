// What is written into a stream; of a document, on a terminal and on a page of Markdown.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "reports/document.hpp"

namespace accosim {

template <class Write>
std::string written(const Write& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

inline std::string on_terminal(const Document& document, const ConsoleOptions& options = {}) {
  return written([&](std::ostream& out) { print_terminal(out, document, options); });
}

inline std::string on_page(const Document& document) {
  return written([&](std::ostream& out) { print_markdown(out, document); });
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace accosim
