// The terminal behind the standard streams: how wide text may be, whether it may be coloured, and word of what takes
// long.
#pragma once

#include <memory>
#include <string>

#include "reports/table.hpp"

namespace accosim {

/// What is known of where text goes. Texts are those of the environment; null: not set.
struct Terminal {
  bool present = false;            ///< text goes to a terminal
  int columns = 0;                 ///< of it; 0: unknown
  const char* asked = nullptr;     ///< COLUMNS
  const char* no_color = nullptr;  ///< NO_COLOR
  const char* term = nullptr;      ///< TERM
};

/// As wide as COLUMNS says (20 to 1000), else as the terminal is, else 80. In colour on a terminal that is not "dumb",
/// and never where NO_COLOR is set to anything but nothing (no-color.org).
ConsoleOptions console_options(const Terminal& terminal);
/// Of standard output.
ConsoleOptions console_options();

/// Says on standard error what is under way, from the first second on and once a second, where that is a terminal and
/// not a dumb one; the line goes when the object does. Children that are forked meanwhile say nothing.
class Progress {
 public:
  /// `what`: "playing 4 schedules".
  explicit Progress(std::string what);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// What is under way from now on.
  void now(std::string what);

 private:
  struct Ticker;
  std::unique_ptr<Ticker> ticker_;  ///< none where nobody would see it
};

/// What `work` returns, with `what` shown meanwhile.
template <typename Work>
auto while_shown(const std::string& what, const Work& work) {
  const Progress progress(what);
  return work();
}

/// "accosim: playing 4 schedules (3 s)", cut to `width` columns.
std::string progress_line(const std::string& what, int seconds, int width);

}  // namespace accosim
