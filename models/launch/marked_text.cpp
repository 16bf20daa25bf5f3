#include "models/launch/marked_text.hpp"

#include <algorithm>
#include <functional>

#include "models/base/text.hpp"

namespace accosim {
namespace {

constexpr char kUnknown = '\x01', kUnknownEnd = '\x02', kLine = '\x03', kLineEnd = '\x04';

/// Walks through a marked text: each character, each part that is not known, and each line.
void walk(std::string_view text, const std::function<void(char)>& character,
          const std::function<void(std::string_view)>& unknown, const std::function<void(int)>& line) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kUnknown && text[i] != kLine) {
      character(text[i]);
      continue;
    }
    const bool is_line = text[i] == kLine;
    const std::size_t end = std::min(text.find(is_line ? kLineEnd : kUnknownEnd, i), text.size());
    const std::string_view inside = text.substr(i + 1, end - i - 1);
    if (is_line)
      line(whole_number(inside).value_or(0));
    else
      unknown(inside);
    i = end;
  }
}

}  // namespace

std::string line_mark(int line) { return kLine + std::to_string(line) + kLineEnd; }
std::string unknown_mark(std::string_view what) { return kUnknown + printable(plain(what), 80) + kUnknownEnd; }

std::size_t end_of_mark(std::string_view text, std::size_t at) {
  if (text[at] != kUnknown && text[at] != kLine) return at;
  return std::min(text.find(text[at] == kLine ? kLineEnd : kUnknownEnd, at), text.size() - 1) + 1;
}

std::string without_lines(std::string_view text) {
  std::string all;
  walk(
      text, [&](char c) { all += c; }, [&](std::string_view what) { all += unknown_mark(what); }, [](int) {});
  return all;
}

std::string unknown_of(std::string_view text) {
  std::string first;
  walk(
      text, [](char) {},
      [&](std::string_view what) {
        if (first.empty()) first = what;
      },
      [](int) {});
  return first;
}

std::string plain(std::string_view text) {
  std::string all;
  walk(
      text, [&](char c) { all += c; }, [&](std::string_view what) { all += what; }, [](int) {});
  return all;
}

ShellText seen(const ShellText& marked) { return {plain(marked.text), unknown_of(marked.text), marked.line}; }

std::string unmarked_file(std::string_view text) {
  std::string all(text);
  for (char& c : all)
    if (c >= kUnknown && c <= kLineEnd) c = ' ';
  return all;
}

void Fields::begin() {
  if (!open_) words_.push_back({"", "", line_});
  open_ = true;
}

void Fields::add(std::string_view text, bool quoted) {
  walk(
      text,
      [&](char c) {
        if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) return end();
        begin();
        words_.back().text += c;
      },
      [&](std::string_view what) {
        begin();
        words_.back().text += unknown_mark(what);
      },
      [&](int line) {
        line_ = line;
        if (open_ && quoted) words_.back().text += line_mark(line);
      });
}

std::string Fields::joined() const {
  std::string all;
  for (const ShellText& word : words_) {
    if (!all.empty()) all += ' ';
    all += line_mark(word.line) + word.text;
  }
  return all;
}

ShellLines::ShellLines(std::string_view marked, int line) : lines_{{0, line}} {
  walk(
      marked,
      [&](char c) {
        text_ += c;
        if (c == '\n') lines_.emplace_back(text_.size(), lines_.back().second + 1);
      },
      [&](std::string_view what) { text_ += unknown_mark(what); },
      [&](int at) { lines_.emplace_back(text_.size(), at); });
}

int ShellLines::line_at(std::size_t place) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), place,
                                      [](std::size_t wanted, const auto& each) { return wanted < each.first; });
  return std::prev(after)->second;
}

}  // namespace accosim
