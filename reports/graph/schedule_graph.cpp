#include "reports/graph/schedule_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "models/base/text.hpp"
#include "reports/human.hpp"
#include "reports/op_class_name.hpp"
#include "reports/repeats.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {
namespace {

/// Of every lane: what precedes all updates, and the two updates.
enum class Section { kBefore, kFirst, kSecond };

/// A line of a lane. Between kLoop (of the program) or kTimes (ops that are written so often) and its kEnd is a body.
struct LaneRow {
  enum class Is { kOp, kLoop, kTimes, kEnd } is = Is::kOp;
  int op = 0;      ///< index of the first op that it stands for
  int times = 1;   ///< kOp: so many ops, each `stride` after the one before. kTimes: how often the body is written
  int stride = 1;  ///< kTimes: ops of the body
};
bool is_loop_mark(const Op& op) { return op.kind == OpKind::kLoopBegin || op.kind == OpKind::kLoopEnd; }
bool is_sent(const Op& op) { return op.kind == OpKind::kCollective || op.kind == OpKind::kTransfer; }

/// A time or, of what is sent, its bytes; empty of a mark.
std::string cost_of(const EventGraph& graph, const Op& op) {
  if (is_sent(op)) return human_bytes(graph.requests[op.plan].bytes);
  if (op.kind != OpKind::kCompute && op.kind != OpKind::kHost) return "";
  return op.duration > Seconds{0} ? human_time(op.duration) : "-";
}

/// Whether nobody could tell two ops apart, wherever they are.
bool looks_alike(const EventGraph& graph, const Program& program, const Op& a, const Op& b) {
  if (a.kind != b.kind || a.label != b.label || a.slot != b.slot || a.wait_count != b.wait_count) return false;
  for (std::uint32_t w = 0; w < a.wait_count; ++w) {
    const OpRef &of_a = program.waits[a.waits + w], &of_b = program.waits[b.waits + w];
    if (of_a.lane != of_b.lane || of_a.rounds_back != of_b.rounds_back) return false;
  }
  if (is_sent(a)) {
    const PlanRequest &of_a = graph.requests[a.plan], &of_b = graph.requests[b.plan];
    if (of_a.kind != of_b.kind || of_a.count != of_b.count || of_a.ranks != of_b.ranks) return false;
  }
  return cost_of(graph, a) == cost_of(graph, b);
}

std::vector<LaneRow> rows_of(const ScheduleGraph& schedule, std::size_t program, std::size_t lane, Section section) {
  const Program& written = schedule.graph.programs[program];
  const std::vector<Op>& ops = written.lanes[lane];
  // A lane is there once something has been written on it.
  const auto size_in = [&](const Program& of) { return lane < of.lanes.size() ? of.lanes[lane].size() : 0; };
  const std::size_t ends[] = {0, size_in(schedule.before[program]), size_in(schedule.first[program]), ops.size()};
  const std::size_t end = ends[static_cast<std::size_t>(section) + 1];
  std::vector<LaneRow> rows;
  for (std::size_t at = ends[static_cast<std::size_t>(section)]; at < end;) {
    const int index = static_cast<int>(at);
    if (is_loop_mark(ops[at])) {
      rows.push_back({ops[at].kind == OpKind::kLoopBegin ? LaneRow::Is::kLoop : LaneRow::Is::kEnd, index});
      ++at;
      continue;
    }
    // What they wait for on a lane stays or moves on by one number of ops.
    std::size_t tried = 0;
    std::vector<int> steps;  // by lane
    const Repeats repeats = repeats_at(at, end, [&](std::size_t here, std::size_t length) {
      if (std::exchange(tried, length) != length) steps.assign(written.lanes.size(), 0);
      const Op &op = ops[here], &before = ops[here - length];
      if (is_loop_mark(op) || !looks_alike(schedule.graph, written, before, op)) return false;
      for (std::uint32_t w = 0; w < op.wait_count; ++w) {
        const OpRef wait = written.waits[op.waits + w];
        const int moved = wait.index - written.waits[before.waits + w].index;
        if (steps[wait.lane] == 0) steps[wait.lane] = moved;
        if (moved != 0 && moved != steps[wait.lane]) return false;
      }
      return true;
    });
    const int length = static_cast<int>(repeats.length), times = static_cast<int>(repeats.times);
    if (length > 1) rows.push_back({LaneRow::Is::kTimes, index, times, length});
    for (int i = 0; i < length; ++i) rows.push_back({LaneRow::Is::kOp, index + i, times, length});
    if (length > 1) rows.push_back({LaneRow::Is::kEnd, index + length * times});
    at = repeats.end();
  }
  return rows;
}

/// "8 ranks (0-3,8-11) of A100-SXM4-80GB, micro-batches of 4".
std::string who_runs(const ScheduleGraph& schedule, std::size_t program) {
  constexpr std::size_t kMostRanges = 4;
  std::vector<RankRange> ranges;
  int ranks = 0;
  for (int rank = 0; rank < static_cast<int>(schedule.graph.ranks.size()); ++rank) {
    if (schedule.graph.ranks[rank].program != static_cast<int>(program)) continue;
    if (ranges.empty() || ranges.back().last + 1 != rank) ranges.push_back({rank, rank});
    ranges.back().last = rank;
    ++ranks;
  }
  const bool cut = ranges.size() > kMostRanges;
  if (cut) ranges.resize(kMostRanges);
  return fmt::format("{} rank{} ({}{}) of {}, micro-batches of {}", ranks, ranks == 1 ? "" : "s", in_words(ranges),
                     cut ? ",..." : "", schedule.kinds[program], schedule.graph.programs[program].micro_batch_size);
}

/// The first rank that runs the program.
const Rank& first_rank(const EventGraph& graph, std::size_t program) {
  return *std::ranges::find_if(graph.ranks,
                               [&](const Rank& each) { return each.program == static_cast<int>(program); });
}

/// "communication 7", the op's lane and index.
std::string place_of(const Program& program, OpRef op) {
  return fmt::format("{} {}", program.lane_names[op.lane], op.index);
}

/// "24 x forward", "end of update".
std::string title_of(const EventGraph& graph, const Op& op, const LaneRow& row) {
  const Label& label = graph.labels[op.label];
  const std::string name = label.mark != Mark::kNone ? "end of " + label.name : label.name;
  return row.stride == 1 && row.times > 1 ? fmt::format("{} x {}", row.times, name) : name;
}

/// What else there is to say, but for its waits: "copy"; "all 8 ranks".
std::vector<std::string> remarks_on(const EventGraph& graph, std::size_t program, const Op& op) {
  const Label& label = graph.labels[op.label];
  std::vector<std::string> remarks;
  if (is_sent(op)) {
    const PlanRequest& request = graph.requests[op.plan];
    std::string kind = name_of(request.kind);
    std::replace(kind.begin(), kind.end(), '_', '-');
    if (label.name.rfind(kind, 0) != 0) remarks.push_back(kind);
    if (request.count > 1) remarks.push_back(fmt::format("in {} messages", request.count));
    const int group = first_rank(graph, program).groups[op.slot];
    remarks.push_back(graph.groups[group].name);
  } else if (op.kind != OpKind::kRecord && label.name != name_of(label.cls)) {
    remarks.emplace_back(name_of(label.cls));
  }
  if (label.micro_batches > 0) remarks.emplace_back("ends a micro-batch");
  return remarks;
}

/// " of the round before", where an op waits for such a one.
std::string round_of(OpRef wait) {
  if (wait.rounds_back == 0) return "";
  return wait.rounds_back == 1 ? " of the round before" : fmt::format(" of {} rounds before", wait.rounds_back);
}

/// Who decides for a program's ranks how often they repeat a loop.
struct Decider {
  std::string other;  ///< "rank 0", or "the first rank of its replica" where there are several; empty: each by itself
  bool asks = true;   ///< it runs the same program, so it is by this program's awaited op
};
Decider decider_of(const EventGraph& graph, std::size_t program, const Loop& loop) {
  if (loop.slot < 0) return {};
  Decider decider;
  int only = -1;  // the one for all of these ranks
  bool by_themselves = true, several = false;
  for (int r = 0; r < static_cast<int>(graph.ranks.size()); ++r) {
    const Rank& rank = graph.ranks[r];
    if (rank.program != static_cast<int>(program)) continue;
    const int first = graph.groups[rank.groups[loop.slot]].members.front();
    by_themselves = by_themselves && first == r;
    decider.asks = decider.asks && graph.ranks[first].program == rank.program;
    several = several || (only >= 0 && only != first);
    only = first;
  }
  if (!by_themselves) decider.other = several ? "the first rank of its replica" : fmt::format("rank {}", only);
  return decider;
}

/// "repeat at least 4 times, until communication 7 has ended", of a kLoop; "32 times these 3", of a kTimes.
std::string body_of(const EventGraph& graph, std::size_t number, std::size_t lane, const LaneRow& row) {
  const Program& program = graph.programs[number];
  if (row.is == LaneRow::Is::kTimes) return fmt::format("{} times these {}", row.times, row.stride);
  const Loop& loop = program.loops[program.lanes[lane][row.op].plan];
  const std::int64_t least = std::int64_t{loop.min} * loop.stride;
  const std::string times = least == 1 ? "once" : fmt::format("{} times", least);
  const Decider decider = decider_of(graph, number, loop);
  std::string text = "repeat " + times;
  if (!decider.asks)
    text = fmt::format("repeat at least {}, as often as {} decides", times, decider.other);
  else if (loop.until.lane >= 0)
    text = fmt::format("repeat at least {}, until {}{} has ended", times, place_of(program, loop.until),
                       decider.other.empty() ? "" : " of " + decider.other);
  if (loop.stride > 1 && (loop.until.lane >= 0 || loop.slot >= 0))
    text += fmt::format(" (seen every {} times)", loop.stride);
  std::string others;
  for (const Loop::Part& each : loop.parts)
    if (each.lane != static_cast<int>(lane)) others += (others.empty() ? "" : " and ") + program.lane_names[each.lane];
  if (!others.empty())
    text += loop.runs_on ? ", beside " + others + ", each at its own pace" : ", in step with " + others;
  return loop.counted >= 0 ? text + "; equal ones are counted" : text;
}

/// "after communication 7"; where the row stands for several ops, "after communication 7, 9, ...".
void add_waits(const Program& program, std::size_t lane, const LaneRow& row, std::vector<std::string>& remarks) {
  const std::vector<Op>& ops = program.lanes[lane];
  std::string text;
  for (std::uint32_t w = 0; w < ops[row.op].wait_count; ++w) {
    const OpRef wait = program.waits[ops[row.op].waits + w];
    text += (w == 0 ? "after " : " and ") + place_of(program, wait);
    const int next = row.times == 1 ? wait.index : program.waits[ops[row.op + row.stride].waits + w].index;
    if (next != wait.index) text += fmt::format(", {}{}", next, row.times > 2 ? ", ..." : "");
    text += round_of(wait);
  }
  if (!text.empty()) remarks.push_back(text);
}

/// Indices, names and costs stand below each other, and what else there is to say behind them.
void write_lane(std::ostream& out, const ScheduleGraph& schedule, std::size_t number, std::size_t lane,
                const std::vector<LaneRow>& rows, int width) {
  constexpr int kNames = 30;  // columns; a longer name pushes what is behind it
  const Program& program = schedule.graph.programs[number];
  int depth = 0;
  for (const LaneRow& row : rows) {
    if (row.is == LaneRow::Is::kEnd) {
      --depth;
      continue;
    }
    std::string start = fmt::format("{:>6}  {:{}}", row.op, "", 2 * depth);
    const Op& op = program.lanes[lane][row.op];
    std::vector<std::string> words;
    if (row.is == LaneRow::Is::kOp) {
      start += fmt::format("{:{}}{:>8}  ", title_of(schedule.graph, op, row), kNames - 2 * depth,
                           cost_of(schedule.graph, op));
      words = remarks_on(schedule.graph, number, op);
    } else {
      words = {body_of(schedule.graph, number, lane, row)};
      ++depth;
    }
    if (row.is != LaneRow::Is::kTimes) add_waits(program, lane, row, words);
    write_wrapped(out, start, fmt::format("{}", fmt::join(words, ", ")), width);
  }
}

void write_section(std::ostream& out, const ScheduleGraph& schedule, std::size_t number, Section section,
                   const std::string& heading, const ConsoleOptions& options) {
  const Program& program = schedule.graph.programs[number];
  bool begun = false;
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    const std::vector<LaneRow> rows = rows_of(schedule, number, lane, section);
    if (rows.empty()) continue;
    if (!begun) out << '\n' << styled(heading, Style::kBold, options.color) << '\n';
    begun = true;
    out << "  " << styled(program.lane_names[lane], Style::kBold, options.color) << '\n';
    write_lane(out, schedule, number, lane, rows, options.width);
  }
}

