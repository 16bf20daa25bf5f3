// Where a program's time and memory go, stage by stage, for whoever asks with -v. Until watch_stages() is called a
// stage costs nothing that could be measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace accosim {

/// From here on this process' stages are watched.
void watch_stages();

/// What runs while it lives. A stage inside another is not counted in the outer one.
class Stage {
 public:
  /// `name` outlives the program's last look at it: a literal.
  explicit Stage(const char* name);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
};

/// How far the play is that is under way, from 0 where it begins to 1, for whoever shows progress; any thread may ask.
void set_share(double share);
/// "38 %, 12 s left", of the outermost Steps, or else "of one play 38 %, 12 s left": nothing of what has just begun.
std::string share_in_words();

/// Work of so many steps that take about as long each: a play, or Steps, while it lives is the step that is under way.
class Steps {
 public:
  explicit Steps(std::size_t of);
  ~Steps();
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  /// So many more are over.
  void over(std::size_t steps = 1);

 private:
  double left_, before_, each_;
};

/// So many more of `what`, a literal.
void tally(const char* what, std::int64_t count);

struct StageUse {
  std::string name;
  std::int64_t times = 0;     ///< that it was entered
  double seconds = 0;         ///< of the clock on the wall
  std::int64_t peak_kib = 0;  ///< by which it made the most memory that the process ever had grow
};

struct StagesUsed {
  std::vector<StageUse> stages;  ///< in the order in which they were entered first
  std::vector<std::pair<std::string, std::int64_t>> tallies;
  StageUse outside;  ///< since watch_stages(), in no stage; its memory: what the process had before the first
};

/// Until now; nothing where stages are not watched.
StagesUsed stages_used();

}  // namespace accosim
