#include "sim/evaluation/critical_path.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>

#include "models/base/stages.hpp"

namespace accosim {
namespace {

// Ends and begins that belong together agree to rounding, or to the player's tie.
const double kClose = 2 * kTie.value;

/// What ran on a lane without a break: one op, or all repetitions of a loop's body.
struct Run {
  std::size_t first = 0, count = 1;  // spans of the lane, of one repetition
  double begin = 0, end = 0;
};

double end_of(const Span& span) { return span.end.value + static_cast<double>(span.repeat - 1) * span.period.value; }

/// Runs by rank and lane, in order. Those of a rank are looked for when they are first asked about: the path goes
/// through few of many ranks.
class History {
 public:
  explicit History(const SteadyPlay& play)
      : graph_(play.folded.graph),
        spans_(play.spans),
        updates_(play.measured.last + 1),
        marks_(graph_.ranks.size()),
        of_rank_(graph_.ranks.size() + 1, 0),
        by_rank_(spans_.size()),
        lanes_(graph_.ranks.size()) {
    for (const Span& span : spans_) {
      ++of_rank_[static_cast<std::size_t>(span.rank) + 1];
      if (span.rendezvous >= 0 && (first_meeting_ < 0 || span.rendezvous < first_meeting_))
        first_meeting_ = span.rendezvous;
    }
    for (std::size_t r = 1; r < of_rank_.size(); ++r) of_rank_[r] += of_rank_[r - 1];
    std::vector<std::size_t> next(of_rank_.begin(), of_rank_.end() - 1);
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const auto rank = static_cast<std::size_t>(spans_[i].rank);
      by_rank_[next[rank]++] = static_cast<std::uint32_t>(i);
      if (spans_[i].rendezvous >= 0) note_meeting(i);
      if (graph_.labels[spans_[i].label].mark == Mark::kUpdate) marks_[rank].push_back(i);
    }
  }

  struct At {
    int rank = 0, lane = 0;
    std::size_t index = 0;
  };

  const Run& operator[](At at) const { return lanes_of(at.rank)[at.lane].runs[at.index]; }
  /// The run's spans, from 0.
  const Span& span(At at, std::size_t i) const {
    const Lane& lane = lanes_of(at.rank)[at.lane];
    return spans_[lane.spans[lane.runs[at.index].first + i]];
  }

  /// The mark at the end of a rank's update `k`, counted from 0 over the whole play, whose last ones are kept; and when
  /// that was.
  At update(int rank, int k) const { return at_of(mark(rank, k)); }
  double end_of_update(int rank, int k) const { return spans_[mark(rank, k)].end.value; }

