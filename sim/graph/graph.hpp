// The event graph, stored as programs: what one rank does is a few in-order lanes of ops, as CUDA streams are; an op
// may wait on ops of the rank's other lanes, as a stream waits on an event; and the ranks of a collective meet. Ranks
// that do the same share one program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/collectives/window.hpp"
#include "models/price/pace.hpp"
#include "models/price/work.hpp"
#include "models/spec/parallel.hpp"

namespace accosim {

enum class OpKind : std::uint8_t {
  kCompute,     ///< `duration` on the lane
  kHost,        ///< the same, on a lane of the host
  kCollective,  ///< all ranks of a group meet, then its plan runs
  kTransfer,    ///< a group of two meets
  kRecord,      ///< no time; marks the end of an update
  kLoopBegin,   ///< the body up to the matching kLoopEnd repeats, on all lanes that carry the loop
  kLoopEnd,
};

/// What the time of an op counts as.
/// kOffload: copies between a GPU and its host, and what the host computes with them; the GPU does nothing for that.
/// kCounted: repetitions of a loop that are equal to the one before, and are counted instead of played.
enum class OpClass : std::uint8_t {
  kForward,
  kBackward,
  kOptimizer,
  kCopy,
  kCommunication,
  kOffload,
  kHost,
  kPause,
  kCounted,
  kMark
};

struct OpRef {
  int lane = 0;
  int index = 0;
  int rounds_back = 0;  ///< of a wait between lanes that run on (Loop::runs_on): so many rounds before the waiting op's
};

struct Op {
  OpKind kind = OpKind::kCompute;
  bool ends_pass = false;   ///< the next op of its `pass` is of the next micro-batch
  std::uint16_t label = 0;  ///< index in EventGraph::labels
  std::uint32_t waits = 0;  ///< index of its first wait in Program::waits
  std::uint32_t wait_count = 0;
  std::uint16_t pass = 0;  ///< of class kForward and kBackward: which pass over which chunk of the model, a number that
                           ///< the program chooses; the n-th time through it is that of micro-batch n
  Seconds duration{};      ///< kCompute, kHost: before the graph's pace changes it
  int slot = -1;           ///< kCollective, kTransfer: which of the rank's groups
  int plan = 0;            ///< kCollective, kTransfer: which of the group's plans. Loops: index in Program::loops
  int work = -1;           ///< kCompute: index in Program::works; -1 for what nothing slows
};

/// A body that repeats until op `until` of this rank has finished, which is checked after every `stride` bodies and at
/// least `min` times. A check less than kTie before that moment counts as after it. With until.lane < 0 the body
/// repeats min x stride times; where it then has a label for it, repetitions that have become equal on all ranks that
/// meet in them are counted instead of played, but for the last few (kPlayedAfter).
///
/// With a `slot` the first member of that group decides, by its own `until`, and all others do as many bodies: theirs
/// is never asked. Whoever comes to the end of a body before it is known whether there is a next one waits for that and
/// for nothing else. The members' loops of one group have the same `min` and `stride` and are entered in one order.
struct Loop {
  int min = 1;
  int stride = 1;
  OpRef until{-1, 0};
  int slot = -1;     ///< which of the rank's groups has the first member that decides; -1: the rank by itself
  int counted = -1;  ///< index in EventGraph::labels, of a label of class kCounted; -1: every repetition is played
  /// No lane begins a repetition before all have ended the one before; or each goes on with its own next round. A wait
  /// for an op of such a body is over when the awaited lane is past that op in the waiting lane's round (or in the one
  /// `rounds_back` before it, or is in a later one); before the first round there is nothing to wait for.
  bool runs_on = false;
  struct Part {
    int lane, begin, end;  ///< indices of the kLoopBegin and the kLoopEnd on that lane
  };
  std::vector<Part> parts{};  ///< one a lane, the first decides: when all have ended, or where lanes run on by itself
};
inline constexpr Seconds kTie{1e-9};
inline constexpr int kPlayedAfter = 4;

/// The part of the loop's body that holds the op; null where none does.
inline const Loop::Part* part_around(const Loop& loop, OpRef op) {
  for (const Loop::Part& part : loop.parts)
    if (part.lane == op.lane && part.begin < op.index && op.index < part.end) return &part;
  return nullptr;
}

struct Program {
  std::vector<std::string> lane_names;
  std::vector<std::vector<Op>> lanes{};
  std::vector<OpRef> waits{};
  std::vector<Loop> loops{};
  std::vector<std::vector<int>> ends{};  ///< by update: how many ops each lane has when its mark has been written
  std::vector<Work> works{};
  BytesPerSecond memory_bandwidth{};  ///< achieved, of the GPU; 0: not shared with collectives
  /// Multiprocessors that a memory-bound op (a copy, the optimizer) holds from what computes on the rank's other lanes.
  /// Where it is 0 the lanes do not slow each other.
  int streaming_sms = 0;
  int micro_batch_size = 0;
};

/// What ends with an op of kind kRecord. The end of an update ends a round too.
enum class Mark : std::uint8_t { kNone, kRound, kUpdate };

struct Label {
  std::string name;
  OpClass cls = OpClass::kForward;
  int micro_batches = 0;  ///< how many micro-batches are complete when such an op ends
  Mark mark = Mark::kNone;
};

struct Link {
  std::string name;
  BytesPerSecond bandwidth;
  Bytes burst{};  ///< of its token bucket: so many bytes pass at once after a pause
  int alike = 1;  ///< how many links it stands for, each of that bandwidth
};

/// A way through the network: all links it takes, and what each flow over it may have under way.
struct Path {
  std::vector<int> links;                                        ///< each once
  Window window{};                                               ///< none: it never limits
  BytesPerSecond ends{std::numeric_limits<double>::infinity()};  ///< what its ends move at most (ends_bandwidth())

