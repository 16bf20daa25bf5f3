// Where a program's time and memory go, stage by stage, for whoever asks with -v. Until watch_stages() is called a
// stage costs nothing that could be measured.
#pragma once

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
