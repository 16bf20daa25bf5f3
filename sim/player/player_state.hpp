// The state of the player, whose functions are in five files. Only these include this header; all others use
// player.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "models/spec/schedule.hpp"
#include "sim/graph/graph.hpp"
#include "sim/network/live_flows.hpp"
#include "sim/network/network.hpp"
#include "sim/player/event_heap.hpp"
#include "sim/player/plain_loop.hpp"
#include "sim/player/player.hpp"

namespace accosim {

inline constexpr double kNever = std::numeric_limits<double>::infinity();
inline constexpr auto kNoDecision = static_cast<std::uint32_t>(-1);

/// Plays one graph once.
class Player {
 public:
  Player(const EventGraph& graph, MakeNetwork make, const SpanSink& sink, const GoingOn* go_on);
  Played run();

 private:
  enum class State : std::uint8_t { kFree, kBlocked, kBusy, kMeeting, kOpenLoop, kPlainLoop, kLoopEnd };

  struct Lane {
    const Op* ops = nullptr;
    std::uint32_t size = 0;
    std::uint32_t position = 0;  // ops before it have finished; inside a loop, in this repetition
    std::uint32_t rank = 0;
    State state = State::kFree;
    std::int32_t iteration = 0;
    std::int32_t running_on = -1;  // the loop around it whose lanes run on
    std::int32_t round = 0;        // of that loop
    double arrived = 0;            // when the op at `position` could start but for other ranks
    double ended = 0;              // when the op before it ended
    double due = 0;                // when what runs on it will end; an event at another time has been overtaken
  };
  struct LoopState {
    std::int32_t iteration = 0;
    std::uint32_t parts_at_end = 0;        // of this repetition; where lanes run on, that have left
    std::uint32_t decision = kNoDecision;  // the number of its bodies, where others than who decides have to learn it
  };
  /// How many bodies a loop has, of all ranks of a group or on all lanes of one that run on.
  struct Decision {
    std::int64_t looked = 0;  // bodies that had ended at the last look
    bool last = false;        // there is no further one; else there are `stride` more
    std::size_t ranks_left = 0;
    std::vector<std::uint32_t> waiting;  // lanes that have ended the last body of which they know
  };
  /// The ranks of a group on their way through one collective.
  struct Meeting {
    std::int64_t number = -1;
    double begin = 0;
    int group = 0;
    int plan = 0;
    std::uint32_t parts_left = 0;
    std::vector<std::uint32_t> lanes;
    // The fixed part: what is left of it at `since`, how many times as long it takes, when it will end.
    double left = 0, since = 0, factor = 1, due = 0;
    int computing = 0;  // ranks that compute beside it
  };
  /// What runs on one GPU at the same time.
  struct Load {
    int sms = 0;         // multiprocessors that collectives hold
    int moving = 0;      // collectives that move memory
    double traffic = 0;  // theirs, bytes per second
    int computing = 0;   // lanes that compute
    std::vector<std::uint32_t> meetings;
  };
  /// An op under way whose pace may change: what is left of its duration at `since`.
  struct Running {
    double left = 0, since = 0, factor = 1;
  };
  /// What a rank has come to, where the graph's pace is not steady.
  struct Progress {
    std::int64_t updates = 0;          // ended
    std::vector<std::int64_t> passes;  // by Op::pass: micro-batches whose pass has ended
    struct Drawn {
      std::int64_t number = -1;
      MicroBatch micro_batch;
    };
    std::array<Drawn, 8> drawn;  // those under way, by the last digit of their number
    double gpu = 1;
    SlowWindows slow;
  };
  /// Of a rank in a loop whose equal repetitions are counted: when its last ones ended.
  struct Repetitions {
    std::vector<double> ends;
    std::int64_t done = 0;    // since the loop began
    std::int64_t played = 0;  // of these
  };
  /// Ranks that meet each other in such a loop, or whose flows share links in it: they count together.
  struct Circle {
    std::vector<std::uint32_t> ranks;
    std::int64_t ended = 0;      // repetitions, of all ranks
    std::int64_t after = -1;     // each counts when it has done so many; -1: they are not known to be equal
    std::int64_t counted = 0;    // so many
    double period = 0;           // of each; 0: not yet known
    std::size_t ranks_done = 0;  // that have counted
  };
  struct Timer {
    enum Kind : std::uint8_t { kFlows, kFixed, kDecision, kCounted } kind;
    std::uint32_t meeting;  // kFlows, kFixed
    std::uint32_t lane;     // kDecision, kCounted: one of the loop's
    std::uint32_t loop;     // kDecision, kCounted
    double time;            // kDecision: when the body ended
  };
  /// A lane that may go on.
  struct Ready {
    std::uint32_t lane;
    double time;
  };