constexpr std::size_t kMostOfAName = 200;

/// In quotes, a line below the other.
std::string label_of(const std::vector<std::string>& lines) {
  std::string label;
  for (const std::string& line : lines) {
    const std::string quoted = in_quotes(line, kMostOfAName);
    if (!line.empty()) label += (label.empty() ? "" : "\\n") + quoted.substr(1, quoted.size() - 2);
  }
  return '"' + label + '"';
}

class ScheduleDot {
 public:
  ScheduleDot(std::ostream& out, const ScheduleGraph& schedule, std::size_t number)
      : out_(out), schedule_(schedule), graph_(schedule.graph), name_(fmt::format("s{}", number)) {}

  void write() {
    const std::vector<Program>& programs = graph_.programs;
    begin_box(schedule_.label);
    for (std::size_t program = 0; program < programs.size(); ++program) {
      begin_box(who_runs(schedule_, program));
      nodes_.emplace_back();
      for (std::size_t lane = 0; lane < programs[program].lanes.size(); ++lane) write_lane(program, lane);
      end_box();
      add_waits(program);
    }
    add_meetings();
    for (const std::string& edge : edges_) out_ << "  " << edge << ";\n";
    end_box();
  }

 private:
  void begin_box(const std::string& label) {
    out_ << fmt::format("  subgraph cluster_{}_{} {{\n  label={};\n", name_, boxes_++, label_of({label}));
  }
  void end_box() { out_ << "  }\n"; }
  void add_edge(const std::string& from, const std::string& to, const char* style) {
    if (!from.empty() && !to.empty()) edges_.insert(fmt::format("{} -> {} [{}]", from, to, style));
  }
  /// What waits for an op of a round before is not below it.
  static const char* style_of(OpRef wait) {
    return wait.rounds_back > 0 ? "style=dashed, constraint=false, label=\"round before\"" : "style=dashed";
  }
  const std::string& node(std::size_t program, OpRef op) const { return nodes_[program][op.lane][op.index]; }

