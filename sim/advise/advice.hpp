// From points that were tried to an answer: the best, what comes second, what nothing beats in everything, what cannot
// be told apart, and why points cannot win.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/advise/candidates.hpp"
#include "sim/advise/evaluate.hpp"
#include "sim/advise/search.hpp"
#include "sim/advise/takeover.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// What points have come to.
struct PointCounts {
  std::size_t tried = 0;
  std::size_t simulated = 0;          ///< those whose time is known: what the budget counts
  std::size_t played = 0, tight = 0;  ///< of those that may win; `tight` of these
  std::size_t cannot_win = 0, do_not_fit = 0, other_batch = 0;
  std::size_t refused = 0;  ///< but for alternatives that nobody asked for (Knob::later)
};

/// A schedule's part in the answer.
struct FormResult : PointCounts {
  std::size_t form = 0;
  std::optional<std::size_t> best{};        ///< index in Findings::points; absent: none of its points can win
  std::optional<double> nearest_samples{};  ///< of an update, where none can win and some were of another batch
};

/// Points that are refused, by reason.
struct Refusal {
  std::string why;
  std::size_t points = 0;
};

/// What takes longer by less than this fraction is not worth naming as the next.
inline constexpr double kNoticeable = 1e-3;

struct Findings : PointCounts {
  std::vector<TriedPoint> points;  ///< by index in the space
  std::size_t candidates = 0;
  bool exhaustive = false;                 ///< the points are all there are
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

/// `points`: by index. `asked`: samples of an update. `within`: how much more Findings::sooner may spend, as a
/// fraction.
Findings findings_of(const CandidateSpace& space, std::vector<TriedPoint> points, double asked, double within = 0);

/// Whether the 80 % interval of the ratio of their times per sample holds 1.
bool cannot_be_told_apart(const Evaluation& a, const Evaluation& b);

/// Without the place in a file that an error of the loader begins with.
std::string reason_of(const std::string& error);

/// All that an answer says: for those that write it down.
struct Answer {
  std::string name;  ///< of the scenario
  std::string model;
  std::string gpus;      ///< "8 GPUs, 2 nodes x 4 A100-SXM4-80GB"
  std::string currency;  ///< of costs; empty: not told
  std::string baseline;
  AdviceQuery asked{};
  std::size_t budget = 0;
  CandidateSpace space{};
  std::vector<Warning> cautions{};    ///< about all predictions
  std::vector<TriedPoint> written{};  ///< the scenario's own schedules, as they are written
  Findings advice{};
  std::vector<TimeParts> time_parts{};  ///< of the winner and of the second; none where there is no second
  std::optional<Adding>
      adding{};  ///< of a mix: what its slower kinds of GPU bring, under the best synchronous schedule
  NetworkRate network{};
  std::vector<std::size_t> rivals{};  ///< indices in advice.points: those that other rates were tried with
  Takeovers takeovers{};              ///< by index in rivals
};

/// What its point `point` was tried with.
Choice choice_at(const Answer& answer, std::size_t point);

/// Indices in advice.points of those that may win where the network is another one, the winner first: the best of each
/// schedule, the winner's next one, and the same without accumulating while the communication is late; none of more
/// caveats. At most `most`.
std::vector<std::size_t> rivals_of(const CandidateSpace& space, const Findings& advice, std::size_t most);

/// The difference of two updates' time at the winner's samples, by what they are spent on: those of at least a
/// hundredth of the winner's time, the largest first. Positive: the second takes longer for it.
std::vector<std::pair<TimeUse, Seconds>> differences_of(const Answer& answer);

}  // namespace accosim
