// What collectives and computation on one GPU do to each other's pace. Whenever what runs beside an op changes, the
// work that it has done stays done and the rest goes at the new pace; the event of its old end is left in the agenda
// and told by its time.
#include <algorithm>
#include <cmath>

#include "models/price/work.hpp"
#include "models/spec/schedule.hpp"
#include "sim/player/player_state.hpp"

namespace accosim {

double Player::streaming_on(const Lane& lane) const {
  const Program& program = program_of(lane.rank);
  const auto memory = [&](const Op& op) { return op.work < 0 ? 0 : program.works[op.work].memory; };
  if (lane.state == State::kBusy) {
    const Op& op = lane.ops[lane.position];
    return op.kind == OpKind::kCompute ? memory(op) : 0;
  }
  if (lane.state != State::kOpenLoop && lane.state != State::kPlainLoop) return 0;
  const PlainLoop& loop = plain_[&lane - lanes_.data()];
  double streaming = 0, whole = 0;
  for (int i = 0; i < loop.count(); ++i) {
    const Op& op = lane.ops[loop.index() + i];
    streaming += op.duration.value * memory(op);
    whole += op.duration.value;
  }
  return whole > 0 ? streaming / whole : 0;
}

double Player::factor(const Lane& lane, const Op& op) const {
  if (op.work < 0) return 1;
  const Load& load = loads_[lane.rank];
  const Program& program = program_of(lane.rank);
  const double bandwidth = program.memory_bandwidth.value, traffic = bandwidth > 0 ? load.traffic / bandwidth : 0;
  if (program.streaming_sms == 0 || load.computing == 0) return slowdown(program.works[op.work], load.sms, traffic);
  double streaming = 0;
  for (std::uint32_t id = first_lane_[lane.rank]; id < first_lane_[lane.rank + 1]; ++id)
    if (&lanes_[id] != &lane) streaming += streaming_on(lanes_[id]);
  const int held = static_cast<int>(std::lround(streaming * program.streaming_sms));
  return slowdown(program.works[op.work], load.sms + held, traffic, streaming);
}

std::vector<double> Player::body_factors(std::uint32_t id) const {
  const Lane& lane = lanes_[id];
  const double gpu = progress_.empty() ? 1 : progress_[lane.rank].gpu;
  std::vector<double> factors;
  for (int i = 0; i < plain_[id].count(); ++i) {
    const Op& op = lane.ops[plain_[id].index() + i];
    const OpClass cls = graph_.labels[op.label].cls;
    const bool slowed = cls == OpClass::kForward || cls == OpClass::kBackward;
    factors.push_back((interferes_ ? factor(lane, op) : 1) * (slowed ? gpu : 1));
  }
  return factors;
}

void Player::change_pace(std::uint32_t rank) {
  for (std::uint32_t id = first_lane_[rank]; id < first_lane_[rank + 1]; ++id) {
    Lane& lane = lanes_[id];
    if (lane.state == State::kBusy && lane.ops[lane.position].work >= 0) {
      Running& run = running_[id];
      run.left = std::max(0.0, run.left - std::max(0.0, now_ - run.since) / run.factor);
      run.since = std::max(run.since, now_);
      run.factor = factor(lane, lane.ops[lane.position]);
      lane.due = run.since + run.left * run.factor;
      heap_.push({lane.due, id});
    } else if (lane.state == State::kOpenLoop || lane.state == State::kPlainLoop) {
      plain_[id].set_factors(body_factors(id), now_, emit_body(id));
      if (lane.state == State::kOpenLoop) continue;
      lane.due = std::max(now_, plain_[id].end());
      heap_.push({lane.due, id});
    }
  }
}

void Player::begin_beside(std::uint32_t slot) {
  Meeting& meeting = pool_[slot];
  const Plan& plan = graph_.groups[meeting.group].plans[meeting.plan];
  for (const std::uint32_t id : meeting.lanes) {
    const std::uint32_t rank = lanes_[id].rank;
    Load& load = loads_[rank];
    if (plan.memory_traffic.value > 0) ++load.moving;
    load.traffic += plan.memory_traffic.value;
    if (plan.slowed > 1) {
      load.meetings.push_back(slot);
      meeting.computing += load.computing > 0 ? 1 : 0;
    }
    change_pace(rank);
  }
  if (meeting.computing > 0) meeting.factor = plan.slowed;
}

void Player::end_beside(std::uint32_t slot) {
  const Meeting& meeting = pool_[slot];
  const Plan& plan = graph_.groups[meeting.group].plans[meeting.plan];
  for (const std::uint32_t id : meeting.lanes) {
    const std::uint32_t rank = lanes_[id].rank;
    Load& load = loads_[rank];
    load.sms -= plan.sms;
    if (plan.memory_traffic.value > 0) --load.moving;
    load.traffic = load.moving > 0 ? load.traffic - plan.memory_traffic.value : 0;
    load.meetings.erase(std::remove(load.meetings.begin(), load.meetings.end(), slot), load.meetings.end());
    change_pace(rank);
  }
}

void Player::count_computing(std::uint32_t rank, int change) {
  Load& load = loads_[rank];
  const bool before = load.computing > 0;
  load.computing += change;
  const bool after = load.computing > 0;
  // What computes on two lanes slows each other.
  if (program_of(rank).streaming_sms > 0 && load.computing + std::max(0, -change) > 1) change_pace(rank);
  if (before == after) return;
  for (const std::uint32_t slot : load.meetings) {
    Meeting& meeting = pool_[slot];
    meeting.computing += after ? 1 : -1;
    const double factor = meeting.computing > 0 ? graph_.groups[meeting.group].plans[meeting.plan].slowed : 1;
    if (meeting.due < 0 || factor == meeting.factor) continue;
    if (now_ > meeting.since) {
      meeting.left = std::max(0.0, meeting.left - (now_ - meeting.since) / meeting.factor);
      meeting.since = now_;
    }
    meeting.factor = factor;
    meeting.due = meeting.since + meeting.left * factor;
    heap_.push({meeting.due, add_timer({Timer::kFixed, slot, 0, 0, 0})});
  }
}

}  // namespace accosim
