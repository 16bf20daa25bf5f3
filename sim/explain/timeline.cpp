#include "sim/explain/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "sim/evaluation/critical_path.hpp"
#include "sim/explain/played_spans.hpp"

namespace accosim {
namespace {

constexpr std::int64_t kMostRepeats = 2000;  // of a loop's body, drawn one by one

struct Extent {
  double from = 0, to = 0;
  int last = 0;  // the update that ends at `to`
};

/// The last update whose end all ranks saw while they still had something to do: a rank that is ahead stops earlier.
int last_seen_by_all(const std::vector<std::vector<double>>& ends) {
  double first_stops = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& marks : ends) first_stops = std::min(first_stops, marks.back());
  const auto seen = [&](std::size_t k) {
    return std::ranges::all_of(ends, [&](const auto& marks) { return marks[k] <= first_stops; });
  };
  std::size_t last = ends.front().size() - 1;
  while (last > 1 && !seen(last)) --last;
  return static_cast<int>(last);
}

Extent extent_of(const SteadyPlay& play, const TimelineOptions& options) {
  const std::vector<std::vector<double>> ends = update_ends(play);
  const int last = last_seen_by_all(ends);
  const auto at = static_cast<std::size_t>(last);
  const std::vector<double>& marks =
      *std::ranges::max_element(ends, [at](const auto& a, const auto& b) { return a[at] < b[at]; });
  const double to = marks[at];
  const int per_mark = play.folded.graph.updates_per_mark;
  if (options.updates > 0 && options.updates % per_mark != 0)
    return {std::max(0.0, to - options.updates * play.measured.update_time.value), to, last};
  const int period = play.measured.periodic ? play.measured.last - play.measured.first : 1;
  const int wanted = options.updates > 0 ? options.updates / per_mark : period;
  const double from = wanted <= last ? marks[last - wanted] : 0;
  return {options.updates > 0 ? from : std::max(from, to - options.longest.value), to, last};
}

/// The spans of one lane of one rank, loops unrolled, clipped to the extent.
class LaneFiller {
 public:
  LaneFiller(const EventGraph& graph, Extent extent) : graph_(graph), extent_(extent) {}

  void add(const Span& span) {
    const bool goes_on = !body_.empty() && span.repeat > 1 && body_.back().repeat == span.repeat &&
                         body_.back().op + 1 == span.op && body_.back().end.value <= span.begin.value + 1e-12;
    if (!goes_on) unroll();
    if (span.repeat > 1)
      body_.push_back(span);
    else
      add_once(span, 0, 1);
  }

  std::vector<TimelineSpan> take() {
    unroll();
    return std::move(spans_);
  }

 private:
  void add_once(const Span& span, double shift, std::int64_t count) {
    const Label& label = graph_.labels[span.label];
    if (label.mark != Mark::kNone) return;
    if (span.rendezvous >= 0) add_clipped(Activity::kWaiting, span.label, span.arrived.value, span.begin.value, 1);
    add_clipped(activity_of(label.cls), span.label, span.begin.value + shift, span.end.value + shift, count);
  }

  void add_clipped(Activity activity, std::uint16_t label, double begin, double end, std::int64_t count) {
    begin = std::max(begin, extent_.from);
    end = std::min(end, extent_.to);
    if (begin < end) spans_.push_back({activity, label, begin - extent_.from, end - extent_.from, count});
  }

  void unroll() {
    if (body_.empty()) return;
    const double period = body_.front().period.value;
    const double first = body_.front().begin.value;
    // Repetitions that reach into the extent.
    const auto index = [&](double time) {
      return std::clamp<double>(std::floor((time - first) / period), 0, static_cast<double>(body_.front().repeat - 1));
    };
    const auto low = static_cast<std::int64_t>(index(extent_.from)),
               high = static_cast<std::int64_t>(index(extent_.to));
    if (high - low < kMostRepeats) {
      for (std::int64_t i = low; i <= high; ++i)
        for (const Span& span : body_) add_once(span, static_cast<double>(i) * period, 1);
    } else {
      const Span& longest = *std::ranges::max_element(
          body_, [](const Span& a, const Span& b) { return a.end - a.begin < b.end - b.begin; });
      add_clipped(activity_of(graph_.labels[longest.label].cls), longest.label, first, end_of(body_.back()),
                  high - low + 1);
    }
    body_.clear();
  }

