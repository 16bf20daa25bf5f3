// Text that a script makes, as the interpreter carries it: where its parts were written, and which of them only a run
// would know, stand in it as marks, so that it can be joined and split like any other.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/launch/shell_text.hpp"

namespace accosim {

/// "from here on it was written on line N".
std::string line_mark(int line);
/// A part that only a run would know: `what` says which, "$(date)".
std::string unknown_mark(std::string_view what);

/// Where a mark that begins at `at` has ended; `at` where none begins.
std::size_t end_of_mark(std::string_view text, std::size_t at);
/// Without marks of lines; parts that are not known stay marked.
std::string without_lines(std::string_view text);
/// The first part that is not known; empty where all is.
std::string unknown_of(std::string_view text);
/// Without any mark; of a part that is not known, which it is.
std::string plain(std::string_view text);
/// As a reader sees it.
ShellText seen(const ShellText& marked);
/// What a file may not hold, since it would look like a mark, becomes a blank.
std::string unmarked_file(std::string_view text);

/// The words that a text becomes while it is put together: what no quotes hold together is split at blanks.
class Fields {
 public:
  explicit Fields(int line) : line_(line) {}

  void add(std::string_view text, bool quoted);
  void begin();  ///< a word that may be empty
  void end() { open_ = false; }

  const std::vector<ShellText>& words() const { return words_; }  ///< marked
  /// As one text, which says on which line each word was written.
  std::string joined() const;

 private:
  int line_;
  bool open_ = false;
  std::vector<ShellText> words_;
};

/// Text to be read as commands, and on which line of the script each place of it was written.
class ShellLines {
 public:
  ShellLines(std::string_view marked, int line);

  const std::string& text() const { return text_; }
  int line_at(std::size_t place) const;

 private:
  std::string text_;
  std::vector<std::pair<std::size_t, int>> lines_;  ///< from which place on which line
};

}  // namespace accosim
