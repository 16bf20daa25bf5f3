// Is a text a graph in Graphviz's language, in the part of it that we write? A small reader that every machine has.
#pragma once

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace accosim {

struct DotFile {
  std::string error;  ///< empty: it was read to its end
  std::set<std::string> nodes, edges;
};

/// Words, texts in quotes and signs; "" ends what cannot be read.
inline std::vector<std::string> dot_tokens(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    std::size_t end = at + 1;
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (text[at] == ' ' || text[at] == '\n') {
      ++at;
      continue;
    }
    if (text[at] == '"') {
      while (end < text.size() && text[end] != '"' && static_cast<unsigned char>(text[end]) >= ' ')
        end += text[end] == '\\' ? 2 : 1;
      if (end >= text.size() || text[end] != '"') return {""};
      ++end;
    } else if (text.substr(at, 2) == "->") {
      end = at + 2;
    } else if (word(text[at])) {
      while (end < text.size() && word(text[end])) ++end;
    } else if (std::string_view("{}[]=,;").find(text[at]) == std::string_view::npos) {
      return {""};
    }
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

/// Every end of an edge must be a node that is written as one.
inline DotFile parse_dot(std::string_view text) {
  DotFile file;
  const std::vector<std::string> tokens = dot_tokens(text);
  std::size_t at = 0;
  const auto is = [&](std::size_t i, const char* token) { return i < tokens.size() && tokens[i] == token; };
  const auto fail = [&](const std::string& what) {
    file.error = what + " at token " + std::to_string(at);
    return file;
  };
  const auto skip_attributes = [&] {
    if (!is(at, "[")) return true;
    for (++at; at + 2 < tokens.size() && is(at + 1, "=");) {
      at += 3;
      if (is(at, ",")) ++at;
    }
    return is(at++, "]");
  };
  std::set<std::string> ends;
  int open = 0;
  for (; at < tokens.size();) {
    if (is(at, "digraph") || is(at, "subgraph")) {
      if (is(at, "digraph") != (at == 0) || !is(at + 2, "{")) return fail("a graph in the wrong place");
      at += 3;
      ++open;
    } else if (is(at, "}")) {
      if (--open < 0 || (open == 0 && at + 1 != tokens.size())) return fail("a brace too many");
      ++at;
    } else if (is(at + 1, "=")) {
      at += 3;
      if (!is(at++, ";")) return fail("no end of a statement");
    } else {
      const std::string& name = tokens[at++];
      if (is(at, "->")) {
        file.edges.insert(name + " -> " + tokens[at + 1]);
        ends.insert(name);
        ends.insert(tokens[at + 1]);
        at += 2;
      } else if (name != "node" && name != "graph" && !file.nodes.insert(name).second) {
        return fail("a second " + name);
      }
      if (!skip_attributes() || !is(at++, ";")) return fail("no end of a statement");
    }
  }
  if (open != 0 || tokens.empty()) return fail("an open brace");
  for (const std::string& end : ends)
    if (file.nodes.count(end) == 0) return fail("no node " + end);
  return file;
}

}  // namespace accosim