  void write_lane(std::size_t program, std::size_t lane) {
    const std::vector<Op>& ops = graph_.programs[program].lanes[lane];
    std::vector<std::string>& nodes = nodes_[program].emplace_back(ops.size());
    begin_box(graph_.programs[program].lane_names[lane]);
    std::string before;
    for (const Section section : {Section::kBefore, Section::kFirst, Section::kSecond})
      for (const LaneRow& row : rows_of(schedule_, program, lane, section)) {
        if (row.is == LaneRow::Is::kEnd) end_box();
        if (row.is == LaneRow::Is::kLoop || row.is == LaneRow::Is::kTimes)
          begin_box(body_of(graph_, program, lane, row));
        if (row.is != LaneRow::Is::kOp) continue;
        const std::string name = fmt::format("{}_{}_{}_{}", name_, program, lane, row.op);
        write_node(program, name, ops[row.op], row);
        for (int i = 0; i < row.times; ++i) nodes[row.op + i * row.stride] = name;
        add_edge(before, name, "style=solid");
        before = name;
      }
    end_box();
    // The marks of a loop have no node: whoever enters is the first op inside, whoever leaves the last.
    for (std::size_t i = ops.size(); i-- > 1;)
      if (ops[i - 1].kind == OpKind::kLoopBegin) nodes[i - 1] = nodes[i];
    for (std::size_t i = 1; i < ops.size(); ++i)
      if (ops[i].kind == OpKind::kLoopEnd) nodes[i] = nodes[i - 1];
  }

