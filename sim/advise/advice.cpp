#include "sim/advise/advice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace accosim {
namespace {

constexpr double kSameBytes = 1e-9;
constexpr double kWorthSaying = 0.01;  ///< of the winner's update

/// Points that may win, from the best on.
std::vector<std::size_t> by_merit(const std::vector<TriedPoint>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].evaluation.state == PointState::kPlayed) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return better(points[a], points[b]); });
  return order;
}

/// Those that no faster one is at least as good as in memory and bytes; `by_time`: the fastest first.
std::vector<std::size_t> front_of(const std::vector<TriedPoint>& points, const std::vector<std::size_t>& by_time) {
  std::vector<std::size_t> front;
  for (const std::size_t i : by_time) {
    const Evaluation& each = points[i].evaluation;
    const auto beats = [&](std::size_t other) {
      const Evaluation& kept = points[other].evaluation;
      return kept.memory <= each.memory && kept.sent <= each.sent * (1 + kSameBytes);
    };
    if (std::ranges::none_of(front, beats)) front.push_back(i);
  }
  return front;
}

/// Reasons that differ in numbers alone are one.
std::string without_numbers(const std::string& text) {
  std::string rest;
  for (const char c : text)
    if (c < '0' || c > '9') rest += c;
  return rest;
}

/// Whether it is what nobody asked for: Knob::later.
bool is_later(const CandidateSpace& space, const TriedPoint& point) {
  const Candidate candidate = candidate_of(space, point.index);
  const std::vector<Knob>& knobs = space.forms[candidate.form].knobs;
  for (std::size_t k = 0; k < knobs.size(); ++k)
    if (candidate.at[k] >= knobs[k].later) return true;
  return false;
}

void count(PointCounts& counts, const Evaluation& each, bool later) {
  ++counts.tried;
  if (each.has_time) ++counts.simulated;
  switch (each.state) {
    case PointState::kPlayed:
      ++counts.played;
      if (each.verdict == FitVerdict::kTight) ++counts.tight;
      break;
    case PointState::kDoesNotFit: ++counts.do_not_fit; break;
    case PointState::kOtherBatch: ++counts.other_batch; break;
    case PointState::kCannotWin: ++counts.cannot_win; break;
    case PointState::kPostponed:
    case PointState::kRefused:
      if (!later) ++counts.refused;
      break;
  }
}

void note_refusal(std::vector<Refusal>& refusals, const std::string& why) {
  const auto known =
      std::ranges::find(refusals, without_numbers(why), [](const Refusal& each) { return without_numbers(each.why); });
  if (known == refusals.end())
    refusals.push_back({why, 1});
  else
    ++known->points;
}

/// Of points of another batch the one that is nearest.
void note_nearest(std::optional<double>& nearest, double samples, double asked) {
  const auto distance = [&](double of) { return std::abs(std::log(of / asked)); };
  if (!nearest || distance(samples) < distance(*nearest)) nearest = samples;
}

/// From the best on, and last those of which nothing may win.
void sort_forms(std::vector<FormResult>& forms, const std::vector<TriedPoint>& points) {
  std::ranges::stable_sort(forms, [&](const FormResult& a, const FormResult& b) {
    if (a.best && b.best) return better(points[*a.best], points[*b.best]);
    return a.best.has_value() && !b.best.has_value();
  });
}

/// Of those that spend little more than the winner the one that is done first.
std::optional<std::size_t> sooner_than(const std::vector<TriedPoint>& points, std::size_t winner,
                                       const std::vector<std::size_t>& rivals, double within) {
  const Evaluation& best = points[winner].evaluation;
  std::optional<std::size_t> sooner;
  for (const std::size_t i : rivals) {
    const Evaluation& each = points[i].evaluation;
    const double before = sooner ? points[*sooner].evaluation.total_time : best.total_time / kNoticeablyFaster;
    if (each.total_time < before && each.spent_per_sample() <= (1 + within) * best.spent_per_sample()) sooner = i;
  }
  return sooner;
}

/// The first that is so.
template <typename Is>
std::optional<std::size_t> first_of(const std::vector<std::size_t>& order, const Is& is) {
  const auto found = std::ranges::find_if(order, is);
  return found == order.end() ? std::nullopt : std::optional(*found);
}

