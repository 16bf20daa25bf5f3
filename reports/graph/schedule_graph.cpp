#include "reports/graph/schedule_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "reports/human.hpp"
#include "reports/op_class_name.hpp"
#include "reports/repeats.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {
namespace {

bool is_loop_mark(const Op& op) { return op.kind == OpKind::kLoopBegin || op.kind == OpKind::kLoopEnd; }
bool is_sent(const Op& op) { return op.kind == OpKind::kCollective || op.kind == OpKind::kTransfer; }

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

}  // namespace

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

const Rank& first_rank(const EventGraph& graph, std::size_t program) {
  return *std::find_if(graph.ranks.begin(), graph.ranks.end(),
                       [&](const Rank& each) { return each.program == static_cast<int>(program); });
}

std::string place_of(const Program& program, OpRef op) {
  return fmt::format("{} {}", program.lane_names[op.lane], op.index);
}

std::string title_of(const EventGraph& graph, const Op& op, const LaneRow& row) {
  const Label& label = graph.labels[op.label];
  const std::string name = label.mark != Mark::kNone ? "end of " + label.name : label.name;
  return row.stride == 1 && row.times > 1 ? fmt::format("{} x {}", row.times, name) : name;
}

std::string cost_of(const EventGraph& graph, const Op& op) {
  if (is_sent(op)) return human_bytes(graph.requests[op.plan].bytes);
  if (op.kind != OpKind::kCompute && op.kind != OpKind::kHost) return "";
  return op.duration > Seconds{0} ? human_time(op.duration) : "-";
}

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

std::string round_of(OpRef wait) {
  if (wait.rounds_back == 0) return "";
  return wait.rounds_back == 1 ? " of the round before" : fmt::format(" of {} rounds before", wait.rounds_back);
}

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

}  // namespace accosim