  const EventGraph& graph_;
  Extent extent_;
  std::vector<TimelineSpan> spans_;
  std::vector<Span> body_;
};

bool is_communication(Activity activity) {
  return activity == Activity::kHiddenCommunication || activity == Activity::kExposedCommunication;
}
bool is_busy(Activity activity) {
  return !is_communication(activity) && activity != Activity::kWaiting && activity != Activity::kPause &&
         activity != Activity::kCounted;
}

/// Communication cut where the rank begins or stops to compute.
void tell_exposed(TimelineRank& rank) {
  Stretches busy;
  for (const TimelineLane& lane : rank.lanes)
    for (const TimelineSpan& span : lane.spans)
      if (is_busy(span.activity)) busy.emplace_back(span.begin, span.end);
  busy = merged(std::move(busy), 0, std::numeric_limits<double>::infinity());
  for (TimelineLane& lane : rank.lanes) {
    std::vector<TimelineSpan> cut;
    for (const TimelineSpan& span : lane.spans) {
      if (!is_communication(span.activity)) {
        cut.push_back(span);
        continue;
      }
      double at = span.begin;
      const auto add = [&](Activity activity, double until) {
        if (until > at) cut.push_back({activity, span.label, at, until, span.count});
        at = std::max(at, until);
      };
      auto next = std::ranges::upper_bound(busy, at, {}, &Stretch::second);
      for (; next != busy.end() && next->first < span.end; ++next) {
        add(Activity::kExposedCommunication, next->first);
        add(Activity::kHiddenCommunication, std::min(next->second, span.end));
      }
      add(Activity::kExposedCommunication, span.end);
    }
    lane.spans = std::move(cut);
  }
}

/// All ranks of the folded graph, whether they differ or not.
std::vector<TimelineRank> all_ranks(const SteadyPlay& play, Extent extent) {
  const EventGraph& graph = play.folded.graph;
  std::vector<TimelineRank> ranks(graph.ranks.size());
  std::vector<std::vector<LaneFiller>> fillers(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Program& program = graph.programs[graph.ranks[r].program];
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) fillers[r].emplace_back(graph, extent);
    for (const std::string& name : program.lane_names) ranks[r].lanes.push_back({name, {}, {}});
    ranks[r].alike = graph.ranks[r].multiplicity;
  }
  for (std::size_t rank = play.folded.class_of.size(); rank-- > 0;) {
    TimelineRank& first = ranks[play.folded.class_of[rank]];
    first.rank = static_cast<int>(rank);
    first.device = play.costs->kinds[play.costs->kind_of[rank]].device.name;
    first.node = play.costs->places[rank].node;
  }
  constexpr double kRounding = 1e-12;
  for (const Span& span : play.spans) {
    if (end_of(span) <= extent.from - kRounding || span.arrived.value >= extent.to + kRounding) continue;
    fillers[span.rank][span.lane].add(span);
    const Mark mark = graph.labels[span.label].mark;
    if (mark != Mark::kNone && span.end.value > extent.from && span.end.value <= extent.to)
      (mark == Mark::kUpdate ? ranks[span.rank].updates : ranks[span.rank].rounds)
          .push_back(span.end.value - extent.from);
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t lane = 0; lane < ranks[r].lanes.size(); ++lane)
      ranks[r].lanes[lane].spans = fillers[r][lane].take();
    tell_exposed(ranks[r]);
  }
  return ranks;
}

void add_critical(std::vector<TimelineRank>& ranks, const SteadyPlay& play, Extent extent) {
  for (const PathStretch& stretch : critical_stretches(play, extent.last, Seconds{extent.from})) {
    Stretches& critical = ranks[stretch.rank].lanes[stretch.lane].critical;
    const double begin = stretch.begin.value - extent.from, end = stretch.end.value - extent.from;
    if (!critical.empty() && begin <= critical.back().second + 1e-12)
      critical.back().second = std::max(critical.back().second, end);
    else
      critical.emplace_back(begin, end);
  }
}

double on_path(const TimelineRank& rank) {
  double sum = 0;
  for (const TimelineLane& lane : rank.lanes)
    for (const auto& [begin, end] : lane.critical) sum += end - begin;
  return sum;
}

/// Whether a picture of both shows the same twice, but for the critical path.
bool alike(const TimelineRank& a, const TimelineRank& b, double close) {
  const auto same_span = [close](const TimelineSpan& one, const TimelineSpan& other) {
    return one.activity == other.activity && one.label == other.label && std::abs(one.begin - other.begin) <= close &&
           std::abs(one.end - other.end) <= close;
  };
  const auto same_lane = [&](const TimelineLane& one, const TimelineLane& other) {
    return one.name == other.name && std::ranges::equal(one.spans, other.spans, same_span);
  };
  return a.device == b.device && std::ranges::equal(a.lanes, b.lanes, same_lane);
}

/// One for all that are alike, with the critical path of all of them.
std::vector<TimelineRank> folded(std::vector<TimelineRank> ranks, double close) {
  std::ranges::sort(ranks, {}, &TimelineRank::rank);
  std::vector<TimelineRank> result;
  for (TimelineRank& rank : ranks) {
    const auto same =
        std::ranges::find_if(result, [&](const TimelineRank& other) { return alike(other, rank, close); });
    if (same == result.end()) {
      result.push_back(std::move(rank));
      continue;
    }
    same->alike += rank.alike;
    for (std::size_t lane = 0; lane < rank.lanes.size(); ++lane) {
      Stretches& critical = same->lanes[lane].critical;
      critical.insert(critical.end(), rank.lanes[lane].critical.begin(), rank.lanes[lane].critical.end());
      std::ranges::sort(critical, {}, &Stretch::first);
    }
  }
  return result;
}