  /// The most that a flow moves, whatever the links carry.
  BytesPerSecond cap() const { return std::min(window.rate(), ends); }
  int alike = 1;  ///< how many paths it stands for: a flow over it is so many equal ones
};

/// A collective that a group will be asked for: `count` messages of bytes / count each, one after the other.
struct PlanRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;
  int count = 1;
  Ranks ranks{};
  bool back = false;  ///< of a pair: from the next to the one before

  bool operator==(const PlanRequest&) const = default;
};

/// What one collective of a group does once all ranks are there: `latency`, then `fixed` and the flows side by side.
struct Plan {
  Seconds latency{};
  Seconds fixed{};
  struct Flow {
    int path;
    Bytes bytes;
  };
  std::vector<Flow> flows{};
  Bytes sent_per_rank{};
  // How it slows the computation on its ranks' GPUs, and they it.
  int sms = 0;  ///< multiprocessors held from a rank's arrival on: its kernel spins until all are there
  BytesPerSecond memory_traffic{0};  ///< of each GPU, from the begin to the end
  double slowed = 1;                 ///< how many times as long `fixed` takes while one of its ranks computes
};

struct Group {
  /// Ranks, each as often as it has the group: once, or in several slots of a folded graph.
  std::vector<int> members;
  std::vector<Plan> plans{};  ///< by request; empty where no program of a member asks for it
  std::string name{};         ///< "the 8 ranks of its node"
};

inline constexpr int kNoGroup = -1;

struct Rank {
  int program = 0;
  std::vector<int> groups;  ///< by slot; kNoGroup where it is in none
  int multiplicity = 1;     ///< how many real ranks it stands for
  int replica = -1;         ///< whose micro-batches it computes, where they are drawn; -1: those of its own number
  int number = -1;          ///< of a folded graph: in the whole one, by which its own speed is drawn; -1: its place
};

struct EventGraph {
  std::vector<Label> labels{};
  std::vector<Program> programs{};
  std::vector<Rank> ranks{};
  std::vector<Group> groups{};
  std::vector<Link> links{};
  std::vector<Path> paths{};
  std::vector<PlanRequest> requests{};  ///< what the groups' plans are of, in their order
  int updates_per_mark = 1;             ///< a mark ends so many updates: DiLoCo's inner ones
  /// What forward, backward and pauses take instead of their `duration`. Its kinds of ranks are the programs.
  Pace pace{};
};

/// Rank::number, Rank::replica.
inline int number_of(const EventGraph& graph, std::size_t rank) {
  const int number = graph.ranks[rank].number;
  return number < 0 ? static_cast<int>(rank) : number;
}
inline int replica_of(const EventGraph& graph, std::size_t rank) {
  const int replica = graph.ranks[rank].replica;
  return replica < 0 ? number_of(graph, rank) : replica;
}

}  // namespace accosim