  void write_node(std::size_t program, const std::string& name, const Op& op, const LaneRow& row) {
    std::vector<std::string> lines = {fmt::format("{} {}", row.op, title_of(graph_, op, row)), cost_of(graph_, op)};
    for (const std::string& remark : remarks_on(graph_, program, op)) lines.push_back(remark);
    const char* const shape = op.kind == OpKind::kRecord ? "plaintext" : op.slot >= 0 ? "ellipse" : "box";
    out_ << fmt::format("  {} [shape={}, label={}];\n", name, shape, label_of(lines));
  }

  void add_waits(std::size_t number) {
    const Program& program = graph_.programs[number];
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
      for (std::size_t i = 0; i < program.lanes[lane].size(); ++i) {
        const Op& op = program.lanes[lane][i];
        const std::string& here = nodes_[number][lane][i];
        for (std::uint32_t w = 0; w < op.wait_count; ++w)
          add_edge(node(number, program.waits[op.waits + w]), here, style_of(program.waits[op.waits + w]));
        if (op.kind != OpKind::kLoopEnd || !decider_of(graph_, number, program.loops[op.plan]).asks) continue;
        if (program.loops[op.plan].until.lane >= 0)
          add_edge(node(number, program.loops[op.plan].until), here, "style=dotted, constraint=false");
      }
  }