  /// What `at` started after: the latest end among the run before it, those it waited for, and, for a collective, those
  /// of the rank that came last. False at the begin of all.
  bool cause(At at, At& found) const {
    if (const std::int64_t meeting = span(at, 0).rendezvous; meeting >= 0)
      at = at_of(last_to_come_[meeting - first_meeting_]);
    const Span& first = span(at, 0);
    const double arrived = first.arrived.value;
    bool any = false;
    const auto consider = [&](At candidate) {
      if (any && (*this)[candidate].end <= (*this)[found].end) return;
      found = candidate;
      any = true;
    };
    if (at.index > 0) consider({at.rank, at.lane, at.index - 1});
    const Program& program = graph_.programs[graph_.ranks[at.rank].program];
    const Op& op = program.lanes[at.lane][first.op];
    for (std::uint32_t w = 0; w < op.wait_count; ++w) {
      const OpRef wait = program.waits[op.waits + w];
      const Lane& lane = lanes_of(at.rank)[wait.lane];
      const std::vector<Run>& runs = lane.runs;
      // The end of a loop ends with its last body, which is the run before it.
      const int index = program.lanes[wait.lane][wait.index].kind == OpKind::kLoopEnd ? wait.index - 1 : wait.index;
      // The last run of this op that had ended. A lane's runs end in order.
      const auto ended = std::ranges::upper_bound(runs, arrived + kClose, {}, &Run::end);
      auto after = std::lower_bound(lane.by_op.begin(), lane.by_op.end(),
                                    std::pair(index, static_cast<std::size_t>(ended - runs.begin())));
      // A lane that runs on may have done it in rounds that nobody waited for.
      const int round = round_awaited(program, {first.lane, first.op}, first.iteration, wait);
      while (round >= 0 && after != lane.by_op.begin() && std::prev(after)->first == index &&
             span({at.rank, wait.lane, std::prev(after)->second}, 0).iteration > round)
        --after;
      if (round != kNoRound && after != lane.by_op.begin() && std::prev(after)->first == index)
        consider({at.rank, wait.lane, std::prev(after)->second});
    }
    if (any && (*this)[found].end >= arrived - kClose) return true;
    // A body on several lanes begins when the one before has ended on all of them.
    const auto consider_all = [&](int rank) {
      for (std::size_t lane = 0; lane < lanes_of(rank).size(); ++lane) {
        const std::vector<Run>& runs = lanes_of(rank)[lane].runs;
        const auto ended = std::ranges::upper_bound(runs, arrived + kClose, {}, &Run::end);
        if (ended != runs.begin())
          consider({rank, static_cast<int>(lane), static_cast<std::size_t>(ended - runs.begin()) - 1});
      }
    };
    consider_all(at.rank);
    if (any && (*this)[found].end >= arrived - kClose) return true;
    // Or when another rank has decided that there is one.
    for (const int rank : deciders_of(at.rank)) consider_all(rank);
    return any;
  }

 private:
  struct Lane {
    std::vector<std::uint32_t> spans;  // indices in spans_
    std::vector<Run> runs;
    std::vector<std::pair<int, std::size_t>> by_op;  // ops and the runs that they are in, sorted
  };

  const std::vector<Lane>& lanes_of(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    std::vector<Lane>& lanes = lanes_[r];
    if (!lanes.empty()) return lanes;
    lanes.resize(graph_.programs[graph_.ranks[r].program].lanes.size());
    for (std::size_t k = of_rank_[r]; k < of_rank_[r + 1]; ++k) {
      const Span& span = spans_[by_rank_[k]];
      Lane& lane = lanes[span.lane];
      const bool same_body = span.repeat > 1 && !lane.runs.empty() && spans_[lane.spans.back()].op + 1 == span.op &&
                             spans_[lane.spans.back()].repeat == span.repeat;
      if (same_body) {
        ++lane.runs.back().count;
        lane.runs.back().end = end_of(span);
      } else {
        lane.runs.push_back({lane.spans.size(), 1, span.begin.value, end_of(span)});
      }
      lane.spans.push_back(by_rank_[k]);
      lane.by_op.emplace_back(span.op, lane.runs.size() - 1);
    }
    for (Lane& lane : lanes) std::ranges::sort(lane.by_op);
    return lanes;
  }

  static constexpr int kAnyRound = -1, kNoRound = -2;
  /// Which round of `wait` it is that `op`, in round `iteration` of its own, waits for. kNoRound: of one before the
  /// first.
  static int round_awaited(const Program& program, OpRef op, int iteration, OpRef wait) {
    const auto holds_both = [&](const Loop& loop) { return part_around(loop, op) && part_around(loop, wait); };
    const auto running =
        std::ranges::find_if(program.loops, [&](const Loop& loop) { return loop.runs_on && holds_both(loop); });
    if (running == program.loops.end()) return kAnyRound;
    // In a loop inside it the spans count that loop's repetitions.
    const auto holds = std::count_if(running, program.loops.end(), [&](const Loop& loop) {
      return part_around(loop, op) || part_around(loop, wait);
    });
    const int round = iteration - wait.rounds_back;
    return holds > 1 ? kAnyRound : round < 0 ? kNoRound : round;
  }

