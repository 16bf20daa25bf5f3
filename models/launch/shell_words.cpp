#include "models/launch/shell_words.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>

#include "models/base/text.hpp"
#include "models/launch/shell_arithmetic.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// What stays of a text without the shortest or longest part that a pattern matches at one of its ends.
std::string without(const std::string& text, const std::string& pattern, bool at_end, bool longest) {
  std::vector<std::size_t> lengths(text.size() + 1);
  for (std::size_t i = 0; i <= text.size(); ++i) lengths[i] = longest ? text.size() - i : i;
  for (const std::size_t length : lengths) {
    const std::string part = at_end ? text.substr(text.size() - length) : text.substr(0, length);
    if (fnmatch(pattern.c_str(), part.c_str(), 0) == 0)
      return at_end ? text.substr(0, text.size() - length) : text.substr(length);
  }
  return text;
}

}  // namespace

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_space(char c) { return is_blank(c) || c == '\n'; }

std::size_t name_end(std::string_view text, std::size_t at) {
  if (at >= text.size() || !begins_name(text[at])) return at;
  while (at < text.size() && in_name(text[at])) ++at;
  return at;
}

std::size_t assigned_by(const RawWord& raw) {
  const std::size_t end = name_end(raw.text, 0);
  return raw.text.substr(end).starts_with("=") || raw.text.substr(end).starts_with("+=") ? end : 0;
}

std::size_t end_of_quoted(std::string_view text, std::size_t at, int nested) {
  const char quote = text[at++];
  for (; at < text.size() && text[at] != quote; ++at) {
    if (quote == '\'') continue;
    if (text[at] == '\\') ++at;
    if (quote == '"' && at < text.size() && text[at] == '`') at = end_of_quoted(text, at, nested + 1) - 1;
    if (quote == '"' && text[at] == '$' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{'))
      at = end_of_group(text, at + 1, nested + 1) - 1;
  }
  return std::min(at + 1, text.size());
}

std::size_t end_of_group(std::string_view text, std::size_t at, int nested) {
  if (nested > kMostNested) return text.size();
  std::vector<char> open;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      ++at;
    } else if (c == '\'' || c == '"' || c == '`') {
      at = end_of_quoted(text, at, nested) - 1;
    } else if (c == '(' || c == '{') {
      open.push_back(c);
    } else if ((c == ')' && open.back() == '(') || (c == '}' && open.back() == '{')) {
      open.pop_back();
      if (open.empty()) return at + 1;
    }
  }
  return text.size();
}

Deeper::Deeper(int& nested, const std::string& source, int line) : nested_(nested) {
  if (nested_ >= kMostNested)
    throw ScenarioError({fmt::format("{}:{}: is nested more than {} deep", source, line, kMostNested)});
  ++nested_;
}

void MadeText::count(std::size_t size) {
  constexpr std::size_t kMost = 2'000'000;
  made_ += size;
  if (made_ > kMost)
    throw ScenarioError({fmt::format("{}: its variables make more than {} MB of text; leave out what makes it", source_,
                                     kMost / 1'000'000)});
}
void MadeText::count(const ShellVariables& copied) {
  for (const auto& [name, elements] : copied)
    for (const std::string& each : elements) count(name.size() + each.size());
}

/// A word that is not split.
std::string ShellWords::text_of(const RawWord& raw) {
  Fields fields(raw.line);
  expand(raw.text, raw.line, fields, true);
  return fields.joined();
}
std::vector<ShellText> ShellWords::fields_of(const RawWord& raw) {
  Fields fields(raw.line);
  expand(raw.text, raw.line, fields, false);
  return fields.words();
}
/// As between double quotes, whose own marks are texts.
std::string ShellWords::quoted_text(std::string_view text, int line) {
  Fields fields(line);
  in_double_quotes(text, line, fields, "$`\\");
  return fields.joined();
}

