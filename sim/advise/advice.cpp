#include "sim/advise/advice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace accosim {
namespace {

constexpr double kSameBytes = 1e-9;

/// Points that may win, from the best on.
std::vector<std::size_t> by_merit(const std::vector<TriedPoint>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].evaluation.state == PointState::kPlayed) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return better(points[a], points[b]); });
  return order;
}

/// The same, whatever their caveats.
std::vector<std::size_t> by_time(const std::vector<TriedPoint>& points, std::vector<std::size_t> order) {
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return faster(points[a], points[b]); });
  return order;
}

/// Those that no faster one is at least as good as in memory and bytes.
std::vector<std::size_t> front_of(const std::vector<TriedPoint>& points, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> front;
  for (const std::size_t i : by_time(points, order)) {
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

void count(Findings& advice, const CandidateSpace& space, std::size_t at, FormResult& form) {
  const TriedPoint& point = advice.points[at];
  ++form.points;
  if (point.evaluation.has_time) ++advice.simulated;
  switch (point.evaluation.state) {
    case PointState::kPlayed:
      ++advice.played;
      if (point.evaluation.verdict == FitVerdict::kTight) ++advice.tight;
      return;
    case PointState::kDoesNotFit:
      ++advice.do_not_fit;
      ++form.do_not_fit;
      return;
    case PointState::kOtherBatch:
      ++advice.other_batch;
      ++form.other_batch;
      return;
    case PointState::kCannotWin:
      ++advice.cannot_win;
      ++form.cannot_win;
      return;
    case PointState::kPostponed:
    case PointState::kRefused: break;
  }
  if (is_later(space, point)) return;
  ++form.refused;
  const std::string why = reason_of(point.refusal);
  const auto known = std::ranges::find_if(
      advice.refusals, [&](const Refusal& each) { return without_numbers(each.why) == without_numbers(why); });
  if (known == advice.refusals.end())
    advice.refusals.push_back({why, 1, at});
  else
    ++known->points;
}

/// Of what was played at another batch the one that is nearest.
void note_nearest(FormResult& form, const std::vector<TriedPoint>& points, const CandidateSpace& space, double asked) {
  for (const TriedPoint& point : points) {
    const Evaluation& each = point.evaluation;
    if (each.state != PointState::kOtherBatch || candidate_of(space, point.index).form != form.form) continue;
    if (!form.nearest_samples ||
        std::abs(std::log(each.samples / asked)) < std::abs(std::log(*form.nearest_samples / asked)))
      form.nearest_samples = each.samples;
  }
}

void sort_forms(Findings& advice) {
  std::ranges::stable_sort(advice.forms, [&](const FormResult& a, const FormResult& b) {
    if (a.best && b.best) return better(advice.points[*a.best], advice.points[*b.best]);
    return a.best.has_value() && !b.best.has_value();
  });
}

/// The fastest first.
std::vector<std::size_t> faster_than(const std::vector<TriedPoint>& points, std::size_t winner,
                                     const std::vector<std::size_t>& order,
                                     const std::function<std::size_t(std::size_t)>& form_of) {
  const auto spent = [&](std::size_t i) { return points[i].evaluation.spent_per_sample(); };
  std::vector<std::size_t> faster;
  for (const std::size_t i : by_time(points, order)) {
    if (spent(winner) <= kNoticeablyFaster * spent(i)) break;
    if (std::ranges::none_of(faster, [&](std::size_t other) { return form_of(other) == form_of(i); }))
      faster.push_back(i);
  }
  return faster;
}

std::optional<std::size_t> sooner_than(const std::vector<TriedPoint>& points, std::size_t winner,
                                       const std::vector<std::size_t>& order, double within) {
  const Evaluation& best = points[winner].evaluation;
  std::optional<std::size_t> sooner;
  for (const std::size_t i : order) {
    const Evaluation& each = points[i].evaluation;
    const double before = sooner ? points[*sooner].evaluation.total_time : best.total_time / kNoticeablyFaster;
    if (each.caveats.count() <= best.caveats.count() && each.total_time < before &&
        each.spent_per_sample() <= (1 + within) * best.spent_per_sample())
      sooner = i;
  }
  return sooner;
}

std::vector<std::size_t> cheapest_by_nodes(const std::vector<TriedPoint>& points, std::size_t winner,
                                           const std::vector<std::size_t>& order) {
  std::map<int, std::size_t> cheapest;
  for (const std::size_t i : by_time(points, order)) {
    const Evaluation& each = points[i].evaluation;
    if (each.caveats.count() <= points[winner].evaluation.caveats.count()) cheapest.try_emplace(each.nodes, i);
  }
  std::vector<std::size_t> all;
  for (const auto& [nodes, i] : cheapest) all.push_back(i);
  return all;
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

Findings findings_of(const CandidateSpace& space, Searched searched, double asked, double within) {
  Findings advice;
  advice.points = std::move(searched.points);
  advice.candidates = size_of(space);
  advice.exhaustive = searched.exhaustive;
  const std::vector<TriedPoint>& points = advice.points;
  advice.forms.resize(space.forms.size());
  for (std::size_t f = 0; f < space.forms.size(); ++f) advice.forms[f].form = f;
  const auto form_of = [&](std::size_t i) { return candidate_of(space, points[i].index).form; };
  for (std::size_t i = 0; i < points.size(); ++i) count(advice, space, i, advice.forms[form_of(i)]);
  std::ranges::stable_sort(advice.refusals, [](const Refusal& a, const Refusal& b) { return a.points > b.points; });
  const std::vector<std::size_t> order = by_merit(points);
  for (const std::size_t i : order)
    if (std::optional<std::size_t>& best = advice.forms[form_of(i)].best; !best) best = i;
  advice.front = front_of(points, order);
  if (!order.empty()) {
    advice.winner = order.front();
    const std::size_t own = form_of(*advice.winner);
    for (const std::size_t i : order) {
      const bool longer = points[i].evaluation.spent_per_sample() >
                          points[*advice.winner].evaluation.spent_per_sample() * (1 + kNoticeable);
      if (!advice.next && longer && form_of(i) == own) advice.next = i;
      if (!advice.synchronous && points[i].evaluation.synchronous) advice.synchronous = i;
      const bool rival = points[i].evaluation.caveats.count() <= points[*advice.winner].evaluation.caveats.count();
      if (!advice.second && rival && form_of(i) != own) advice.second = i;
      if (i != *advice.winner && rival &&
          cannot_be_told_apart(points[i].evaluation, points[*advice.winner].evaluation)) {
        ++advice.open_points;
        if (form_of(i) != own && advice.forms[form_of(i)].best == i) advice.open.push_back(i);
      }
    }
    if (!advice.second) advice.second = advice.next;
    if (advice.synchronous == advice.winner) advice.synchronous.reset();
    advice.faster = faster_than(points, *advice.winner, order, form_of);
    advice.sooner = sooner_than(points, *advice.winner, order, within);
    advice.by_nodes = cheapest_by_nodes(points, *advice.winner, order);
  }
  for (FormResult& form : advice.forms)
    if (!form.best && form.other_batch > 0) note_nearest(form, points, space, asked);
  sort_forms(advice);
  return advice;
}

}  // namespace accosim
