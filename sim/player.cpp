// The player. Its state is a position on each lane of each rank, and an agenda of what ends when. All that happens at
// one moment is worked off through a list, so the depth of a chain of instantaneous ops costs no stack.
#include "sim/player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/child.hpp"
#include "sim/event_heap.hpp"

namespace accosim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kMostRepeats = 0x1p53;  // as far as a double counts

/// A loop whose repetitions need no events: one lane, ops of known duration, which wait for nothing and which nobody
/// waits for. Its end is computed when the awaited op has ended.
bool is_plain(const Program& program, const Loop& loop) {
  if (loop.parts.size() != 1) return false;
  const auto lane = loop.parts[0].lane;
  const auto begin = loop.parts[0].begin;
  const auto end = loop.parts[0].end;
  if (program.lanes[lane][begin].slot >= 0 || program.lanes[lane][end].wait_count > 0) return false;
  for (int i = begin + 1; i < end; ++i) {
    const Op& op = program.lanes[lane][i];
    if (op.kind != OpKind::kCompute || op.wait_count > 0) return false;
  }
  return std::none_of(program.waits.begin(), program.waits.end(),
                      [&](OpRef wait) { return wait.lane == lane && wait.index > begin && wait.index < end; });
}

class Player {
 public:
  Player(const EventGraph& graph, NetworkKind network, const SpanSink& sink)
      : graph_(graph), network_kind_(network), sink_(sink) {
    for (const Program& program : graph.programs) {
      ProgramInfo info;
      for (const Loop& loop : program.loops) {
        double period = 0;
        const Loop::Part part = loop.parts[0];
        for (int i = part.begin + 1; i < part.end; ++i) period += program.lanes[part.lane][i].duration.value;
        info.period.push_back(period);
        info.plain.push_back(is_plain(program, loop));
      }
      programs_.push_back(info);
    }
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
      const Rank& rank = graph.ranks[r];
      const Program& program = graph.programs[rank.program];
      first_lane_.push_back(static_cast<std::uint32_t>(lanes_.size()));
      first_loop_.push_back(static_cast<std::uint32_t>(loops_.size()));
      first_slot_.push_back(static_cast<std::uint32_t>(met_.size()));
      for (std::size_t l = 0; l < program.lanes.size(); ++l) {
        Lane lane;
        lane.ops = program.lanes[l].data();
        lane.size = static_cast<std::uint32_t>(program.lanes[l].size());
        lane.rank = static_cast<std::uint32_t>(r);
        lanes_.push_back(lane);
      }
      loops_.resize(loops_.size() + program.loops.size());
      met_.resize(met_.size() + rank.groups.size(), 0);
    }
    first_lane_.push_back(static_cast<std::uint32_t>(lanes_.size()));
    meetings_.resize(graph.groups.size());
    decisions_.resize(graph.groups.size());
  }

  Played run() {
    for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) work_.push_back({lane, 0.0});
    work_off();
    std::vector<int> ended;
    for (;;) {
      if (live_flows_ > 0) {
        const double next = heap_.empty() ? kNever : std::max(now_, heap_.top().time);
        ended.clear();
        now_ = std::max(now_, network_->advance(Seconds{next}, ended).value);
        for (const int flow : ended) {
          --live_flows_;
          part_done(flow_meeting_[flow]);
        }
        work_off();
        if (!ended.empty()) continue;
      }
      if (heap_.empty()) break;
      const Event event = heap_.take();
      now_ = std::max(now_, event.time);
      if (event.id < lanes_.size())
        lane_event(event.id, event.time);
      else
        timer_event(event.id - static_cast<std::uint32_t>(lanes_.size()));
      work_off();
      heap_.close();
    }
    for (std::uint32_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i].position < lanes_[i].size) throw_stuck(i);
    return {Seconds{now_}, executed_};
  }

 private:
  enum class State : std::uint8_t { kFree, kBlocked, kBusy, kMeeting, kOpenLoop, kPlainLoop, kLoopEnd };

  struct Lane {
    const Op* ops = nullptr;
    std::uint32_t size = 0;
    std::uint32_t position = 0;  // ops before it have finished; inside a loop, in this repetition
    std::uint32_t rank = 0;
    State state = State::kFree;
    std::int32_t iteration = 0;
    double arrived = 0;  // when the op at `position` could start but for other ranks
    double ended = 0;    // when the op before it ended
  };
  struct ProgramInfo {
    std::vector<double> period;
    std::vector<bool> plain;
  };
  struct LoopState {
    std::int32_t iteration = 0;
    std::uint32_t parts_at_end = 0;
    std::int64_t repeat = 0;  // of a plain loop
    double start = 0;         // of a plain loop
  };
  /// The ranks of a group on their way through one collective.
  struct Meeting {
    std::int64_t number = -1;
    double begin = 0;
    int group = 0;
    int plan = 0;
    std::uint32_t parts_left = 0;
    std::vector<std::uint32_t> lanes;
  };
  struct Timer {
    enum Kind : std::uint8_t { kFlows, kFixed, kDecision } kind;
    std::uint32_t meeting;  // kFlows, kFixed
    std::uint32_t rank;     // kDecision: one of the replica's ranks
    std::uint32_t loop;     // kDecision
    double time;            // kDecision: when the body ended
  };
  struct Work {
    std::uint32_t lane;
    double time;
  };

  const Program& program_of(std::uint32_t rank) const { return graph_.programs[graph_.ranks[rank].program]; }

  // ---- what is ready ----

  void work_off() {
    // First in, first out: a rank's lanes that come to their ops at one moment do so in the order of the lanes.
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const Work work = work_[i];
      proceed(work.lane, work.time);
    }
    work_.clear();
  }

  bool waits_over(const Lane& lane, const Op& op) const {
    const OpRef* wait = program_of(lane.rank).waits.data() + op.waits;
    const std::uint32_t first = first_lane_[lane.rank];
    for (std::uint32_t i = 0; i < op.wait_count; ++i)
      if (lanes_[first + wait[i].lane].position <= static_cast<std::uint32_t>(wait[i].index)) return false;
    return true;
  }

  /// Starts the op at the lane's position, and those that take no time.
  void proceed(std::uint32_t id, double time) {
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
        case OpKind::kHost:
          lane.state = State::kBusy;
          heap_.push({time + op.duration.value, id});
          return;
        case OpKind::kRecord:
          emit(lane, time, time);
          finish(id, time);
          break;
        case OpKind::kCollective:
        case OpKind::kTransfer: meet(id, op); return;
        case OpKind::kLoopBegin:
          if (programs_[graph_.ranks[lane.rank].program].plain[op.plan]) {
            enter_plain_loop(id, op, time);
            return;
          }
          lane.iteration = 0;
          loops_[first_loop_[lane.rank] + op.plan].iteration = 0;
          finish(id, time);
          break;
        case OpKind::kLoopEnd:
          lane.state = State::kLoopEnd;
          end_body(lane.rank, op, time);
          return;
      }
    }
    lane.state = State::kFree;
  }

  /// The op at the lane's position has ended at `time`: whoever waited for it may go on.
  void finish(std::uint32_t id, double time) {
    Lane& lane = lanes_[id];
    const auto index = static_cast<int>(lane.position++);
    lane.ended = time;
    ++executed_;
    const std::uint32_t first = first_lane_[lane.rank], last = first_lane_[lane.rank + 1];
    for (std::uint32_t other = first; other < last; ++other) {
      const State state = lanes_[other].state;
      if (state == State::kBlocked) {
        if (waits_over(lanes_[other], lanes_[other].ops[lanes_[other].position])) {
          lanes_[other].state = State::kFree;
          work_.push_back({other, time});
        }
      } else if (state == State::kOpenLoop) {
        const Op& op = lanes_[other].ops[lanes_[other].position];
        const OpRef until = program_of(lane.rank).loops[op.plan].until;
        if (until.lane == static_cast<int>(id - first) && until.index == index) close_plain_loop(other, op, time);
      }
    }
  }

  void emit(const Lane& lane, double begin, double end, std::int64_t rendezvous = -1) {
    if (!sink_) return;
    Span span;
    span.rank = static_cast<std::int32_t>(lane.rank);
    span.op = static_cast<std::int32_t>(lane.position);
    span.lane = static_cast<std::uint16_t>(&lane - &lanes_[first_lane_[lane.rank]]);
    span.label = lane.ops[lane.position].label;
    span.iteration = lane.iteration;
    span.rendezvous = rendezvous;
    span.arrived = Seconds{lane.arrived};
    span.begin = Seconds{begin};
    span.end = Seconds{end};
    sink_(span);
  }

  void lane_event(std::uint32_t id, double time) {
    Lane& lane = lanes_[id];
    if (lane.state == State::kPlainLoop) {
      leave_plain_loop(id, time);
    } else {
      emit(lane, lane.arrived, time);
      finish(id, time);
    }
    proceed(id, time);
  }

  std::uint32_t add_timer(const Timer& timer) {
    if (free_timers_.empty()) {
      timers_.push_back(timer);
      return static_cast<std::uint32_t>(lanes_.size() + timers_.size() - 1);
    }
    const std::uint32_t slot = free_timers_.back();
    free_timers_.pop_back();
    timers_[slot] = timer;
    return static_cast<std::uint32_t>(lanes_.size()) + slot;
  }

  void timer_event(std::uint32_t slot) {
    const Timer timer = timers_[slot];
    free_timers_.push_back(slot);
    switch (timer.kind) {
      case Timer::kFlows: start_flows(timer.meeting); break;
      case Timer::kFixed: part_done(timer.meeting); break;
      case Timer::kDecision: decide(timer.rank, timer.loop, timer.time, true); break;
    }
  }

  // ---- collectives ----

  void meet(std::uint32_t id, const Op& op) {
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
    if (meeting.lanes.size() < members) return;

    meetings.open.erase(meetings.open.begin());
    ++meetings.done;
    const Plan& plan = graph_.groups[group].plans[meeting.plan];
    meeting.number = meeting_count_++;
    meeting.begin = now_;
    meeting.parts_left = static_cast<std::uint32_t>(plan.flows.size()) + 1;
    heap_.push({now_ + plan.latency.value + plan.fixed.value, add_timer({Timer::kFixed, slot, 0, 0, 0})});
    if (plan.flows.empty()) return;
    if (plan.latency.value > 0)
      heap_.push({now_ + plan.latency.value, add_timer({Timer::kFlows, slot, 0, 0, 0})});
    else
      start_flows(slot);
  }

  std::uint32_t new_meeting(int group, int plan) {
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
    return slot;
  }

  void start_flows(std::uint32_t slot) {
    const Meeting& meeting = pool_[slot];
    if (!network_)
      network_ = network_kind_ == NetworkKind::kSimgrid ? make_simgrid_network(graph_) : make_reference_network(graph_);
    for (const Plan::Flow& flow : graph_.groups[meeting.group].plans[meeting.plan].flows) {
      const int number = network_->start(flow.path, flow.bytes, Seconds{now_});
      flow_meeting_.resize(number + 1);
      flow_meeting_[number] = slot;
      ++live_flows_;
    }
  }

  void part_done(std::uint32_t slot) {
    if (--pool_[slot].parts_left > 0) return;
    for (const std::uint32_t id : pool_[slot].lanes) {
      Lane& lane = lanes_[id];
      emit(lane, pool_[slot].begin, now_, pool_[slot].number);
      lane.state = State::kFree;
      finish(id, now_);
      work_.push_back({id, now_});
    }
    free_meetings_.push_back(slot);
  }

  // ---- loops ----

  bool is_over(std::uint32_t rank, OpRef until) const {
    return lanes_[first_lane_[rank] + until.lane].position > static_cast<std::uint32_t>(until.index);
  }

  void enter_plain_loop(std::uint32_t id, const Op& op, double time) {
    Lane& lane = lanes_[id];
    const Loop& loop = program_of(lane.rank).loops[op.plan];
    loops_[first_loop_[lane.rank] + op.plan].start = time;
    lane.state = State::kOpenLoop;
    if (loop.until.lane < 0 || is_over(lane.rank, loop.until)) close_plain_loop(id, op, -kNever);
  }

  /// The awaited op has ended at `awaited`: the number of bodies is the least that is enough.
  void close_plain_loop(std::uint32_t id, const Op& op, double awaited) {
    Lane& lane = lanes_[id];
    LoopState& state = loops_[first_loop_[lane.rank] + op.plan];
    const Loop& loop = program_of(lane.rank).loops[op.plan];
    const double period = programs_[graph_.ranks[lane.rank].program].period[op.plan];
    double looks = loop.min;
    if (period > 0) looks = std::max(looks, std::ceil((awaited - kTie.value - state.start) / (loop.stride * period)));
    const double repeat = looks * loop.stride;
    if (repeat > kMostRepeats)
      throw std::range_error(fmt::format("a round would take {:.3g} micro-batches, more than can be counted", repeat));
    state.repeat = static_cast<std::int64_t>(repeat);
    lane.state = State::kPlainLoop;
    heap_.push({std::max(awaited, state.start + repeat * period), id});
  }

  void leave_plain_loop(std::uint32_t id, double time) {
    Lane& lane = lanes_[id];
    const auto loop_index = static_cast<std::uint32_t>(lane.ops[lane.position].plan);
    const LoopState& state = loops_[first_loop_[lane.rank] + loop_index];
    const Loop::Part part = program_of(lane.rank).loops[loop_index].parts[0];
    const double period = programs_[graph_.ranks[lane.rank].program].period[loop_index];
    double begin = state.start;
    for (int i = part.begin + 1; i < part.end; ++i) {
      const double duration = lane.ops[i].duration.value;
      if (sink_) {
        Span span;
        span.rank = static_cast<std::int32_t>(lane.rank);
        span.op = i;
        span.lane = static_cast<std::uint16_t>(part.lane);
        span.label = lane.ops[i].label;
        span.repeat = state.repeat;
        span.arrived = span.begin = Seconds{begin};
        span.end = Seconds{begin + duration};
        span.period = Seconds{period};
        sink_(span);
      }
      begin += duration;
    }
    executed_ += state.repeat * (part.end - part.begin - 1);
    lane.position = static_cast<std::uint32_t>(part.end);
    lane.state = State::kFree;
    finish(id, time);
  }

  void end_body(std::uint32_t rank, const Op& op, double time) {
    const Loop& loop = program_of(rank).loops[op.plan];
    LoopState& state = loops_[first_loop_[rank] + op.plan];
    if (++state.parts_at_end < loop.parts.size()) return;
    if (op.slot >= 0) {  // the whole replica decides
      const int group = graph_.ranks[rank].groups[op.slot];
      if (++decisions_[group] < graph_.groups[group].members.size()) return;
      decisions_[group] = 0;
    }
    decide(rank, static_cast<std::uint32_t>(op.plan), time, false);
  }

  /// All lanes of the loop, on all ranks of the replica, have ended their bodies at `time`. Unless `late`, an awaited
  /// op that has not ended is given until kTie after it.
  void decide(std::uint32_t rank, std::uint32_t loop_index, double time, bool late) {
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
      state.parts_at_end = 0;
      ++state.iteration;
      for (const Loop::Part& part : program_of(member).loops[loop_index].parts) {
        const std::uint32_t id = first_lane_[member] + static_cast<std::uint32_t>(part.lane);
        Lane& lane = lanes_[id];
        lane.state = State::kFree;
        if (again) {
          lane.position = static_cast<std::uint32_t>(part.begin) + 1;
          lane.iteration = state.iteration;
          work_.push_back({id, time});  // the next body starts where the last one ended, however late the decision
        } else {
          lane.iteration = 0;
          finish(id, exit);
          work_.push_back({id, exit});
        }
      }
    }
  }

  [[noreturn]] void throw_stuck(std::uint32_t id) const {
    const Lane& lane = lanes_[id];
    const Program& program = program_of(lane.rank);
    throw std::logic_error(fmt::format("ranks wait for each other for ever: rank {} stands at op {} ({}) of lane {}",
                                       lane.rank, lane.position, graph_.labels[lane.ops[lane.position].label].name,
                                       program.lane_names[id - first_lane_[lane.rank]]));
  }

  struct GroupMeetings {
    std::vector<std::uint32_t> open;  // slots in pool_, in order; few
    std::size_t done = 0;
  };

  const EventGraph& graph_;
  NetworkKind network_kind_;
  const SpanSink& sink_;
  std::vector<ProgramInfo> programs_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> first_lane_, first_loop_, first_slot_;  // by rank
  std::vector<LoopState> loops_;
  std::vector<std::size_t> met_;  // collectives begun, by rank and slot
  std::vector<GroupMeetings> meetings_;
  std::vector<std::size_t> decisions_;  // ranks of the group that have come to the end of a body
  std::vector<Meeting> pool_;
  std::vector<std::uint32_t> free_meetings_;
  std::vector<Timer> timers_;
  std::vector<std::uint32_t> free_timers_;
  std::vector<std::uint32_t> flow_meeting_;
  std::vector<Work> work_;
  EventHeap heap_;
  std::unique_ptr<Network> network_;
  std::int64_t live_flows_ = 0;
  std::int64_t meeting_count_ = 0;
  std::int64_t executed_ = 0;
  double now_ = 0;
};

}  // namespace

Played play(const EventGraph& graph, NetworkKind network, const SpanSink& sink) {
  check_graph(graph);
  if (network == NetworkKind::kReference || graph.paths.empty()) return Player(graph, network, sink).run();
  return play_in_child(sink, [&](const SpanSink& to_parent) { return Player(graph, network, to_parent).run(); });
}

}  // namespace accosim