void ShellWords::expand(std::string_view raw, int line, Fields& fields, bool whole) {
  for (std::size_t i = 0; i < raw.size();) {
    const char c = raw[i];
    if (const std::size_t mark = end_of_mark(raw, i); mark > i) {
      fields.add(raw.substr(i, mark - i), whole);
      i = mark;
    } else if (c == '\\') {
      const std::size_t newline = i + 1 + (i + 2 < raw.size() && raw[i + 1] == '\r' ? 1 : 0);
      if (newline < raw.size() && raw[newline] == '\n') {
        fields.add(line_mark(++line), whole);
        i = newline + 1;
        continue;
      }
      fields.add(raw.substr(i + 1, 1), true);
      i += 2;
    } else if (c == '\'' || c == '"') {
      const std::size_t end = end_of_quoted(raw, i);
      const std::string_view inside = raw.substr(i + 1, end - i - 2);
      const bool all_of_an_array =
          inside.starts_with("${") && inside.ends_with("[@]}") && end_of_group(inside, 1) == inside.size();
      if (!all_of_an_array) fields.begin();
      if (c == '"')
        in_double_quotes(inside, line, fields, "$`\"\\");
      else
        fields.add(inside, true);
      line += static_cast<int>(std::ranges::count(inside, '\n'));
      i = end;
    } else if (c == '$' || c == '`') {
      i = dollar(raw, i, line, fields, whole);
    } else {
      fields.add(raw.substr(i, 1), true);
      ++i;
    }
  }
}

void ShellWords::in_double_quotes(std::string_view text, int line, Fields& fields, std::string_view escapes) {
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t mark = end_of_mark(text, i); mark > i) {
      fields.add(text.substr(i, mark - i), true);
      i = mark;
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      const std::size_t newline = i + 1 + (i + 2 < text.size() && text[i + 1] == '\r' ? 1 : 0);
      if (text[newline] == '\n') {
        fields.add(line_mark(++line), true);
        i = newline + 1;
        continue;
      }
      const bool escaped = escapes.find(text[i + 1]) != std::string_view::npos;
      fields.add(text.substr(escaped ? i + 1 : i, escaped ? 1 : 2), true);
      i += 2;
    } else if (text[i] == '$' || text[i] == '`') {
      i = dollar(text, i, line, fields, true);
    } else {
      fields.add(text.substr(i, 1), true);
      if (text[i] == '\n') fields.add(line_mark(++line), true);
      ++i;
    }
  }
}

/// What a "$" or "`" at `at` stands for; where it ends.
std::size_t ShellWords::dollar(std::string_view text, std::size_t at, int line, Fields& fields, bool quoted) {
  const Deeper deeper(nested_, source_, line);
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  const auto unknown = [&](std::size_t end) {
    fields.add(unknown_mark(text.substr(at, end - at)), quoted);
    return end;
  };
  if (text[at] == '`') return unknown(end_of_quoted(text, at));
  if (next == '(') {
    const std::size_t end = end_of_group(text, at + 1);
    if (text.substr(at + 1, 2) != "((")
      return substituted(text.substr(at, end - at), line, fields, quoted) ? end : unknown(end);
    fields.add(calculated(std::string(text.substr(at + 3, end - at - 5)), line), quoted);
    return end;
  }
  if (next == '{') {
    const std::size_t end = end_of_group(text, at + 1);
    parameter(std::string(text.substr(at + 2, end - at - 3)), line, fields, quoted);
    return end;
  }
  if (std::size_t end = name_end(text, at + 1); end > at + 1 || (next >= '0' && next <= '9')) {
    end = std::max(end, at + 2);
    insert(value_of(std::string(text.substr(at + 1, end - at - 1))), line, fields, quoted);
    return end;
  }
  if (next != '\0' && std::string_view("@*#?$!-").find(next) != std::string_view::npos) return unknown(at + 2);
  fields.add("$", true);
  return at + 1;
}

/// A variable's text, behind which this line goes on.
void ShellWords::insert(const std::string& value, int line, Fields& fields, bool quoted) {
  made_.count(value.size());
  fields.add(value, quoted);
  fields.add(line_mark(line), quoted);
}

/// The output of an `echo` of what is known; of other commands nothing.
bool ShellWords::substituted(std::string_view text, int line, Fields& fields, bool quoted) {
  const std::string_view inside = trimmed(text.substr(2, text.size() - 3));
  if (!inside.starts_with("echo ") || inside.find_first_of("|;&<>\n") != std::string_view::npos) return false;
  Fields words(line);
  expand(inside.substr(5), line, words, false);
  insert(words.joined(), line, fields, quoted);
  return true;
}

bool ShellWords::is_set(const std::string& name) const { return variables_.contains(name); }
/// The first element of a variable.
std::string ShellWords::value_of(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return unknown_mark("$" + name);
  return found->second.empty() ? "" : found->second.front();
}

