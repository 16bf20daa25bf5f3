// Programs as text.
#include <fmt/format.h>

#include <ostream>

#include "reports/graph/schedule_graph.hpp"

namespace accosim {
namespace {

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

}  // namespace accosim
