// The player. Its state is a position on each lane of each rank, and an agenda of what ends when. All that happens at
// one moment is worked off through a list, so the depth of a chain of instantaneous ops costs no stack.
#include "sim/player/player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/player/child.hpp"
#include "sim/player/player_state.hpp"

namespace accosim {
namespace {

/// A loop whose repetitions need no events: one lane, ops of known and equal duration, which wait for nothing and which
/// nobody waits for. Its end is computed when the awaited op has ended.
bool is_plain(const Program& program, const Loop& loop, const Pace& pace) {
  if (pace.unsteady.varies()) return false;
  if (loop.parts.size() != 1) return false;
  const auto lane = loop.parts[0].lane;
  const auto begin = loop.parts[0].begin;
  const auto end = loop.parts[0].end;
  if (loop.slot >= 0 || program.lanes[lane][end].wait_count > 0) return false;
  for (int i = begin + 1; i < end; ++i) {
    const Op& op = program.lanes[lane][i];
    if ((op.kind != OpKind::kCompute && op.kind != OpKind::kHost) || op.wait_count > 0) return false;
  }
  return true;  // an op outside that waited for one repetition would be refused (check_graph)
}

/// By loop: the one around it, -1 where there is none. Adds those of the ops from `read` on, by lane, before which all
/// loops have ended.
void add_enclosing_loops(const Program& program, std::vector<std::size_t>& read, std::vector<int>& enclosing) {
  enclosing.resize(program.loops.size(), -1);
  read.resize(program.lanes.size(), 0);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    std::vector<int> open;
    for (; read[lane] < program.lanes[lane].size(); ++read[lane]) {
      const Op& op = program.lanes[lane][read[lane]];
      if (op.kind == OpKind::kLoopEnd) open.pop_back();
      if (op.kind != OpKind::kLoopBegin) continue;
      if (!open.empty()) enclosing[op.plan] = open.back();
      open.push_back(op.plan);
    }
  }
}

}  // namespace

Player::Player(const EventGraph& graph, MakeNetwork make, const SpanSink& sink, const GoingOn* go_on)
    : graph_(graph), make_network_(make), sink_(sink), go_on_(go_on) {
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const Rank& rank = graph.ranks[r];
    first_lane_.push_back(static_cast<std::uint32_t>(lanes_.size()));
    first_slot_.push_back(static_cast<std::uint32_t>(met_.size()));
    lanes_.resize(lanes_.size() + graph.programs[rank.program].lanes.size());
    met_.resize(met_.size() + rank.groups.size(), 0);
  }
  first_lane_.push_back(static_cast<std::uint32_t>(lanes_.size()));
  read_programs();
  meetings_.resize(graph.groups.size());
  plain_.resize(lanes_.size());
  for (const Program& program : graph.programs) interferes_ = interferes_ || program.streaming_sms > 0;
  for (const Group& group : graph.groups)
    for (const Plan& plan : group.plans)
      interferes_ = interferes_ || plan.sms > 0 || plan.memory_traffic.value > 0 || plan.slowed > 1;
  prepare_ranks();
  if (interferes_) {
    loads_.resize(graph.ranks.size());
    running_.resize(lanes_.size());
  }
  entered_.resize(met_.size());
  decided_.resize(graph.groups.size());
  find_circles();
}