  /// The ranks that decide for this one how often its loops repeat.
  std::vector<int> deciders_of(int rank) const {
    std::vector<int> deciders;
    const Rank& of = graph_.ranks[rank];
    for (const Loop& loop : graph_.programs[of.program].loops) {
      if (loop.slot < 0) continue;
      const int decider = graph_.groups[of.groups[loop.slot]].members.front();
      if (decider != rank && std::ranges::find(deciders, decider) == deciders.end()) deciders.push_back(decider);
    }
    return deciders;
  }

  /// The run that holds span `i`.
  At at_of(std::size_t i) const {
    const Span& span = spans_[i];
    const Lane& lane = lanes_of(span.rank)[span.lane];
    const auto place = std::ranges::lower_bound(lane.spans, i) - lane.spans.begin();
    const auto after = std::ranges::upper_bound(lane.runs, static_cast<std::size_t>(place), {}, &Run::first);
    return {span.rank, span.lane, static_cast<std::size_t>(after - lane.runs.begin()) - 1};
  }

  std::size_t mark(int rank, int k) const {
    const std::vector<std::size_t>& marks = marks_[rank];
    return marks.at(marks.size() - static_cast<std::size_t>(updates_ - k));
  }

  /// Of those that come at the same moment, the one that is listed last.
  void note_meeting(std::size_t i) {
    const auto number = static_cast<std::size_t>(spans_[i].rendezvous - first_meeting_);
    if (last_to_come_.size() <= number) last_to_come_.resize(number + 1, kNobody);
    std::size_t& last = last_to_come_[number];
    if (last == kNobody || spans_[i].arrived >= spans_[last].arrived) last = i;
  }

  static constexpr auto kNobody = static_cast<std::size_t>(-1);

  const EventGraph& graph_;
  const std::vector<Span>& spans_;
  int updates_;                                  // of the play
  std::vector<std::vector<std::size_t>> marks_;  // spans that end updates, by rank
  std::vector<std::size_t> of_rank_;             // by rank, where its spans begin in by_rank_
  std::vector<std::uint32_t> by_rank_;           // spans, rank by rank
  std::int64_t first_meeting_ = -1;              // the least number of a rendezvous
  std::vector<std::size_t> last_to_come_;        // spans by rendezvous, from first_meeting_ on
  mutable std::vector<std::vector<Lane>> lanes_;
};

/// What the share of the time of an op is called.
std::string cause_of(const Label& label) {
  switch (label.cls) {
    case OpClass::kForward:
    case OpClass::kBackward: return "forward and backward";
    case OpClass::kOptimizer: return "optimizer";
    case OpClass::kCopy: return "buffer swaps and copies";
    case OpClass::kHost: return "the host's launches";
    case OpClass::kPause: return "pauses";
    case OpClass::kOffload: return "the optimizer on the host";
    case OpClass::kCommunication:
    case OpClass::kCounted:
    case OpClass::kMark: break;
  }
  return label.name;
}

class PathBuilder {
 public:
  explicit PathBuilder(const SteadyPlay& play) : play_(play), real_ranks_(play.folded.graph.ranks.size()) {
    const std::vector<int>& classes = play.folded.class_of;
    for (std::size_t rank = classes.size(); rank-- > 0;) real_ranks_[classes[rank]] = static_cast<int>(rank);
  }

  /// Walking back: prepends `duration` of `count` ops.
  void add(const Label& label, int rank, double duration, std::int64_t count, const Ranks& ranks = {}) {
    if (duration <= 0) return;
    causes_[cause_of(label)] += duration;
    std::vector<PathStep>& steps = path_.steps;
    if (!steps.empty() && steps.back().name == label.name && steps.back().rank == rank) {
      steps.back().duration += Seconds{duration};
      steps.back().count += count;
    } else {
      steps.push_back({label.name, label.cls, rank, Seconds{duration}, count, ranks});
    }
  }

