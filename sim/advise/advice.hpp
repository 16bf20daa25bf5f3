// From points that were tried to an answer: the best, what comes second, what nothing beats in everything, what cannot
// be told apart, and why points cannot win.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/advise/candidates.hpp"
#include "sim/advise/search.hpp"

namespace accosim {

/// A schedule's part in the answer.
struct FormResult {
  std::size_t form = 0;
  std::optional<std::size_t> best;  ///< index in Findings::points; absent: none of its points can win
  std::size_t points = 0, cannot_win = 0, do_not_fit = 0, other_batch = 0, refused = 0;
  std::optional<double> nearest_samples;  ///< of an update, where none can win and some were of another batch
};

/// Points that are refused, by reason.
struct Refusal {
  std::string why;
  std::size_t points = 0;
  std::size_t first = 0;  ///< index in Findings::points of one
};

/// What takes longer by less than this fraction is not worth naming as the next.
inline constexpr double kNoticeable = 1e-3;

struct Findings {
  std::vector<TriedPoint> points;  ///< by index in the space
  std::size_t candidates = 0;
  bool exhaustive = false;
  std::size_t simulated = 0;          ///< those whose time is known: what the budget counts
  std::size_t played = 0, tight = 0;  ///< of those that may win; `tight` of these
  std::size_t cannot_win = 0, do_not_fit = 0, other_batch = 0;
  std::vector<Refusal> refusals;           ///< the most frequent first
  std::optional<std::size_t> winner;       ///< indices in points, here and below; the one of the fewest caveats
  std::optional<std::size_t> second;       ///< the best of another schedule that has no more caveats, else
                                           ///< `next`
  std::optional<std::size_t> synchronous;  ///< where the winner is delayed or local: the best that is neither
  std::optional<std::size_t> next;         ///< the next of the winner's schedule that takes noticeably longer
  /// Of those with more caveats than the winner the best of each schedule, where it is kNoticeablyFaster.
  std::vector<std::size_t> faster;
  /// Of those that spend little more than the winner, with no more caveats, the one that is done first, where that is
  /// noticeably sooner.
  std::optional<std::size_t> sooner;
  /// Of points with no more caveats than the winner the cheapest on each number of nodes, from the fewest on.
  std::vector<std::size_t> by_nodes;
  std::vector<FormResult> forms;   ///< from the best on
  std::vector<std::size_t> front;  ///< by time: no other is as good in time, memory and bytes and better in one of them
  std::vector<std::size_t> open;   ///< best of other schedules that the interval cannot tell from the winner
  std::size_t open_points = 0;     ///< all such points, other than the winner
};

/// `asked`: samples of an update. `within`: how much more Findings::sooner may spend, as a fraction.
Findings findings_of(const CandidateSpace& space, Searched searched, double asked, double within = 0);

/// Whether the 80 % interval of the ratio of their times per sample holds 1.
bool cannot_be_told_apart(const Evaluation& a, const Evaluation& b);

/// Without the place in a file that an error of the loader begins with.
std::string reason_of(const std::string& error);

}  // namespace accosim