  /// Collectives meet that are asked of one group, each program's in the order in which they are written. Of a program
  /// the first rank is asked.
  void add_meetings() {
    std::map<std::pair<int, int>, std::vector<std::string>> meetings;  // by group and number
    for (std::size_t program = 0; program < graph_.programs.size(); ++program) {
      std::map<int, int> asked;  // by group
      for (std::size_t lane = 0; lane < graph_.programs[program].lanes.size(); ++lane)
        for (std::size_t i = 0; i < graph_.programs[program].lanes[lane].size(); ++i)
          if (const int slot = graph_.programs[program].lanes[lane][i].slot; slot >= 0) {
            const int group = first_rank(graph_, program).groups[slot];
            meetings[{group, asked[group]++}].push_back(nodes_[program][lane][i]);
          }
    }
    std::set<std::vector<std::string>> drawn;
    for (const auto& [number, met] : meetings) {
      if (met.size() < 2 || !drawn.insert(met).second) continue;
      const std::string name = fmt::format("{}_meet_{}", name_, drawn.size());
      out_ << fmt::format("  {} [shape=point, xlabel=\"meet\"];\n", name);
      for (const std::string& each : met) add_edge(each, name, "dir=none, style=bold");
    }
  }

  std::ostream& out_;
  const ScheduleGraph& schedule_;
  const EventGraph& graph_;
  std::string name_;
  int boxes_ = 0;
  std::vector<std::vector<std::vector<std::string>>> nodes_;  ///< by program, lane and op; empty: not drawn
  std::set<std::string> edges_;
};

}  // namespace

void write_graph(std::ostream& out, const ScheduleGraph& schedule, const ConsoleOptions& options) {
  write_sentence(out, options,
                 "What {} runs before anything is played: ops in their order, a lane below the other. Times "
                 "are of ops that nothing slows, bytes of what a collective is given.",
                 schedule.label);
  const int updates = schedule.graph.updates_per_mark;
  const std::string update = updates == 1 ? "update" : fmt::format("phase of {} updates", updates);
  for (std::size_t number = 0; number < schedule.graph.programs.size(); ++number) {
    out << '\n';
    write_sentence(out, options, who_runs(schedule, number) + ":");
    write_section(out, schedule, number, Section::kBefore, "Before the first " + update, options);
    write_section(out, schedule, number, Section::kSecond, "Each " + update + " (this is the second)", options);
  }
}

void write_dot(std::ostream& out, const std::vector<ScheduleGraph>& schedules) {
  out << kDotBegins << "\n  // Draw it with: dot -Tsvg\n  node [fontname=\"sans-serif\"];\n"
      << "  graph [fontname=\"sans-serif\"];\n";
  for (std::size_t i = 0; i < schedules.size(); ++i) ScheduleDot(out, schedules[i], i).write();
  out << "}\n";
}

}  // namespace accosim
