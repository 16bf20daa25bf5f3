// Programs as a drawing for Graphviz.
#include <fmt/format.h>

#include <map>
#include <ostream>
#include <set>

#include "models/base/text.hpp"
#include "reports/graph/schedule_graph.hpp"

namespace accosim {
namespace {

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

void write_dot(std::ostream& out, const std::vector<ScheduleGraph>& schedules) {
  out << kDotBegins << "\n  // Draw it with: dot -Tsvg\n  node [fontname=\"sans-serif\"];\n"
      << "  graph [fontname=\"sans-serif\"];\n";
  for (std::size_t i = 0; i < schedules.size(); ++i) ScheduleDot(out, schedules[i], i).write();
  out << "}\n";
}

}  // namespace accosim