void Player::read_programs() {
  plain_programs_.resize(graph_.programs.size());
  enclosing_.resize(graph_.programs.size());
  read_.resize(graph_.programs.size());
  for (std::size_t p = 0; p < graph_.programs.size(); ++p) {
    const Program& program = graph_.programs[p];
    std::vector<bool>& plain = plain_programs_[p];  // what is written later changes no loop that is
    while (plain.size() < program.loops.size())
      plain.push_back(is_plain(program, program.loops[plain.size()], graph_.pace));
    add_enclosing_loops(program, read_[p], enclosing_[p]);
  }
  const std::vector<LoopState> before = std::exchange(loops_, {});
  const std::vector<std::uint32_t> first_before = std::exchange(first_loop_, {});
  for (std::size_t r = 0; r < graph_.ranks.size(); ++r) {
    const Program& program = graph_.programs[graph_.ranks[r].program];
    for (std::size_t l = 0; l < program.lanes.size(); ++l) {
      Lane& lane = lanes_[first_lane_[r] + l];
      lane.ops = program.lanes[l].data();
      lane.size = static_cast<std::uint32_t>(program.lanes[l].size());
      lane.rank = static_cast<std::uint32_t>(r);
    }
    first_loop_.push_back(static_cast<std::uint32_t>(loops_.size()));
    if (!before.empty()) {
      const std::size_t end = r + 1 < first_before.size() ? first_before[r + 1] : before.size();
      loops_.insert(loops_.end(), before.begin() + first_before[r], before.begin() + end);
    }
    loops_.resize(first_loop_.back() + program.loops.size());
  }
}

void Player::write_more() {
  at_end_ = false;
  std::vector<std::uint32_t> waiting;
  for (std::uint32_t i = 0; i < lanes_.size(); ++i)
    if (lanes_[i].position == lanes_[i].size) waiting.push_back(i);
  go_on_->write_more();
  read_programs();
  for (const std::uint32_t lane : waiting) ready_.push_back({lane, now_});
}

Played Player::run() {
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) ready_.push_back({lane, 0.0});
  work_off();
  std::vector<int> ended;
  while (!is_done()) {
    if (!flows_.empty()) {
      const double next = heap_.empty() ? kNever : std::max(now_, heap_.top().time);
      ended.clear();
      now_ = std::max(now_, network_->advance(Seconds{next}, ended).value);
      for (const int number : ended) {
        const Flow flow = flows_.take(number);
        if (Bucket& bucket = buckets_[flow.link]; --bucket.flows == 0) bucket.idle_since = now_;
        part_done(flow.meeting);
      }
      work_off();
      if (!ended.empty()) continue;
    }
    if (heap_.empty()) break;
    const Event event = heap_.take();
    if (event.id >= lanes_.size()) {
      timer_event(event.id - static_cast<std::uint32_t>(lanes_.size()), event.time);
    } else if (event.time == lanes_[event.id].due) {
      now_ = std::max(now_, event.time);
      lane_event(event.id, event.time);
    }
    work_off();
    heap_.close();
  }
  for (std::uint32_t i = 0; i < lanes_.size() && !is_done(); ++i)
    if (lanes_[i].position < lanes_[i].size) throw_stuck(i);
  return {Seconds{now_}, executed_};
}

void Player::work_off() {
  // First in, first out: a rank's lanes that come to their ops at one moment do so in the order of the lanes.
  for (;;) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const Ready ready = ready_[i];
      proceed(ready.lane, ready.time);
    }
    ready_.clear();
    if (!at_end_ || go_on_ == nullptr || is_done()) return;
    write_more();
  }
}

bool Player::waits_over(const Lane& lane, const Op& op) const {
  if (lane.running_on >= 0) return waits_over_in_rounds(lane, op);
  const OpRef* wait = program_of(lane.rank).waits.data() + op.waits;
  const std::uint32_t first = first_lane_[lane.rank];
  for (std::uint32_t i = 0; i < op.wait_count; ++i)
    if (lanes_[first + wait[i].lane].position <= static_cast<std::uint32_t>(wait[i].index)) return false;
  return true;
}

void Player::proceed(std::uint32_t id, double time) {
  Lane& lane = lanes_[id];
  while (lane.position < lane.size) {
    const Op& op = lane.ops[lane.position];
    if (op.wait_count > 0 && !waits_over(lane, op)) {
      lane.state = State::kBlocked;
      return;
    }
    lane.arrived = time;
    switch (op.kind) {
      case OpKind::kCompute:
      case OpKind::kHost: begin_op(id, op, time); return;
      case OpKind::kRecord:
        emit(lane, time, time);
        finish(id, time);
        break;
      case OpKind::kCollective:
      case OpKind::kTransfer: meet(id, op); return;
      case OpKind::kLoopBegin:
        if (plain_programs_[graph_.ranks[lane.rank].program][op.plan]) {
          enter_plain_loop(id, op, time);
          return;
        }
        enter_loop(id, op, time);
        break;
      case OpKind::kLoopEnd:
        lane.state = State::kLoopEnd;
        end_body(id, op, time);
        return;
    }
  }
  lane.state = State::kFree;
  at_end_ = true;
}

