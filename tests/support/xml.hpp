// Is a text well-formed XML? A small reader of our own that every machine has, and Python's or libxml's where they are.
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "models/base/text.hpp"

namespace accosim {

/// Empty, or what is wrong. Knows elements, attributes in double quotes and the five entities: what we write.
inline std::string wrong_in_xml(const std::string& text) {
  if (first_invalid_utf8(text) != text.size()) return "not UTF-8";
  std::vector<std::string> open;
  bool root_ended = false;
  const auto at = [&](std::size_t i) { return text.substr(i, 60); };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') return "a control character at " + at(i);
    if (c == '&') {
      const std::string entity = text.substr(i, text.find(';', i) - i + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") return "no entity: " + at(i);
    }
    if (c != '<') {
      if (open.empty() && c != '\n') return "text outside the root: " + at(i);
      ++i;
      continue;
    }
    // A tag: its name, attributes NAME="VALUE" without < in the value, and its end.
    const bool closes = text[i + 1] == '/';
    std::size_t end = i + 1 + (closes ? 1 : 0);
    const std::size_t begin = end;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0)) ++end;
    const std::string name = text.substr(begin, end - begin);
    if (name.empty()) return "a tag without a name: " + at(i);
    while (end < text.size() && text[end] == ' ') {
      const std::size_t quote = text.find("=\"", end);
      const std::size_t last = quote == std::string::npos ? quote : text.find('"', quote + 2);
      if (last == std::string::npos) return "an attribute without end: " + at(end);
      const std::string value = text.substr(quote + 2, last - quote - 2);
      if (value.find('<') != std::string::npos) return "< in an attribute: " + at(end);
      end = last + 1;
    }
    const bool alone = end < text.size() && text[end] == '/';
    if (alone) ++end;
    if (end >= text.size() || text[end] != '>') return "a tag without end: " + at(i);
    if (closes) {
      if (open.empty() || open.back() != name) return "closes what is not open: " + at(i);
      open.pop_back();
      root_ended = open.empty();
    } else {
      if (open.empty() && root_ended) return "a second root: " + at(i);
      if (!alone) open.push_back(name);
    }
    i = end + 1;
  }
  return open.empty() && root_ended ? "" : "something is left open";
}

/// What stands in the elements <text>, unescaped.
inline std::vector<std::string> texts_in_svg(const std::string& svg) {
  std::vector<std::string> texts;
  for (std::size_t at = svg.find("<text "); at != std::string::npos; at = svg.find("<text ", at + 1)) {
    const std::size_t begin = svg.find('>', at) + 1;
    std::string text = svg.substr(begin, svg.find("</text>", begin) - begin);
    for (const auto& [entity, character] :
         {std::pair("&lt;", '<'), std::pair("&gt;", '>'), std::pair("&quot;", '"'), std::pair("&amp;", '&')})
      for (std::size_t found; (found = text.find(entity)) != std::string::npos;)
        text.replace(found, std::string(entity).size(), 1, character);
    texts.push_back(text);
  }
  return texts;
}

}  // namespace accosim
