// Of a sweep of unlike clusters (Heading::fair): is the whole cluster faster than its fastest part alone, and where
// does that change?
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/summary.hpp"

namespace accosim {

/// Points at which a schedule trains an unlike cluster, compared per token with the part under the part's own best
/// schedule.
struct Worth {
  std::size_t points = 0;            ///< of them
  std::size_t pays = 0;              ///< where the whole is faster
  std::size_t open = 0;              ///< where the 80 % interval leaves open which is
  double over_alone = 0;             ///< median
  double over_best_synchronous = 0;  ///< median, at equal samples an update; NaN where no point has it
};
/// No schedule: the winner of each point, or the nearest to it, per token.
Worth worth_of(const SweepRows& rows, std::optional<std::size_t> schedule, const WinnerRule& rule);

/// Points of unlike clusters that train, and of which no part has room for the training.
std::size_t only_together(const SweepRows& rows);

/// Along one axis, all else equal, the part is faster on one side and the whole cluster on the other; where, as for a
/// Crossover.
struct WorthChange {
  std::size_t axis = 0;
  bool from = true;  ///< the whole cluster is faster above
  double low = 0, high = 0;
  std::size_t lines = 0;
  std::string part, others;  ///< empty where they differ from line to line
};
/// Of the numeric axes of a grid, the most frequent first.
std::vector<WorthChange> worth_changes(const SweepRows& rows, std::optional<std::size_t> schedule,
                                       const WinnerRule& rule);

}  // namespace accosim