void Player::finish(std::uint32_t id, double time) {
  Lane& lane = lanes_[id];
  const auto index = static_cast<int>(lane.position++);
  lane.ended = time;
  ++executed_;
  if (unsteady_) note_end(lane.rank, lane.ops[index]);
  const std::uint32_t first = first_lane_[lane.rank], last = first_lane_[lane.rank + 1];
  for (std::uint32_t other = first; other < last; ++other) {
    const State state = lanes_[other].state;
    if (state == State::kBlocked) {
      if (waits_over(lanes_[other], lanes_[other].ops[lanes_[other].position])) {
        lanes_[other].state = State::kFree;
        ready_.push_back({other, time});
      }
    } else if (state == State::kOpenLoop) {
      const Op& op = lanes_[other].ops[lanes_[other].position];
      const OpRef until = program_of(lane.rank).loops[op.plan].until;
      if (until.lane == static_cast<int>(id - first) && until.index == index) close_plain_loop(other, op, time);
    }
  }
}

void Player::emit(const Lane& lane, double begin, double end, std::int64_t rendezvous) {
  if (!sink_) return;
  sink_(Span{.rank = static_cast<std::int32_t>(lane.rank),
             .op = static_cast<std::int32_t>(lane.position),
             .lane = static_cast<std::uint16_t>(&lane - &lanes_[first_lane_[lane.rank]]),
             .label = lane.ops[lane.position].label,
             .iteration = lane.iteration,
             .rendezvous = rendezvous,
             .arrived = Seconds{lane.arrived},
             .begin = Seconds{begin},
             .end = Seconds{end}});
}

void Player::lane_event(std::uint32_t id, double time) {
  Lane& lane = lanes_[id];
  lane.due = -1;
  const bool loop = lane.state == State::kPlainLoop;
  lane.state = State::kFree;
  if (loop || lane.ops[lane.position].kind == OpKind::kCompute) computing(lane.rank, -1);
  if (loop) {
    leave_plain_loop(id, time);
  } else {
    emit(lane, lane.arrived, time);
    finish(id, time);
  }
  proceed(id, time);
}

std::uint32_t Player::add_timer(const Timer& timer) {
  if (free_timers_.empty()) {
    timers_.push_back(timer);
    return static_cast<std::uint32_t>(lanes_.size() + timers_.size() - 1);
  }
  const std::uint32_t slot = free_timers_.back();
  free_timers_.pop_back();
  timers_[slot] = timer;
  return static_cast<std::uint32_t>(lanes_.size()) + slot;
}

void Player::timer_event(std::uint32_t slot, double event_time) {
  const Timer timer = timers_[slot];
  free_timers_.push_back(slot);
  if (timer.kind == Timer::kFixed && pool_[timer.meeting].due != event_time) return;
  now_ = std::max(now_, event_time);
  switch (timer.kind) {
    case Timer::kFlows: start_flows(timer.meeting); break;
    case Timer::kFixed:
      pool_[timer.meeting].due = -1;
      part_done(timer.meeting);
      break;
    case Timer::kDecision: decide(timer.lane, timer.loop, timer.time, true); break;
    case Timer::kCounted: begin_body(timer.lane, timer.loop, event_time); break;
  }
}

void Player::begin_op(std::uint32_t id, const Op& op, double time) {
  Lane& lane = lanes_[id];
  lane.state = State::kBusy;
  double duration = unsteady_ ? duration_of(lane, op, time) : op.duration.value;
  if (interferes_ && op.kind == OpKind::kCompute) {
    running_[id] = {duration, time, factor(lane, op)};
    duration *= running_[id].factor;
  }
  lane.due = time + duration;
  heap_.push({lane.due, id});
  if (op.kind == OpKind::kCompute) computing(lane.rank, 1);
}