/// `order`: those that may win, from the best on. `forms`: of each point.
void compare_with_winner(Findings& advice, const std::vector<std::size_t>& order, const std::vector<std::size_t>& forms,
                         double within) {
  const std::vector<TriedPoint>& points = advice.points;
  const std::size_t winner = order.front(), own = forms[winner];
  const auto spent = [&](std::size_t i) { return points[i].evaluation.spent_per_sample(); };
  const auto caveats = [&](std::size_t i) { return points[i].evaluation.caveats.count(); };
  // The winner, which has the fewest caveats, and the others that have no more.
  const std::vector<std::size_t> rivals(
      order.begin(), std::ranges::find_if(order, [&](std::size_t i) { return caveats(i) > caveats(winner); }));
  advice.winner = winner;
  advice.next =
      first_of(order, [&](std::size_t i) { return forms[i] == own && spent(i) > spent(winner) * (1 + kNoticeable); });
  advice.second = first_of(rivals, [&](std::size_t i) { return forms[i] != own; });
  if (!advice.second) advice.second = advice.next;
  advice.synchronous = first_of(order, [&](std::size_t i) { return points[i].evaluation.synchronous; });
  if (advice.synchronous == winner) advice.synchronous.reset();
  advice.sooner = sooner_than(points, winner, rivals, within);
  std::map<int, std::size_t> by_nodes;
  for (const std::size_t i : rivals) {
    by_nodes.try_emplace(points[i].evaluation.nodes, i);
    if (i == winner || !cannot_be_told_apart(points[i].evaluation, points[winner].evaluation)) continue;
    ++advice.open_points;
    if (forms[i] != own && advice.forms[forms[i]].best == i) advice.open.push_back(i);
  }
  for (const auto& [nodes, i] : by_nodes) advice.by_nodes.push_back(i);
  std::vector<std::size_t> by_time = order;  // whatever their caveats
  std::ranges::stable_sort(by_time, [&](std::size_t a, std::size_t b) { return faster(points[a], points[b]); });
  advice.front = front_of(points, by_time);
  std::set<std::size_t> named;
  for (const std::size_t i : by_time) {
    if (spent(winner) <= kNoticeablyFaster * spent(i)) break;
    if (named.insert(forms[i]).second) advice.faster.push_back(i);
  }
}

/// The points that differ from this one by the position of the named knob alone.
std::vector<std::size_t> siblings(const CandidateSpace& space, const std::vector<TriedPoint>& points, std::size_t at,
                                  const std::string& knob) {
  std::vector<std::size_t> found;
  const std::size_t index = points[at].index;
  const std::vector<Knob>& knobs = space.forms[candidate_of(space, index).form].knobs;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (knobs[k].name != knob) continue;
    for (const std::size_t other : changes_of(space, index, k, knobs[k].alternatives.size())) {
      const auto point = std::ranges::lower_bound(points, other, {}, &TriedPoint::index);
      if (point != points.end() && point->index == other)
        found.push_back(static_cast<std::size_t>(point - points.begin()));
    }
  }
  return found;
}

}  // namespace

std::string reason_of(const std::string& error) {
  const std::size_t colon = error.find(": ");
  if (colon == std::string::npos) return error;
  const std::string place = error.substr(0, colon);
  const bool is_place = place.rfind("--set", 0) == 0 || place.rfind("default", 0) == 0 ||
                        (place.find(" /") != std::string::npos && place.find(':') != std::string::npos);
  return is_place ? error.substr(colon + 2) : error;
}

bool cannot_be_told_apart(const Evaluation& a, const Evaluation& b) {
  const double ratio = a.spent_per_sample() / b.spent_per_sample();
  const Interval interval = interval_80(ratio, ratio_spread(a.spread, b.spread));
  return interval.low <= 1 && interval.high >= 1;
}

Findings findings_of(const CandidateSpace& space, std::vector<TriedPoint> points, double asked, double within) {
  Findings advice;
  advice.candidates = size_of(space);
  advice.exhaustive = points.size() == advice.candidates;
  advice.forms.resize(space.forms.size());
  for (std::size_t f = 0; f < space.forms.size(); ++f) advice.forms[f].form = f;
  std::vector<std::size_t> forms;
  for (const TriedPoint& point : points) forms.push_back(candidate_of(space, point.index).form);
  const std::vector<std::size_t> order = by_merit(points);
  for (const std::size_t i : order)
    if (std::optional<std::size_t>& best = advice.forms[forms[i]].best; !best) best = i;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Evaluation& each = points[i].evaluation;
    FormResult& form = advice.forms[forms[i]];
    const bool later = is_later(space, points[i]);
    count(advice, each, later);
    count(form, each, later);
    if (each.state == PointState::kRefused && !later) note_refusal(advice.refusals, reason_of(points[i].refusal));
    if (each.state == PointState::kOtherBatch && !form.best) note_nearest(form.nearest_samples, each.samples, asked);
  }
  std::ranges::stable_sort(advice.refusals, std::greater(), &Refusal::points);
  advice.points = std::move(points);
  if (!order.empty()) compare_with_winner(advice, order, forms, within);
  sort_forms(advice.forms, advice.points);
  return advice;
}

Choice choice_at(const Answer& answer, std::size_t point) {
  return choice_of(answer.space, answer.advice.points[point].index);
}

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
  for (const std::size_t at : siblings(space, advice.points, *advice.winner, "late_communication")) add(at);
  for (const FormResult& form : advice.forms)
    if (form.best) add(*form.best);
  if (advice.next) add(*advice.next);
  return rivals;
}

std::vector<std::pair<TimeUse, Seconds>> differences_of(const Answer& answer) {
  std::vector<std::pair<TimeUse, Seconds>> all;
  if (answer.time_parts.empty()) return all;
  const Evaluation& winner = answer.advice.points[*answer.advice.winner].evaluation;
  const Evaluation& second = answer.advice.points[*answer.advice.second].evaluation;
  for (std::size_t use = 0; use < kTimeUses; ++use) {
    const Seconds more = winner.samples / second.samples * answer.time_parts[1][use] - answer.time_parts[0][use];
    if (std::abs(more.value) >= kWorthSaying * winner.update_time) all.emplace_back(static_cast<TimeUse>(use), more);
  }
  std::ranges::stable_sort(all, std::greater(), [](const auto& each) { return std::abs(each.second.value); });
  return all;
}

}  // namespace accosim