  const Program& program_of(std::uint32_t rank) const { return graph_.programs[graph_.ranks[rank].program]; }

  // ---- what is ready: player.cpp ----
  void work_off();
  bool is_done() const { return go_on_ != nullptr && go_on_->done && go_on_->done(); }
  /// What is read of the programs, and room for their loops.
  void read_programs();
  /// Has more written, and lets the lanes go on that had come to their end.
  void write_more();
  bool waits_over(const Lane& lane, const Op& op) const;
  /// The same inside a loop whose lanes run on.
  bool waits_over_in_rounds(const Lane& lane, const Op& op) const;
  /// Starts the op at the lane's position, and those that take no time.
  void proceed(std::uint32_t id, double time);
  /// The op at the lane's position has ended at `time`: whoever waited for it may go on.
  void finish(std::uint32_t id, double time);
  void emit(const Lane& lane, double begin, double end, std::int64_t rendezvous = -1);
  void lane_event(std::uint32_t id, double time);
  std::uint32_t add_timer(const Timer& timer);
  void timer_event(std::uint32_t slot, double event_time);

  // ---- micro-batches that are not alike, pauses: player_unsteady.cpp ----
  void prepare_ranks();
  /// Of the op under way, begun at `time`.
  double duration_of(const Lane& lane, const Op& op, double time);
  /// What was drawn of the micro-batch that an op is of.
  const MicroBatch& drawn_of(std::uint32_t rank, const Op& op);
  /// The rank has ended an op: the next of its pass may be of another micro-batch.
  void note_end(std::uint32_t rank, const Op& op);

  // ---- collectives: player_meetings.cpp ----
  void meet(std::uint32_t id, const Op& op);
  std::uint32_t new_meeting(int group, int plan);
  void start_flows(std::uint32_t slot);
  void part_done(std::uint32_t slot);
  /// The bytes of a flow that still take time, once the tokens that its first link gathered while it was idle have let
  /// the others pass at once.
  Bytes behind_tokens(int link, Bytes bytes);

  // ---- what slows what on one GPU: player_pace.cpp ----
  /// How many times as long the op takes beside what its GPU does now.
  double factor(const Lane& lane, const Op& op) const;
  /// The share of its time that what computes on the lane spends on memory.
  double streaming_on(const Lane& lane) const;
  std::vector<double> body_factors(std::uint32_t id) const;
  /// Starts an op of known duration.
  void begin_op(std::uint32_t id, const Op& op, double time);
  /// What runs beside the computations of a rank has just changed: their work so far stays done, the rest goes on at
  /// the new pace.
  void change_pace(std::uint32_t rank);
  void begin_beside(std::uint32_t slot);
  void end_beside(std::uint32_t slot);
  /// A lane of the rank has begun (1) or stopped (-1) computing, which slows down or frees the collectives beside it.
  void computing(std::uint32_t rank, int change) {
    if (interferes_) count_computing(rank, change);
  }
  void count_computing(std::uint32_t rank, int change);

