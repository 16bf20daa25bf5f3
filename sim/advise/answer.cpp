#include "sim/advise/answer.hpp"

#include <algorithm>
#include <cmath>

namespace accosim {
namespace {

constexpr double kWorthSaying = 0.01;  ///< of the winner's update

/// The points that differ from this one by the position of the named knob alone.
std::vector<std::size_t> siblings(const CandidateSpace& space, const Findings& advice, std::size_t at,
                                  const std::string& knob) {
  std::vector<std::size_t> found;
  const Candidate from = candidate_of(space, advice.points[at].index);
  const std::vector<Knob>& knobs = space.forms[from.form].knobs;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (knobs[k].name != knob) continue;
    for (std::size_t i = 0; i < knobs[k].alternatives.size(); ++i) {
      Candidate to = from;
      to.at[k] = i;
      const std::size_t index = index_of(space, to);
      const auto point = std::ranges::lower_bound(advice.points, index, {}, &TriedPoint::index);
      if (i != from.at[k] && point != advice.points.end() && point->index == index)
        found.push_back(static_cast<std::size_t>(point - advice.points.begin()));
    }
  }
  return found;
}

}  // namespace

std::vector<std::size_t> rivals_of(const CandidateSpace& space, const Findings& advice, std::size_t most) {
  std::vector<std::size_t> rivals;
  const auto add = [&](std::size_t at) {
    const Evaluation& each = advice.points[at].evaluation;
    if (each.state == PointState::kPlayed && rivals.size() < most &&
        each.caveats.count() <= advice.points[*advice.winner].evaluation.caveats.count() &&
        std::ranges::find(rivals, at) == rivals.end())
      rivals.push_back(at);
  };
  if (!advice.winner) return rivals;
  add(*advice.winner);
  if (advice.second) add(*advice.second);
  for (const std::size_t at : siblings(space, advice, *advice.winner, "late_communication")) add(at);
  for (const FormResult& form : advice.forms)
    if (form.best) add(*form.best);
  if (advice.next) add(*advice.next);
  return rivals;
}

std::vector<TimeDifference> differences_of(const Answer& answer) {
  std::vector<TimeDifference> all;
  if (!answer.winner_use || !answer.second_use) return all;
  const Evaluation& winner = answer.advice.points[*answer.advice.winner].evaluation;
  const Evaluation& second = answer.advice.points[*answer.advice.second].evaluation;
  for (int use = 0; use < kTimeUses; ++use) {
    const auto at = static_cast<std::size_t>(use);
    const Seconds more = winner.samples / second.samples * answer.second_use->parts[at] - answer.winner_use->parts[at];
    if (std::abs(more.value) >= kWorthSaying * winner.update_time) all.push_back({static_cast<TimeUse>(use), more});
  }
  std::ranges::stable_sort(all, [](const TimeDifference& a, const TimeDifference& b) {
    return std::abs(a.more.value) > std::abs(b.more.value);
  });
  return all;
}

}  // namespace accosim
