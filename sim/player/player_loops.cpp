// Loops: plain ones, which are integrated, and those that are played body by body and decide together.
#include <algorithm>

#include "sim/player/player_state.hpp"

namespace accosim {

PlainLoop::Emit Player::emit_body(std::uint32_t id) {
  return [this, id](int index, double begin, double end, std::int64_t repeat, double period) {
    const Lane& lane = lanes_[id];
    executed_ += repeat;
    if (!sink_) return;
    Span span;
    span.rank = static_cast<std::int32_t>(lane.rank);
    span.op = index;
    span.lane = static_cast<std::uint16_t>(id - first_lane_[lane.rank]);
    span.label = lane.ops[index].label;
    span.repeat = repeat;
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

void Player::end_body(std::uint32_t rank, const Op& op, double time) {
  const Loop& loop = program_of(rank).loops[op.plan];
  LoopState& state = loops_[first_loop_[rank] + op.plan];
  if (++state.parts_at_end < loop.parts.size()) return;
  if (loop.counted >= 0 && counts(rank, static_cast<std::uint32_t>(op.plan), time)) return;
  if (op.slot >= 0) {  // the whole replica decides
    const int group = graph_.ranks[rank].groups[op.slot];
    if (++decisions_[group] < graph_.groups[group].members.size()) return;
    decisions_[group] = 0;
  }
  decide(rank, static_cast<std::uint32_t>(op.plan), time, false);
}

void Player::decide(std::uint32_t rank, std::uint32_t loop_index, double time, bool late) {
  const Loop& loop = program_of(rank).loops[loop_index];
  const Loop::Part head = loop.parts[0];
  const int slot = program_of(rank).lanes[head.lane][head.end].slot;
  std::vector<std::uint32_t> replica{rank};
  if (slot >= 0) {
    const std::vector<int>& members = graph_.groups[graph_.ranks[rank].groups[slot]].members;
    replica.assign(members.begin(), members.end());
  }
  // Between looks, and before the least number of them, the next body starts at once.
  const std::int64_t bodies = loops_[first_loop_[rank] + loop_index].iteration + std::int64_t{1};
  const bool enough = bodies % loop.stride == 0 && bodies / loop.stride >= loop.min;
  const bool over = loop.until.lane < 0 || std::all_of(replica.begin(), replica.end(), [&](std::uint32_t member) {
                      return is_over(member, loop.until);
                    });
  if (enough && !over && !late) {
    heap_.push({time + kTie.value, add_timer({Timer::kDecision, 0, rank, loop_index, time})});
    return;
  }
  const bool again = !enough || !over;
  double exit = time;
  if (late && !again)
    for (const std::uint32_t member : replica)
      exit = std::max(exit, std::min(now_, lanes_[first_lane_[member] + loop.until.lane].ended));
  for (const std::uint32_t member : replica) {
    LoopState& state = loops_[first_loop_[member] + loop_index];
    ++state.iteration;
    if (again) {
      begin_body(member, loop_index, time);  // where the last one ended, however late the decision
      continue;
    }
    state.parts_at_end = 0;
    const int around = enclosing_[graph_.ranks[member].program][loop_index];
    const std::int32_t outer =
        around < 0 ? 0 : loops_[first_loop_[member] + static_cast<std::uint32_t>(around)].iteration;
    for (const Loop::Part& part : program_of(member).loops[loop_index].parts) {
      const std::uint32_t id = first_lane_[member] + static_cast<std::uint32_t>(part.lane);
      Lane& lane = lanes_[id];
      lane.state = State::kFree;
      lane.iteration = outer;
      finish(id, exit);
      ready_.push_back({id, exit});
    }
  }
}

void Player::begin_body(std::uint32_t rank, std::uint32_t loop_index, double time) {
  LoopState& state = loops_[first_loop_[rank] + loop_index];
  state.parts_at_end = 0;
  for (const Loop::Part& part : program_of(rank).loops[loop_index].parts) {
    const std::uint32_t id = first_lane_[rank] + static_cast<std::uint32_t>(part.lane);
    Lane& lane = lanes_[id];
    lane.state = State::kFree;
    lane.position = static_cast<std::uint32_t>(part.begin) + 1;
    lane.iteration = state.iteration;
    ready_.push_back({id, time});
  }
}

}  // namespace accosim