void Player::throw_stuck(std::uint32_t id) const {
  const Lane& lane = lanes_[id];
  const Program& program = program_of(lane.rank);
  throw std::logic_error(fmt::format("ranks wait for each other for ever: rank {} stands at op {} ({}) of lane {}",
                                     lane.rank, lane.position, graph_.labels[lane.ops[lane.position].label].name,
                                     program.lane_names[id - first_lane_[lane.rank]]));
}

namespace {

/// Whether collectives of the group can be under way at the same time: some rank has them on several lanes.
std::vector<bool> on_several_lanes(const EventGraph& graph) {
  std::vector<std::vector<int>> lanes_of_slot(graph.programs.size());
  for (std::size_t p = 0; p < graph.programs.size(); ++p)
    for (const std::vector<Op>& lane : graph.programs[p].lanes) {
      std::vector<bool> here;
      for (const Op& op : lane) {
        if (op.kind != OpKind::kCollective && op.kind != OpKind::kTransfer) continue;
        here.resize(std::max(here.size(), static_cast<std::size_t>(op.slot) + 1));
        here[op.slot] = true;
      }
      lanes_of_slot[p].resize(std::max(lanes_of_slot[p].size(), here.size()));
      for (std::size_t slot = 0; slot < here.size(); ++slot) lanes_of_slot[p][slot] += here[slot] ? 1 : 0;
    }
  std::vector<bool> several(graph.groups.size());
  for (const Rank& rank : graph.ranks) {
    const std::vector<int>& lanes = lanes_of_slot[rank.program];
    for (std::size_t slot = 0; slot < lanes.size(); ++slot)
      if (lanes[slot] > 1) several[rank.groups[slot]] = true;
  }
  return several;
}

}  // namespace

Sharing sharing_of(const EventGraph& graph) {
  const std::vector<bool> several = on_several_lanes(graph);
  constexpr int kNobody = -1;
  std::vector<int> user(graph.links.size(), kNobody);  // the group whose flows take the link
  Sharing sharing = Sharing::kNone;
  for (std::size_t g = 0; g < graph.groups.size(); ++g) {
    for (const Plan& plan : graph.groups[g].plans) {
      std::vector<int> taken;  // in this plan
      for (const Plan::Flow& flow : plan.flows) {
        const Path& path = graph.paths[flow.path];
        for (const int number : path.links) {
          const Link& link = graph.links[number];
          if (path.alike > link.alike) sharing = Sharing::kEvenly;
          if (path.alike > link.alike && link.burst > Bytes{0}) return Sharing::kUnevenly;
          taken.push_back(number);
        }
      }
      if (several[g] && !taken.empty()) return Sharing::kUnevenly;
      std::sort(taken.begin(), taken.end());
      if (std::adjacent_find(taken.begin(), taken.end()) != taken.end()) return Sharing::kUnevenly;
      for (const int link : taken) {
        int& of = user[link];
        if (of != kNobody && of != static_cast<int>(g)) return Sharing::kUnevenly;
        of = static_cast<int>(g);
      }
    }
  }
  return sharing;
}

Played play(const EventGraph& graph, NetworkKind network, const SpanSink& sink, const GoingOn* go_on) {
  check_graph(graph);
  if (network == NetworkKind::kReference) return Player(graph, make_reference_network, sink, go_on).run();
  if (sharing_of(graph) != Sharing::kUnevenly) return Player(graph, make_fair_network, sink, go_on).run();
  load_simgrid();
  GoingOn beside;  // the child's: it goes on until it is stopped
  if (go_on != nullptr) beside.write_more = go_on->write_more;
  return play_in_child(
      sink,
      [&](const SpanSink& to_parent) {
        return Player(graph, make_fair_network, to_parent, go_on == nullptr ? nullptr : &beside).run();
      },
      go_on == nullptr ? std::function<bool()>() : go_on->done);
}

}  // namespace accosim
