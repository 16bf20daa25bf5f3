// Repetitions of a loop that have become equal are counted instead of played. What a rank does in one depends on when
// the ranks that it meets begin theirs, and all of a rank's lanes begin one together; so once the repetitions of all
// ranks that meet, or whose flows share links, take the same time again and again, all that follow take it, too. Every
// rank then goes on as if it had played so many, at the end of the same repetition, and what they do to each other
// stays the same. While something is under way on a lane beside the loop, such as an exchange between replicas, every
// repetition is played. Nothing of this holds where micro-batches are drawn, nor where a token bucket fills and
// empties: there every repetition is played.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "sim/graph/counted.hpp"
#include "sim/player/player_state.hpp"

namespace accosim {
namespace {

constexpr double kRounding = 1e-12;           // of the clock, in the ops of a repetition
constexpr double kSame = 1e-9;                // of the time of a repetition
constexpr std::size_t kLooked = 4;            // ends of repetitions that show three of one length
constexpr std::int64_t kSettling = 12;        // repetitions that are played whatever they cost
constexpr double kMostCollectives = 100'000;  // of repetitions that differ, which are all played

/// Collectives that a program makes in loops whose repetitions may be counted, as (slot, plan).
std::set<std::pair<int, int>> collectives_in_counted_loops(const Program& program) {
  std::set<std::pair<int, int>> collectives;
  for (const Loop& loop : program.loops) {
    if (loop.counted < 0) continue;
    for (const Loop::Part& part : loop.parts)
      for (int i = part.begin + 1; i < part.end; ++i) {
        const Op& op = program.lanes[part.lane][i];
        if (op.kind == OpKind::kCollective || op.kind == OpKind::kTransfer) collectives.emplace(op.slot, op.plan);
      }
  }
  return collectives;
}

bool counts_any(const Program& program) {
  return std::any_of(program.loops.begin(), program.loops.end(), [](const Loop& loop) { return loop.counted >= 0; });
}

/// Ranks that belong together, told in pairs.
class Sets {
 public:
  explicit Sets(std::size_t ranks) : parent_(ranks) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t of(std::size_t rank) {
    while (parent_[rank] != rank) rank = parent_[rank] = parent_[parent_[rank]];
    return rank;
  }
  void join(std::size_t a, std::size_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

void Player::find_circles() {
  const bool buckets =
      std::any_of(graph_.links.begin(), graph_.links.end(), [](const Link& link) { return link.burst > Bytes{0}; });
  if (graph_.pace.unsteady.varies() || buckets ||
      std::none_of(graph_.programs.begin(), graph_.programs.end(), counts_any))
    return;
  std::vector<std::set<std::pair<int, int>>> collectives;
  for (const Program& program : graph_.programs) collectives.push_back(collectives_in_counted_loops(program));
  Sets sets(graph_.ranks.size());
  constexpr auto kNobody = static_cast<std::size_t>(-1);
  std::vector<std::size_t> user(graph_.links.size(), kNobody);
  for (std::size_t rank = 0; rank < graph_.ranks.size(); ++rank)
    for (const auto& [slot, plan] : collectives[graph_.ranks[rank].program]) {
      const Group& group = graph_.groups[graph_.ranks[rank].groups[slot]];
      sets.join(rank, static_cast<std::size_t>(group.members.front()));
      if (make_network_ == make_reference_network) continue;  // where no links are shared
      for (const Plan::Flow& flow : group.plans[plan].flows)
        for (const int link : graph_.paths[flow.path].links) {
          std::size_t& of = user[link];
          if (of == kNobody) of = rank;
          sets.join(rank, of);
        }
    }
  repetitions_.resize(graph_.ranks.size());
  std::vector<int> circle(graph_.ranks.size(), -1);  // by the rank that its set goes by
  for (std::size_t rank = 0; rank < graph_.ranks.size(); ++rank) {
    int& of = circle[sets.of(rank)];
    if (of < 0) {
      of = static_cast<int>(circles_.size());
      circles_.emplace_back();
    }
    circles_[of].ranks.push_back(static_cast<std::uint32_t>(rank));
    circle_of_.push_back(of);
  }
}

bool Player::counts(std::uint32_t rank, std::uint32_t loop_index, double time) {
  const Loop& loop = program_of(rank).loops[loop_index];
  LoopState& state = loops_[first_loop_[rank] + loop_index];
  if (repetitions_.empty()) return false;
  Repetitions& mine = repetitions_[rank];
  Circle& circle = circles_[circle_of_[rank]];
  mine.done = state.iteration + 1;
  ++mine.played;
  if (circle.after == mine.done) {
    Span span;
    const Loop::Part head = loop.parts.front();
    span.rank = static_cast<std::int32_t>(rank);
    span.op = head.end;
    span.lane = static_cast<std::uint16_t>(head.lane);
    span.label = static_cast<std::uint16_t>(loop.counted);
    span.iteration = state.iteration + 1;
    span.repeat = circle.counted;
    span.arrived = span.begin = Seconds{time};
    span.period = Seconds{circle.period};
    span.end = span.begin + span.period;
    if (sink_) sink_(span);
    state.iteration += static_cast<std::int32_t>(circle.counted);
    const double then = time + static_cast<double>(circle.counted) * circle.period;
    heap_.push({then, add_timer({Timer::kCounted, 0, first_lane_[rank] + static_cast<std::uint32_t>(head.lane),
                                 loop_index, then})});
    mine.ends.clear();
    if (++circle.ranks_done == circle.ranks.size()) {
      circle.after = -1;
      circle.ranks_done = 0;
    }
    return true;
  }
  if (circle.after >= 0) return false;
  if (mine.ends.size() == kLooked) mine.ends.erase(mine.ends.begin());
  mine.ends.push_back(time);
  if (++circle.ended % static_cast<std::int64_t>(circle.ranks.size()) == 0)
    look_at(circle, std::int64_t{loop.min} * loop.stride);
  if (circle.after < 0 && !something_beside(circle)) check_playable(rank, loop);
  return false;
}

void Player::look_at(Circle& circle, std::int64_t repetitions) {
  if (something_beside(circle))  // which ends before or in what follows, and may have slowed down what was
    for (const std::uint32_t rank : circle.ranks) repetitions_[rank].ends.clear();
  const std::vector<double>& first = repetitions_[circle.ranks.front()].ends;
  if (first.size() < kLooked) return;
  const double period = (first.back() - first.front()) / (kLooked - 1);
  const double close = kSame * period + kRounding * first.back();
  std::int64_t ahead = 0;
  for (const std::uint32_t rank : circle.ranks) {
    const Repetitions& of = repetitions_[rank];
    if (of.ends.size() < kLooked) return;
    for (std::size_t i = 1; i < kLooked; ++i)
      if (std::abs(of.ends[i] - of.ends[i - 1] - period) > close) return;
    ahead = std::max(ahead, of.done);
  }
  const std::int64_t after = ahead + 1, counted = repetitions - after - kPlayedAfter;
  if (counted < 1) return;
  circle.after = after;
  circle.counted = counted;
  // The earlier it was measured the less the clock had rounded.
  if (circle.period == 0 || std::abs(circle.period - period) > close) circle.period = period;
}

bool Player::something_beside(const Circle& circle) const {
  for (const std::uint32_t rank : circle.ranks) {
    const std::vector<Loop>& loops = program_of(rank).loops;
    for (std::uint32_t id = first_lane_[rank]; id < first_lane_[rank + 1]; ++id) {
      if (lanes_[id].state == State::kFree || lanes_[id].state == State::kBlocked) continue;
      const auto holds = [&](const Loop::Part& part) { return part.lane == static_cast<int>(id - first_lane_[rank]); };
      const bool inside = std::any_of(loops.begin(), loops.end(), [&](const Loop& loop) {
        return loop.counted >= 0 && std::any_of(loop.parts.begin(), loop.parts.end(), holds);
      });
      if (!inside) return true;
    }
  }
  return false;
}

void Player::check_playable(std::uint32_t rank, const Loop& loop) const {
  const std::int64_t played = repetitions_[rank].played;
  if (played <= kSettling) return;
  const double each = static_cast<double>(body_totals(graph_, graph_.ranks[rank], loop).collectives);
  if (static_cast<double>(played) * each <= kMostCollectives) return;
  throw std::range_error(
      fmt::format("{} updates between two meetings of replicas do not become equal, and are too many to "
                  "play one by one; lower inner_updates",
                  std::int64_t{loop.min} * loop.stride));
}

}  // namespace accosim
