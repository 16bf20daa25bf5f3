// Loops: plain ones, which are integrated, and those that are played body by body, whose lanes meet or run on, and
// about which a rank decides by itself or for others.
#include <algorithm>
#include <utility>

#include "sim/player/player_state.hpp"

namespace accosim {

PlainLoop::Emit Player::emit_body(std::uint32_t id) {
  return [this, id](int index, double begin, double end, std::int64_t repeat, double period) {
    const Lane& lane = lanes_[id];
    executed_ += repeat;
    if (!sink_) return;
    Span span{.rank = static_cast<std::int32_t>(lane.rank),
              .op = index,
              .lane = static_cast<std::uint16_t>(id - first_lane_[lane.rank]),
              .label = lane.ops[index].label,
              .repeat = repeat};
    span.arrived = span.begin = Seconds{begin};
    span.end = Seconds{end};
    span.period = Seconds{period};
    sink_(span);
  };
}

void Player::enter_plain_loop(std::uint32_t id, const Op& op, double time) {
  Lane& lane = lanes_[id];
  const Loop& loop = program_of(lane.rank).loops[op.plan];
  const Loop::Part part = loop.parts[0];
  plain_[id].start(lane.ops + part.begin + 1, part.end - part.begin - 1, part.begin + 1, time);
  lane.state = State::kOpenLoop;
  computing(lane.rank, 1);
  if (interferes_ || graph_.pace.drawn()) plain_[id].set_factors(body_factors(id), time, emit_body(id));
  if (loop.until.lane < 0 || is_over(lane.rank, loop.until)) close_plain_loop(id, op, -kNever);
}

void Player::close_plain_loop(std::uint32_t id, const Op& op, double awaited) {
  Lane& lane = lanes_[id];
  plain_[id].close(awaited, program_of(lane.rank).loops[op.plan]);
  lane.state = State::kPlainLoop;
  lane.due = std::max(awaited, plain_[id].end());
  heap_.push({lane.due, id});
}

void Player::leave_plain_loop(std::uint32_t id, double time) {
  Lane& lane = lanes_[id];
  plain_[id].finish(emit_body(id));
  lane.position = static_cast<std::uint32_t>(plain_[id].index() + plain_[id].count());
  lane.state = State::kFree;
  finish(id, time);
}

bool Player::waits_over_in_rounds(const Lane& lane, const Op& op) const {
  const Program& program = program_of(lane.rank);
  const Loop& loop = program.loops[lane.running_on];
  for (std::uint32_t i = 0; i < op.wait_count; ++i) {
    const OpRef wait = program.waits[op.waits + i];
    const Lane& of = lanes_[first_lane_[lane.rank] + wait.lane];
    const bool past = of.position > static_cast<std::uint32_t>(wait.index);
    const Loop::Part* const part = part_around(loop, wait);
    if (part == nullptr) {
      if (!past) return false;
      continue;
    }
    const std::int32_t round = lane.round - wait.rounds_back;
    if (round < 0 || of.position > static_cast<std::uint32_t>(part->end)) continue;  // before all, or it has left
    const bool inside = of.position > static_cast<std::uint32_t>(part->begin);
    if (!inside || of.round < round || (of.round == round && !past)) return false;
  }
  return true;
}

void Player::enter_loop(std::uint32_t id, const Op& op, double time) {
  Lane& lane = lanes_[id];
  const Loop& loop = program_of(lane.rank).loops[op.plan];
  LoopState& state = loops_[first_loop_[lane.rank] + op.plan];
  lane.iteration = 0;
  if (loop.runs_on) {
    lane.running_on = op.plan;
    lane.round = 0;
  } else {
    state.iteration = 0;
  }
  const bool others_learn = loop.slot >= 0 || (loop.runs_on && loop.until.lane >= 0);
  if (others_learn && state.decision == kNoDecision) state.decision = decision_of(lane.rank, loop);
  if (!repetitions_.empty() && loop.counted >= 0) repetitions_[lane.rank] = {};
  finish(id, time);
}

std::uint32_t Player::decision_of(std::uint32_t rank, const Loop& loop) {
  const auto fresh = [&] {
    if (free_decisions_.empty()) {
      decisions_.emplace_back();
      return static_cast<std::uint32_t>(decisions_.size() - 1);
    }
    const std::uint32_t number = free_decisions_.back();
    free_decisions_.pop_back();
    return number;
  };
  if (loop.slot < 0) return fresh();
  // As with collectives, the n-th such loop of a rank is the n-th of every other.
  GroupDecisions& decided = decided_[graph_.ranks[rank].groups[loop.slot]];
  const std::size_t n = entered_[first_slot_[rank] + loop.slot]++ - decided.done;
  while (decided.open.size() <= n) decided.open.push_back(fresh());
  return decided.open[n];
}

void Player::end_body(std::uint32_t id, const Op& op, double time) {
  const std::uint32_t rank = lanes_[id].rank;
  const auto loop_index = static_cast<std::uint32_t>(op.plan);
  const Loop& loop = program_of(rank).loops[loop_index];
  if (!loop.runs_on) {
    if (++loops_[first_loop_[rank] + loop_index].parts_at_end < loop.parts.size()) return;
    if (loop.counted >= 0 && counts(rank, loop_index, time)) return;
  }
  decide(id, loop_index, time, false);
}

bool Player::decides(std::uint32_t id, const Loop& loop) const {
  const std::uint32_t rank = lanes_[id].rank;
  if (loop.runs_on && id != first_lane_[rank] + static_cast<std::uint32_t>(loop.parts[0].lane)) return false;
  return loop.slot < 0 || graph_.groups[graph_.ranks[rank].groups[loop.slot]].members.front() == static_cast<int>(rank);
}

void Player::decide(std::uint32_t id, std::uint32_t loop_index, double time, bool late) {
  const Lane& lane = lanes_[id];
  const Loop& loop = program_of(lane.rank).loops[loop_index];
  const LoopState& state = loops_[first_loop_[lane.rank] + loop_index];
  // Between looks, and before the least number of them, the next body starts at once.
  const std::int64_t bodies = (loop.runs_on ? lane.round : state.iteration) + std::int64_t{1};
  const bool enough = bodies % loop.stride == 0 && bodies / loop.stride >= loop.min;
  if (!enough) return begin_body(id, loop_index, time);
  const std::uint32_t decision = state.decision;
  if (decision != kNoDecision) {
    Decision& known = decisions_[decision];
    if (bodies < known.looked || (bodies == known.looked && !known.last)) return begin_body(id, loop_index, time);
    if (bodies == known.looked) return leave_loop(id, loop_index, time);
    if (!decides(id, loop)) return known.waiting.push_back(id);
  }
  const bool over = loop.until.lane < 0 || is_over(lane.rank, loop.until);
  if (!over && !late) {
    heap_.push({time + kTie.value, add_timer({Timer::kDecision, 0, id, loop_index, time})});
    return;
  }
  double decided = time;
  if (late && over) decided = std::max(time, std::min(now_, lanes_[first_lane_[lane.rank] + loop.until.lane].ended));
  if (decision != kNoDecision) {
    decisions_[decision].looked = bodies;
    decisions_[decision].last = over;
  }
  if (over)
    leave_loop(id, loop_index, decided);
  else
    begin_body(id, loop_index, time);  // where the last one ended, however late the decision
  if (decision != kNoDecision) follow(decision, decided);
}

void Player::follow(std::uint32_t decision, double time) {
  const std::vector<std::uint32_t> waiting = std::exchange(decisions_[decision].waiting, {});
  const bool last = decisions_[decision].last;
  for (const std::uint32_t id : waiting) {
    const Lane& lane = lanes_[id];
    const auto loop_index = static_cast<std::uint32_t>(lane.ops[lane.position].plan);
    const double from = std::max(time, lane.arrived);
    if (last)
      leave_loop(id, loop_index, from);
    else
      begin_body(id, loop_index, from);
  }
}

void Player::leave_loop(std::uint32_t id, std::uint32_t loop_index, double time) {
  const std::uint32_t rank = lanes_[id].rank;
  const Loop& loop = program_of(rank).loops[loop_index];
  const int around = enclosing_[graph_.ranks[rank].program][loop_index];
  const auto leave = [&](std::uint32_t which) {
    Lane& lane = lanes_[which];
    lane.state = State::kFree;
    if (loop.runs_on) lane.running_on = -1;
    lane.iteration = around < 0 ? 0
                     : lane.running_on == around
                         ? lane.round
                         : loops_[first_loop_[rank] + static_cast<std::uint32_t>(around)].iteration;
    finish(which, time);
    ready_.push_back({which, time});
  };
  LoopState& state = loops_[first_loop_[rank] + loop_index];
  if (loop.runs_on) {
    if (++state.parts_at_end == loop.parts.size()) leave_decision(rank, loop, state);
    leave(id);
    return;
  }
  leave_decision(rank, loop, state);
  for (const Loop::Part& part : loop.parts) leave(first_lane_[rank] + static_cast<std::uint32_t>(part.lane));
}

void Player::leave_decision(std::uint32_t rank, const Loop& loop, LoopState& state) {
  state.parts_at_end = 0;
  const std::uint32_t number = std::exchange(state.decision, kNoDecision);
  if (number == kNoDecision) return;
  const bool shared = loop.slot >= 0;
  const int group = shared ? graph_.ranks[rank].groups[loop.slot] : -1;
  if (++decisions_[number].ranks_left < (shared ? graph_.groups[group].members.size() : 1)) return;
  decisions_[number] = {};
  free_decisions_.push_back(number);
  if (!shared) return;
  decided_[group].open.erase(decided_[group].open.begin());
  ++decided_[group].done;
}

void Player::begin_body(std::uint32_t id, std::uint32_t loop_index, double time) {
  const std::uint32_t rank = lanes_[id].rank;
  const Loop& loop = program_of(rank).loops[loop_index];
  LoopState& state = loops_[first_loop_[rank] + loop_index];
  const std::int32_t round = loop.runs_on ? ++lanes_[id].round : ++state.iteration;
  const auto begin = [&](const Loop::Part& part) {
    const std::uint32_t which = first_lane_[rank] + static_cast<std::uint32_t>(part.lane);
    Lane& lane = lanes_[which];
    lane.state = State::kFree;
    lane.position = static_cast<std::uint32_t>(part.begin) + 1;
    lane.iteration = round;
    ready_.push_back({which, time});
  };
  if (loop.runs_on) {
    for (const Loop::Part& part : loop.parts)
      if (first_lane_[rank] + static_cast<std::uint32_t>(part.lane) == id) begin(part);
    return;
  }
  state.parts_at_end = 0;
  for (const Loop::Part& part : loop.parts) begin(part);
}

}  // namespace accosim