  // ---- loops: player_loops.cpp ----
  bool is_over(std::uint32_t rank, OpRef until) const {
    return lanes_[first_lane_[rank] + until.lane].position > static_cast<std::uint32_t>(until.index);
  }
  PlainLoop::Emit emit_body(std::uint32_t id);
  void enter_plain_loop(std::uint32_t id, const Op& op, double time);
  /// The awaited op has ended at `awaited`: the number of bodies is the least that is enough.
  void close_plain_loop(std::uint32_t id, const Op& op, double awaited);
  void leave_plain_loop(std::uint32_t id, double time);
  void enter_loop(std::uint32_t id, const Op& op, double time);
  void end_body(std::uint32_t id, const Op& op, double time);
  /// The lane has ended a body at `time`, and so have all others of the loop unless they run on: repeat, leave, or wait
  /// until somebody knows. Unless `late`, who decides waits until kTie later for an awaited op that has not ended.
  void decide(std::uint32_t id, std::uint32_t loop_index, double time, bool late);
  /// Whether it is for this lane to say how many bodies there are.
  bool decides(std::uint32_t id, const Loop& loop) const;
  std::uint32_t decision_of(std::uint32_t rank, const Loop& loop);
  /// Those that waited for it follow a decision of the moment `time`.
  void follow(std::uint32_t decision, double time);
  void leave_decision(std::uint32_t rank, const Loop& loop, LoopState& state);
  /// The lane goes on with the next repetition; and with it all others of the loop unless they run on.
  void begin_body(std::uint32_t id, std::uint32_t loop_index, double time);
  void leave_loop(std::uint32_t id, std::uint32_t loop_index, double time);
  [[noreturn]] void throw_stuck(std::uint32_t id) const;

  // ---- equal repetitions that are counted: player_counted.cpp ----
  void find_circles();
  /// All lanes of the rank have ended a repetition. True where those that follow are counted now: the rank goes on
  /// when they would have ended.
  bool counts(std::uint32_t rank, std::uint32_t loop_index, double time);
  /// Whether the last repetitions of all its ranks were equal; then it says how many are counted, and after which.
  void look_at(Circle& circle, std::int64_t repetitions);
  /// Some lane of its ranks that is not in the loop is at work, which ends before or in the repetitions that follow.
  bool something_beside(const Circle& circle) const;
  void check_playable(std::uint32_t rank, const Loop& loop) const;

  struct GroupMeetings {
    std::vector<std::uint32_t> open;  // slots in pool_, in order; few
    std::size_t done = 0;
  };
  using GroupDecisions = GroupMeetings;  // numbers in decisions_

  const EventGraph& graph_;
  MakeNetwork make_network_;
  const SpanSink& sink_;
  const GoingOn* go_on_;
  bool at_end_ = false;                            // some lane has come to the end of its program
  std::vector<std::vector<bool>> plain_programs_;  // by program and loop
  std::vector<std::vector<int>> enclosing_;        // by program and loop: the loop around it, or -1
  std::vector<std::vector<std::size_t>> read_;     // by program and lane: ops whose loops are in these
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> first_lane_, first_loop_, first_slot_;  // by rank
  std::vector<LoopState> loops_;
  std::vector<PlainLoop> plain_;  // by lane
  bool unsteady_ = false;
  std::vector<Progress> progress_;        // by rank
  std::vector<Repetitions> repetitions_;  // by rank; empty where nothing is counted
  std::vector<Circle> circles_;
  std::vector<int> circle_of_;  // by rank; -1: none
  bool interferes_ = false;
  std::vector<Load> loads_;       // by rank
  std::vector<Running> running_;  // by lane
  std::vector<std::size_t> met_;  // collectives begun, by rank and slot
  std::vector<GroupMeetings> meetings_;
  std::vector<std::size_t> entered_;  // loops that a group decides about, by rank and slot
  std::vector<GroupDecisions> decided_;
  std::vector<Decision> decisions_;
  std::vector<std::uint32_t> free_decisions_;
  std::vector<Meeting> pool_;
  std::vector<std::uint32_t> free_meetings_;
  std::vector<Timer> timers_;
  std::vector<std::uint32_t> free_timers_;
  struct Flow {
    std::uint32_t meeting;
    int link;  ///< the first of its path
  };
  LiveFlows<Flow> flows_;
  struct Bucket {
    int flows = 0;                                            ///< on the link now
    double tokens = std::numeric_limits<double>::infinity();  ///< at `idle_since`, of bytes; at most the burst
    double idle_since = 0;
  };
  std::vector<Bucket> buckets_;  ///< one a link
  std::vector<Ready> ready_;
  EventHeap heap_;
  std::unique_ptr<Network> network_;
  std::int64_t meeting_count_ = 0;
  std::int64_t executed_ = 0;
  double now_ = 0;
};

}  // namespace accosim
