// How the ranks of a collective meet, and what it then does: its latency, its fixed part and its flows.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/spec/schedule.hpp"
#include "sim/player/player_state.hpp"

namespace accosim {

void Player::meet(std::uint32_t id, const Op& op) {
  Lane& lane = lanes_[id];
  lane.state = State::kMeeting;
  const int group = graph_.ranks[lane.rank].groups[op.slot];
  const std::size_t members = graph_.groups[group].members.size();
  GroupMeetings& meetings = meetings_[group];
  // A group is a communicator: the n-th collective that a rank issues to it meets the n-th of every other.
  const std::size_t n = met_[first_slot_[lane.rank] + op.slot]++ - meetings.done;
  while (meetings.open.size() <= n) meetings.open.push_back(new_meeting(group, op.plan));
  const std::uint32_t slot = meetings.open[n];
  Meeting& meeting = pool_[slot];
  if (meeting.plan != op.plan)
    throw std::logic_error(fmt::format("ranks of group {} meet with different collectives", group));
  meeting.lanes.push_back(id);
  const Plan& plan = graph_.groups[group].plans[op.plan];
  if (interferes_) loads_[lane.rank].sms += plan.sms;
  if (meeting.lanes.size() < members) {
    if (interferes_ && plan.sms > 0) change_pace(lane.rank);
    return;
  }

  meetings.open.erase(meetings.open.begin());
  ++meetings.done;
  meeting.number = meeting_count_++;
  meeting.begin = now_;
  meeting.parts_left = static_cast<std::uint32_t>(plan.flows.size()) + 1;
  meeting.since = now_ + plan.latency.value;
  meeting.left = plan.fixed.value;
  if (interferes_) begin_beside(slot);
  meeting.due = meeting.since + meeting.left * meeting.factor;
  heap_.push({meeting.due, add_timer({Timer::kFixed, slot, 0, 0, 0})});
  if (plan.flows.empty()) return;
  if (plan.latency.value > 0)
    heap_.push({now_ + plan.latency.value, add_timer({Timer::kFlows, slot, 0, 0, 0})});
  else
    start_flows(slot);
}

std::uint32_t Player::new_meeting(int group, int plan) {
  std::uint32_t slot;
  if (free_meetings_.empty()) {
    slot = static_cast<std::uint32_t>(pool_.size());
    pool_.emplace_back();
  } else {
    slot = free_meetings_.back();
    free_meetings_.pop_back();
  }
  pool_[slot].group = group;
  pool_[slot].plan = plan;
  pool_[slot].lanes.clear();
  pool_[slot].factor = 1;
  pool_[slot].computing = 0;
  return slot;
}

void Player::start_flows(std::uint32_t slot) {
  const Meeting& meeting = pool_[slot];
  if (!network_) network_ = make_network_(graph_);
  for (const Plan::Flow& flow : graph_.groups[meeting.group].plans[meeting.plan].flows) {
    const int link = graph_.paths[flow.path].links.front();
    const int number = network_->start(flow.path, behind_tokens(link, flow.bytes), Seconds{now_});
    flows_.add(number, {slot, link});
  }
}

Bytes Player::behind_tokens(int link, Bytes bytes) {
  buckets_.resize(graph_.links.size());
  Bucket& bucket = buckets_[link];
  const Link& of = graph_.links[link];
  const bool idle = bucket.flows++ == 0;
  if (!idle || of.burst == Bytes{0}) return bytes;
  const double tokens = std::min(of.burst.value, bucket.tokens + (now_ - bucket.idle_since) * of.bandwidth.value);
  const double used = std::min(tokens, bytes.value);
  bucket.tokens = tokens - used;
  return bytes - Bytes{used};
}

void Player::part_done(std::uint32_t slot) {
  if (--pool_[slot].parts_left > 0) return;
  if (interferes_) end_beside(slot);
  for (const std::uint32_t id : pool_[slot].lanes) {
    Lane& lane = lanes_[id];
    emit(lane, pool_[slot].begin, now_, pool_[slot].number);
    lane.state = State::kFree;
    finish(id, now_);
    ready_.push_back({id, now_});
  }
  free_meetings_.push_back(slot);
}

}  // namespace accosim
