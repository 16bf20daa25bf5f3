// The programs of a schedule as one looks at them: of each kind of rank and each lane the ops in order, those that
// repeat once. Text and drawing say the same of them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reports/table.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// A schedule before anything is played.
struct ScheduleGraph {
  std::string label;
  std::vector<std::string> kinds;      ///< of ranks, by program: "A100-SXM4-80GB"
  EventGraph graph;                    ///< of two updates, every rank by itself
  std::vector<Program> before, first;  ///< of no update and of one: what the graph's programs begin with
};

/// Of every lane: what precedes all updates, and the two updates.
enum class Section { kBefore, kFirst, kSecond };

/// A line of a lane. Between kLoop (of the program) or kTimes (ops that are written so often) and its kEnd is a body.
struct LaneRow {
  enum class Is { kOp, kLoop, kTimes, kEnd } is = Is::kOp;
  int op = 0;      ///< index of the first op that it stands for
  int times = 1;   ///< kOp: so many ops, each `stride` after the one before. kTimes: how often the body is written
  int stride = 1;  ///< kTimes: ops of the body
};
std::vector<LaneRow> rows_of(const ScheduleGraph& schedule, std::size_t program, std::size_t lane, Section section);

/// "8 ranks (0-3,8-11) of A100-SXM4-80GB, micro-batches of 4".
std::string who_runs(const ScheduleGraph& schedule, std::size_t program);
/// The first rank that runs the program.
const Rank& first_rank(const EventGraph& graph, std::size_t program);
/// "communication 7", the op's lane and index.
std::string place_of(const Program& program, OpRef op);
/// "24 x forward", "end of update".
std::string title_of(const EventGraph& graph, const Op& op, const LaneRow& row);
/// A time or, of what is sent, its bytes; empty of a mark.
std::string cost_of(const EventGraph& graph, const Op& op);
/// What else there is to say, but for its waits: "copy"; "all 8 ranks".
std::vector<std::string> remarks_on(const EventGraph& graph, std::size_t program, const Op& op);
/// "repeat at least 4 times, until communication 7 has ended", of a kLoop; "32 times these 3", of a kTimes.
std::string body_of(const EventGraph& graph, std::size_t number, std::size_t lane, const LaneRow& row);
/// " of the round before", where an op waits for such a one.
std::string round_of(OpRef wait);

/// Who decides for a program's ranks how often they repeat a loop.
struct Decider {
  std::string other;  ///< "rank 0", or "the first rank of its replica" where there are several; empty: each by itself
  bool asks = true;   ///< it runs the same program, so it is by this program's awaited op
};
Decider decider_of(const EventGraph& graph, std::size_t program, const Loop& loop);

/// As text for a person who asks why it does what it does: of each kind of rank what precedes all updates, and the
/// second update, lane by lane: the first may lack waits for the one before.
void write_graph(std::ostream& out, const ScheduleGraph& schedule, const ConsoleOptions& options);

/// As a drawing for Graphviz: a box for each lane, and in it one for each body. What is in order on a lane is joined by
/// solid arrows, what waits by dashed ones, a loop to the op that ends it by a dotted one; a collective of several
/// kinds of ranks has a node of its own, where they meet.
void write_dot(std::ostream& out, const std::vector<ScheduleGraph>& schedules);
/// How a file begins that write_dot() wrote.
inline constexpr const char* kDotBegins = "digraph accosim {";

}  // namespace accosim