  /// A run clipped to begin not before `from`. On the way through a repetition that stands for others each part of it
  /// is as long as all of them.
  void add_run(const History& history, History::At at, double from) {
    const Run& run = history[at];
    if (const Span& first = history.span(at, 0); is_counted(play_.folded.graph, first)) {
      counted_.push_back(counted_of(first));
      return;
    }
    const EventGraph& graph = play_.folded.graph;
    const Program& program = graph.programs[graph.ranks[at.rank].program];
    const int rank = real_rank(at.rank);
    const double lasts = std::max(run.end - run.begin, 1e-300);
    const double share = counted_length(counted_, std::max(run.begin, from), run.end) / lasts;
    const double times = std::max(1.0, counted_length(counted_, run.begin, run.end) / lasts);
    for (std::size_t i = run.count; i-- > 0;) {
      const Span& span = history.span(at, i);
      const double once = span.end.value - span.begin.value;
      const Op& op = program.lanes[span.lane][span.op];
      const Ranks ranks = op.kind == OpKind::kCollective ? graph.requests[op.plan].ranks : Ranks{};
      const auto repeat = static_cast<double>(span.repeat);
      add(graph.labels[span.label], rank, std::max(0.0, share) * once * repeat, std::llround(times * repeat), ranks);
    }
  }

  void add_wait(int rank, double begin, double end) {
    add({"nothing to do", OpClass::kMark}, real_rank(rank), counted_length(counted_, begin, end), 1);
  }

  CriticalPath take(double update_time) {
    std::ranges::reverse(path_.steps);
    path_.update_time = Seconds{update_time};
    for (const auto& [name, duration] : causes_) path_.causes.emplace_back(name, Seconds{duration});
    std::ranges::stable_sort(path_.causes, [](const auto& a, const auto& b) { return a.second > b.second; });
    return std::move(path_);
  }

 private:
  int real_rank(int folded) const { return real_ranks_[folded]; }

  const SteadyPlay& play_;
  std::vector<int> real_ranks_;  // the first that a rank of the folded graph stands for
  CriticalPath path_;
  std::map<std::string, double> causes_;
  std::vector<CountedTimes> counted_;  // on the way so far
};

/// The mark of update `k`, on the rank that ends it last.
History::At last_mark(const History& history, const SteadyPlay& play, int k) {
  int latest = 0;
  for (int r = 1; r < static_cast<int>(play.folded.graph.ranks.size()); ++r)
    if (history.end_of_update(r, k) > history.end_of_update(latest, k)) latest = r;
  return history.update(latest, k);
}

/// Back from the end of `at` to `from`: each run on the way, and, with its rank, begin and end, each time in which
/// nothing led on.
template <typename OnRun, typename OnWait>
void walk_back(const History& history, History::At at, double from, const OnRun& on_run, const OnWait& on_wait) {
  for (double now = history[at].end; now > from;) {
    const Run& run = history[at];
    if (now > run.end + kClose) on_wait(at.rank, std::max(run.end, from), now);
    if (run.end <= from) break;
    on_run(at);
    now = run.begin;
    History::At before;
    if (now <= from || !history.cause(at, before)) break;
    at = before;
  }
}

}  // namespace

CriticalPath critical_path(const SteadyPlay& play) {
  const Stage stage("walking the critical path");
  const History history(play);
  const History::At mark = last_mark(history, play, play.measured.last);
  const double from = history.end_of_update(mark.rank, play.measured.last - 1);
  PathBuilder path(play);
  walk_back(
      history, mark, from, [&](History::At at) { path.add_run(history, at, from); },
      [&](int rank, double begin, double end) { path.add_wait(rank, begin, end); });
  return path.take(history[mark].end - from);
}

std::vector<PathStretch> critical_stretches(const SteadyPlay& play, int last, Seconds from) {
  const History history(play);
  std::vector<PathStretch> stretches;
  walk_back(
      history, last_mark(history, play, last), from.value,
      [&](History::At at) {
        const Run& run = history[at];
        if (run.end > run.begin)
          stretches.push_back({at.rank, at.lane, Seconds{std::max(run.begin, from.value)}, Seconds{run.end}});
      },
      [](int, double, double) {});
  std::ranges::reverse(stretches);
  return stretches;
}

}  // namespace accosim