/// What stands between ${ and }.
void ShellWords::parameter(const std::string& inside, int line, Fields& fields, bool quoted) {
  const auto unknown = [&] { fields.add(unknown_mark("${" + inside + "}"), quoted); };
  const bool length = inside.starts_with('#');
  const std::size_t begin = length ? 1 : 0;
  std::size_t end = name_end(inside, begin);
  while (end == begin && end < inside.size() && std::isdigit(static_cast<unsigned char>(inside[end])) != 0) ++end;
  const std::string name = inside.substr(begin, end - begin);
  if (name.empty()) return unknown();
  std::string index;
  if (end < inside.size() && inside[end] == '[') {
    const std::size_t close = inside.find(']', end);
    if (close == std::string::npos) return unknown();
    index = inside.substr(end + 1, close - end - 1);
    end = close + 1;
  }
  const std::string rest = inside.substr(end);
  if (rest.empty() && index.empty() && !length) return insert(value_of(name), line, fields, quoted);
  if (!index.empty() || length) {
    if (!is_set(name) || !rest.empty()) return unknown();
    return element(name, index, length, line, fields, quoted);
  }
  modified(name, rest, line, fields, quoted);
}

/// ${NAME[@]}, ${NAME[2]}, ${#NAME} and ${#NAME[@]} of a variable that is set.
void ShellWords::element(const std::string& name, const std::string& index, bool length, int line, Fields& fields,
                         bool quoted) {
  const std::vector<std::string>& elements = variables_.at(name);
  if (length) {
    const std::size_t size = index.empty() ? plain(value_of(name)).size() : elements.size();
    return fields.add(std::to_string(size), quoted);
  }
  if (index != "@" && index != "*") {
    const std::optional<int> place = whole_number(calculated(index, line));
    if (!place || static_cast<std::size_t>(*place) >= elements.size())
      return fields.add(unknown_mark("${" + name + "[" + index + "]}"), quoted);
    return insert(elements[static_cast<std::size_t>(*place)], line, fields, quoted);
  }
  const bool together = index == "*" && quoted;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0 && together) fields.add(" ", true);
    if (i > 0 && !together) fields.end();
    insert(elements[i], line, fields, quoted);
  }
}

/// ${NAME:-...} and the like.
void ShellWords::modified(const std::string& name, const std::string& rest, int line, Fields& fields, bool quoted) {
  const auto unknown = [&] { fields.add(unknown_mark("${" + name + rest + "}"), quoted); };
  const bool colon = rest[0] == ':';
  const char what = rest[colon ? 1 : 0];
  const std::string value = value_of(name);
  const std::string other = rest.substr(std::min<std::size_t>(colon ? 2 : 1, rest.size()));
  const bool has = is_set(name) && !(colon && plain(value).empty());
  if (what == '?' || ((what == '-' || what == '=') && has)) return insert(value, line, fields, quoted);
  if (what == '-' || what == '=') {
    const std::string usual = text_of({other, line});
    if (what == '=') variables_[name] = {usual};
    return insert(usual, line, fields, quoted);
  }
  if (what == '+')
    return has ? insert(text_of({other, line}), line, fields, quoted) : is_set(name) ? void() : unknown();
  constexpr std::size_t kMostMatched = 4096;  // each part of it is held against the pattern
  if ((what != '%' && what != '#') || colon || !unknown_of(value).empty() || value.size() > kMostMatched)
    return unknown();
  const bool longest = !other.empty() && other[0] == what;
  const std::string pattern = plain(text_of({longest ? other.substr(1) : other, line}));
  fields.add(without(plain(value), pattern, what == '%', longest), quoted);
}

/// Of whole numbers.
std::string ShellWords::calculated(const std::string& expression, int line) {
  const std::string text = without_lines(quoted_text(expression, line));
  if (const std::string unknown = unknown_of(text); !unknown.empty()) return unknown_mark(unknown);
  std::string unknown = "$((" + expression + "))";
  const auto number_of = [&](const std::string& name) {
    const std::optional<std::int64_t> number = whole(plain(value_of(name)));
    if (!number) unknown = "$" + name;
    return number;
  };
  const std::optional<std::int64_t> value = calculate(text, number_of);
  return value ? std::to_string(*value) : unknown_mark(unknown);
}

}  // namespace accosim
