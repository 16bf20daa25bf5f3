// The words of a script: quotes, variables, arrays, defaults and arithmetic in them become text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/launch/marked_text.hpp"

namespace accosim {

// Where parts of a script begin and end.

bool is_blank(char c);  ///< in a line
bool is_space(char c);
/// Where the name of a variable has ended that begins at `at`; `at` where none begins.
std::size_t name_end(std::string_view text, std::size_t at);
/// One past the end of what begins at `at`, or the end of the text: a text in quotes, and what is in round or curly
/// brackets.
std::size_t end_of_quoted(std::string_view text, std::size_t at, int nested = 0);
std::size_t end_of_group(std::string_view text, std::size_t at, int nested = 0);

/// A word as it is written, quotes and all, or the elements of an array behind "NAME=".
struct RawWord {
  std::string text;
  int line = 0;
  std::vector<RawWord> elements{};
  bool array = false;
};
/// Where the name ends that a word NAME=..., NAME+=... or NAME=(...) sets; 0 of any other.
std::size_t assigned_by(const RawWord& raw);

/// Of each variable its elements, one where it is no array; marked.
using ShellVariables = std::map<std::string, std::vector<std::string>>;

inline constexpr int kMostNested = 100;  ///< brackets, conditions and what is put in place of something

/// Counts how deep a text is nested while it lives. Throws ScenarioError where that is deeper than kMostNested.
class Deeper {
 public:
  Deeper(int& nested, const std::string& source, int line);
  ~Deeper() { --nested_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& nested_;
};

/// How much text a script has made. Throws ScenarioError where that is more than 2 MB, so that no script takes long.
class MadeText {
 public:
  explicit MadeText(const std::string& source) : source_(source) {}
  void count(std::size_t size);
  void count(const ShellVariables& copied);

 private:
  const std::string& source_;
  std::size_t made_ = 0;
};

/// All text that it takes and gives is marked.
class ShellWords {
 public:
  ShellWords(ShellVariables& variables, MadeText& made, const std::string& source)
      : variables_(variables), made_(made), source_(source) {}

  /// A word that is not split.
  std::string text_of(const RawWord& raw);
  std::vector<ShellText> fields_of(const RawWord& raw);
  /// As between double quotes, whose own marks are texts.
  std::string quoted_text(std::string_view text, int line);
  /// Of whole numbers.
  std::string calculated(const std::string& expression, int line);

 private:
  bool is_set(const std::string& name) const;
  void expand(std::string_view raw, int line, Fields& fields, bool whole);
  void in_double_quotes(std::string_view text, int line, Fields& fields, std::string_view escapes);
  std::size_t dollar(std::string_view text, std::size_t at, int line, Fields& fields, bool quoted);
  void insert(const std::string& value, int line, Fields& fields, bool quoted);
  bool substituted(std::string_view text, int line, Fields& fields, bool quoted);
  std::string value_of(const std::string& name) const;
  void parameter(const std::string& inside, int line, Fields& fields, bool quoted);
  void element(const std::string& name, const std::string& index, bool length, int line, Fields& fields, bool quoted);
  void modified(const std::string& name, const std::string& rest, int line, Fields& fields, bool quoted);

  ShellVariables& variables_;
  MadeText& made_;
  const std::string& source_;
  int nested_ = 0;
};

}  // namespace accosim
