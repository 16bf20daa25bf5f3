#include "sim/advise/search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace accosim {
namespace {

/// Of a form all combinations of its coarse knobs, the others at their first alternative.
std::vector<std::size_t> coarse_points(const CandidateSpace& space, std::size_t form) {
  const std::vector<Knob>& knobs = space.forms[form].knobs;
  std::vector<Candidate> all{{form, std::vector<std::size_t>(knobs.size(), 0)}};
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (!knobs[k].coarse) continue;
    std::vector<Candidate> more;
    for (const Candidate& each : all)
      for (std::size_t i = 0; i < std::min(knobs[k].alternatives.size(), knobs[k].later); ++i) {
        more.push_back(each);
        more.back().at[k] = i;
      }
    all = std::move(more);
  }
  return mapped<std::size_t>(all, [&](const Candidate& each) { return index_of(space, each); });
}

// Points that take long, played at once: few before something is known that the others can be held against.
constexpr std::size_t kFirstTogether = 2, kTogether = 16;

/// Of what a sample takes, in time or money.
double steps_of(double spent) { return std::floor(std::log(spent) / std::log1p(kEqualTimes)); }

class Search {
 public:
  Search(const CandidateSpace& space, std::size_t budget, const TryPoints& tried, double within)
      : space_(space), budget_(budget), most_(kLooksAPlay * budget), tried_(tried), within_(within) {}

  void everything() {
    std::vector<std::size_t> all(size_of(space_));
    std::iota(all.begin(), all.end(), std::size_t{0});
    play(all);
  }

  /// Whatever the budget: no answer is worse than what is written.
  void as_written() {
    std::vector<std::size_t> all;
    for (const Candidate& each : space_.as_written) all.push_back(index_of(space_, each));
    budget_ = std::max(budget_, all.size());
    most_ = std::max(most_, kLooksAPlay * budget_);
    play(all);
  }

  void coarsely() {
    std::vector<std::size_t> all;
    for (std::size_t form = 0; form < space_.forms.size(); ++form)
      for (const std::size_t index : coarse_points(space_, form)) all.push_back(index);
    const std::size_t room = std::max<std::size_t>(1, budget_ / 2), every = (all.size() + room - 1) / room;
    for (std::size_t first = 0; first < every && plays_ < room; ++first) {
      std::vector<std::size_t> some;
      for (std::size_t i = first; i < all.size(); i += every) some.push_back(all[i]);
      play(some, room);
    }
  }

  /// Every change of one knob around the best of each form, until that changes no best one.
  void refine() {
    for (;;) {
      std::vector<std::size_t> next;
      const std::vector<std::size_t> forms = forms_by_merit();
      for (const std::size_t form : forms)
        for (const std::size_t index : changes_of_one(best_.at(form), form == forms.front())) next.push_back(index);
      if (!play(next)) return;
    }
  }

  /// Every change of two knobs around the best of a form, from the best form on; whether there was one to play.
  bool refine_pairs() {
    for (const std::size_t form : forms_by_merit()) {
      std::vector<std::size_t> next;
      for (const std::size_t index : changes_of_one(best_.at(form), false))
        for (const std::size_t other : changes_of_one(index, false)) next.push_back(other);
      if (play(next)) return true;
    }
    return false;
  }

  std::vector<TriedPoint> points() const {
    std::vector<TriedPoint> all;
    for (const auto& [index, point] : points_) all.push_back(point);
    return all;
  }

 private:
  bool play(const std::vector<std::size_t>& indices) { return play(indices, budget_); }

  /// Those of `indices` that are new, until so many points have been played in all; false where there are none.
  bool play(const std::vector<std::size_t>& indices, std::size_t plays) {
    std::vector<std::size_t> fresh;
    std::set<std::size_t> seen;
    for (const std::size_t index : indices)
      if (!points_.contains(index) && seen.insert(index).second) fresh.push_back(index);
    // As many at once as may all be played; whoever is not played leaves room for others.
    std::size_t from = 0;
    while (from < fresh.size()) {
      const std::size_t room = std::min({fresh.size() - from, plays - std::min(plays, plays_), most_ - points_.size()});
      if (room == 0) break;
      const auto first = fresh.begin() + static_cast<std::ptrdiff_t>(from);
      play_together({first, first + static_cast<std::ptrdiff_t>(room)});
      from += room;
    }
    return from > 0;
  }

  void play_together(const std::vector<std::size_t>& indices) {
    std::vector<TriedPoint> postponed;
    for (TriedPoint& point : tried_(indices, {.postponed = true, .best = limit()})) {
      if (point.evaluation.state == PointState::kPostponed)
        postponed.push_back(std::move(point));
      else
        keep(std::move(point));
    }
    play_postponed(std::move(postponed));
  }