/// Drops ranks until `most` are left, those first on which the critical path is for the shortest time. Returns how many
/// ranks that are.
int keep(std::vector<TimelineRank>& ranks, int most) {
  int dropped = 0;
  while (static_cast<int>(ranks.size()) > std::max(most, 1)) {
    // Of equals the last, so that the first ranks stay.
    const auto least = std::min_element(ranks.rbegin(), ranks.rend(), [](const TimelineRank& a, const TimelineRank& b) {
      return on_path(a) < on_path(b);
    });
    dropped += least->alike;
    ranks.erase(std::next(least).base());
  }
  return dropped;
}

}  // namespace

Activity activity_of(OpClass cls) {
  switch (cls) {
    case OpClass::kForward: return Activity::kForward;
    case OpClass::kBackward: return Activity::kBackward;
    case OpClass::kOptimizer: return Activity::kOptimizer;
    case OpClass::kCopy: return Activity::kCopy;
    case OpClass::kOffload:
    case OpClass::kCommunication: return Activity::kHiddenCommunication;
    case OpClass::kPause: return Activity::kPause;
    case OpClass::kCounted: return Activity::kCounted;
    case OpClass::kHost:
    case OpClass::kMark: break;
  }
  return Activity::kHost;
}

ScheduleTimeline timeline_of(const ScheduleSpec& spec, const SteadyPlay& play, const TimelineOptions& options) {
  const Extent extent = extent_of(play, options);
  ScheduleTimeline timeline{.label = spec.label,
                            .length = Seconds{extent.to - extent.from},
                            .updates_per_mark = play.folded.graph.updates_per_mark,
                            .drawn = play.costs->pace.unsteady.varies()};
  for (const Label& label : play.folded.graph.labels) timeline.labels.push_back(label.name);
  std::vector<TimelineRank> ranks = all_ranks(play, extent);
  add_critical(ranks, play, extent);
  for (TimelineRank& rank : ranks)
    std::erase_if(rank.lanes, [](const TimelineLane& lane) { return lane.spans.empty(); });
  timeline.ranks = folded(std::move(ranks), 1e-9 * timeline.length.value);
  timeline.left_out = keep(timeline.ranks, options.ranks);
  timeline.cut = options.updates == 0 && timeline.length >= (1 - 1e-9) * options.longest;
  return timeline;
}

std::vector<ScheduleTimeline> timelines_of(const Scenario& scenario, const std::vector<int>& indices,
                                           const std::vector<RunResult>& results, TimelineOptions options,
                                           const Evaluations& evaluations) {
  constexpr double kOfTheSlowest = 2, kOwn = 4;  // updates
  constexpr int kSettling = 4;
  const Seconds slowest = largest<Seconds>(results, &RunResult::update_time);
  std::vector<ScheduleTimeline> timelines;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const ScheduleSpec& spec = scenario.schedules[indices[i]];
    SteadyPlay play = *evaluations.play(scenario, spec, Keep::kAll);
    // Where ranks differ some are ahead of others, by less than two updates.
    const int ahead = play.folded.graph.ranks.size() > 1 ? 2 : 0;
    const int marks = options.updates / play.folded.graph.updates_per_mark + 1 + kSettling;
    if (ahead > 0 || marks > play.updates)
      play_updates(play, spec, std::max(marks, play.updates) + ahead, evaluations.network(), Keep::kAll);
    options.longest = std::max(kOfTheSlowest * slowest, kOwn * results[i].update_time);
    timelines.push_back(timeline_of(spec, play, options));
  }
  return timelines;
}

std::vector<TimelineSpan> aggregated(const std::vector<TimelineSpan>& spans, double least) {
  std::vector<TimelineSpan> result;
  std::map<std::pair<Activity, std::uint16_t>, double> parts;  // of the block that is being filled
  std::int64_t count = 0;
  double begin = 0, end = 0;
  const auto close = [&] {
    if (count == 0) return;
    const auto most = std::ranges::max_element(parts, [](const auto& a, const auto& b) { return a.second < b.second; });
    result.push_back({most->first.first, most->first.second, begin, end, count});
    parts.clear();
    count = 0;
  };
  for (const TimelineSpan& span : spans) {
    if (count > 0 && (span.end - begin > least || span.begin - end > least)) close();
    if (span.end - span.begin >= least) {
      close();
      result.push_back(span);
      continue;
    }
    if (count == 0) begin = span.begin;
    end = span.end;
    parts[{span.activity, span.label}] += span.end - span.begin;
    count += span.count;
  }
  close();
  return result;
}

}  // namespace accosim
