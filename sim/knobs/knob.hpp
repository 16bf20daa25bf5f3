// A knob: something of a scenario that may be chosen without changing what an update computes, with its alternatives.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace accosim {

/// A key of a schedule and its value as JSON: {"overlap", "\"backward\""}.
using ScheduleKey = std::pair<std::string, std::string>;

/// One position of a knob.
struct Alternative {
  std::string text;                 ///< "activation_recompute full"; empty: nothing is written, so nothing is said
  std::vector<ScheduleKey> keys{};  ///< of the schedule
  std::vector<std::string> set{};   ///< of the rest of the scenario, as --set takes it

  bool operator==(const Alternative&) const = default;
};

struct Knob {
  std::string name;
  std::vector<Alternative> alternatives;  ///< the first is what is written
  bool coarse = false;                    ///< a search that cannot play everything begins with all of its alternatives
  /// But for those from this one on, which are tried alone, around the best that is found.
  std::size_t later = std::numeric_limits<std::size_t>::max();
};

/// Keys as a person reads them: "overlap backward, bucket_cap_mb 100".
std::string in_words(const std::vector<ScheduleKey>& keys);

}  // namespace accosim