  /// A few at a time, from the most hopeful on.
  void play_postponed(std::vector<TriedPoint> points) {
    std::ranges::stable_sort(points, [](const TriedPoint& a, const TriedPoint& b) {
      return a.evaluation.spent_per_sample() < b.evaluation.spent_per_sample();
    });
    const auto may_win = [&](const TriedPoint& point) {
      return !best_spent_ || point.evaluation.spent_per_sample() <= point.evaluation.hopeful * *limit();
    };
    std::size_t together = kFirstTogether;
    for (std::size_t from = 0; from < points.size();) {
      std::vector<std::size_t> some;
      for (; from < points.size() && some.size() < together; ++from) {
        if (may_win(points[from])) {
          some.push_back(points[from].index);
          continue;
        }
        points[from].evaluation.state = PointState::kCannotWin;
        keep(std::move(points[from]));
      }
      if (some.empty()) continue;
      const auto waiting = static_cast<std::size_t>(
          std::count_if(points.begin() + static_cast<std::ptrdiff_t>(from), points.end(), may_win));
      for (TriedPoint& point : tried_(some, {.postponed = false, .best = limit(), .waiting = waiting}))
        keep(std::move(point));
      together = std::min(kTogether, 2 * together);
    }
  }

  /// What spends more is not asked for.
  std::optional<double> limit() const {
    return best_spent_ ? std::optional((1 + within_) * *best_spent_) : std::nullopt;
  }

  void keep(TriedPoint point) {
    const std::size_t form = candidate_of(space_, point.index).form, index = point.index;
    const Evaluation& each = point.evaluation;
    if (each.has_time) ++plays_;
    if (each.state == PointState::kPlayed && each.caveats.none() &&
        (!best_spent_ || each.spent_per_sample() < *best_spent_))
      best_spent_ = each.spent_per_sample();
    const auto best = best_.find(form);
    if (best == best_.end() || better(point, points_.at(best->second))) best_[form] = index;
    points_.emplace(index, std::move(point));
  }

  std::vector<std::size_t> forms_by_merit() const {
    std::vector<std::size_t> forms;
    for (const auto& [form, index] : best_) forms.push_back(form);
    std::ranges::stable_sort(
        forms, [&](std::size_t a, std::size_t b) { return better(points_.at(best_.at(a)), points_.at(best_.at(b))); });
    return forms;
  }

  /// `later`: to those alternatives too that are tried alone.
  std::vector<std::size_t> changes_of_one(std::size_t index, bool later) const {
    std::vector<std::size_t> changes;
    const std::vector<Knob>& knobs = space_.forms[candidate_of(space_, index).form].knobs;
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      const std::size_t most = later ? knobs[k].alternatives.size() : knobs[k].later;
      for (const std::size_t change : changes_of(space_, index, k, most)) changes.push_back(change);
    }
    return changes;
  }

  const CandidateSpace& space_;
  std::size_t budget_, most_, plays_ = 0;  // points that may be played, and looked at; that were played
  const TryPoints& tried_;
  double within_;
  std::map<std::size_t, TriedPoint> points_;  // by index
  std::map<std::size_t, std::size_t> best_;   // index, by form
  std::optional<double> best_spent_;          // a sample
};

}  // namespace

bool better(const TriedPoint& a, const TriedPoint& b) {
  const Evaluation &x = a.evaluation, &y = b.evaluation;
  if (x.state != y.state) return x.state < y.state;
  if (x.state == PointState::kPlayed && x.caveats.count() != y.caveats.count())
    return x.caveats.count() < y.caveats.count();
  if (x.state <= PointState::kCannotWin) return faster(a, b);
  if (x.state != PointState::kRefused && x.memory != y.memory) return x.memory < y.memory;
  return a.index < b.index;
}

bool faster(const TriedPoint& a, const TriedPoint& b) {
  const Evaluation &x = a.evaluation, &y = b.evaluation;
  for (const auto spent : {&Evaluation::spent_per_sample, &Evaluation::time_per_asked_sample})
    if (const double a_steps = steps_of((x.*spent)()), b_steps = steps_of((y.*spent)()); a_steps != b_steps)
      return a_steps < b_steps;
  if (x.memory != y.memory) return x.memory < y.memory;
  return a.index < b.index;
}

std::vector<TriedPoint> search(const CandidateSpace& space, std::size_t budget, const TryPoints& tried, double within) {
  Search searching(space, budget, tried, within);
  if (size_of(space) <= budget) {
    searching.everything();
    return searching.points();
  }
  searching.as_written();
  searching.coarsely();
  do {
    searching.refine();
  } while (searching.refine_pairs());
  return searching.points();
}

}  // namespace accosim
