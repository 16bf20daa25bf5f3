#include "sim/player/check_loops.hpp"

#include <algorithm>

namespace accosim {
namespace {

/// Whether the part of a body can move time on: a collective, or an op of some duration.
bool takes_time(const Program& program, const Loop::Part& part) {
  for (int i = part.begin + 1; i < part.end; ++i) {
    const Op& op = program.lanes[part.lane][i];
    if (op.slot >= 0 || op.duration > Seconds{0}) return true;
  }
  return false;
}

void check_parts(const Program& program, std::size_t p, std::size_t l) {
  const Loop& loop = program.loops[l];
  require(!loop.parts.empty() && loop.min >= 1 && loop.stride >= 1,
          "loop {} of program {} has no part or no repetition", l, p);
  for (const Loop::Part& part : loop.parts) {
    require(has_op(program, {part.lane, part.begin}) && has_op(program, {part.lane, part.end}) && part.begin < part.end,
            "loop {} of program {} is out of range", l, p);
    const Op& begin = program.lanes[part.lane][part.begin];
    const Op& end = program.lanes[part.lane][part.end];
    require(begin.kind == OpKind::kLoopBegin && end.kind == OpKind::kLoopEnd && begin.plan == static_cast<int>(l) &&
                end.plan == begin.plan,
            "loop {} of program {} does not begin and end where it says", l, p);
    require(begin.slot < 0 && end.slot < 0, "a mark of loop {} of program {} has a group", l, p);
  }
}

void check_until(const Program& program, const LoopsAround& around, std::size_t p, std::size_t l) {
  const Loop& loop = program.loops[l];
  require(has_op(program, loop.until), "loop {} of program {} waits for an op that is not there", l, p);
  require(part_around(loop, loop.until) == nullptr, "loop {} of program {} waits for an op of its own body", l, p);
  require(around.running_on[loop.until.lane][loop.until.index] < 0,
          "loop {} of program {} waits for one round of lanes that run on", l, p);
  const bool time_goes_on = loop.runs_on
                                ? takes_time(program, loop.parts[0])
                                : std::any_of(loop.parts.begin(), loop.parts.end(),
                                              [&](const Loop::Part& part) { return takes_time(program, part); });
  require(time_goes_on, "loop {} of program {} waits without time going on", l, p);
}

/// A loop in which repetitions are counted, or whose lanes run on, does not take every loop inside.
void check_nesting(const Program& program, std::size_t p) {
  for (const std::vector<Op>& lane : program.lanes) {
    std::vector<int> open;
    for (const Op& op : lane) {
      if (op.kind == OpKind::kLoopEnd && !open.empty()) open.pop_back();
      if (op.kind != OpKind::kLoopBegin) continue;
      const Loop& inner = program.loops[op.plan];
      for (const int outer : open) {
        require(!program.loops[outer].runs_on || !inner.runs_on,
                "lanes run on in loop {} of program {}, which is in loop {}, where they do, too", op.plan, p, outer);
        require(program.loops[outer].counted < 0 || (inner.until.lane < 0 && inner.slot < 0),
                "loop {} of program {} has no fixed number of repetitions, and is in loop {}, which is counted",
                op.plan, p, outer);
      }
      open.push_back(op.plan);
    }
  }
}

}  // namespace

std::vector<bool> loops_asked_by(const EventGraph& graph, std::size_t p) {
  std::vector<bool> asks;
  for (const Loop& loop : graph.programs[p].loops) {
    const auto slot = static_cast<std::size_t>(loop.slot);
    bool leads = loop.slot < 0;
    for (std::size_t r = 0; r < graph.ranks.size() && !leads; ++r) {
      const Rank& rank = graph.ranks[r];
      if (rank.program != static_cast<int>(p) || slot >= rank.groups.size()) continue;
      const auto group = static_cast<std::size_t>(rank.groups[slot]);
      leads = group < graph.groups.size() && !graph.groups[group].members.empty() &&
              graph.groups[group].members.front() == static_cast<int>(r);
    }
    asks.push_back(leads);
  }
  return asks;
}

void check_loops(const Program& program, std::size_t p, const std::vector<bool>& asks) {
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
    for (const Op& op : program.lanes[lane])
      require((op.kind != OpKind::kLoopBegin && op.kind != OpKind::kLoopEnd) ||
                  (op.plan >= 0 && op.plan < static_cast<int>(program.loops.size())),
              "lane {} of program {} has the mark of a loop that is not there", lane, p);
  check_nesting(program, p);
  const LoopsAround around = loops_around(program);
  for (std::size_t l = 0; l < program.loops.size(); ++l) {
    const Loop& loop = program.loops[l];
    check_parts(program, p, l);
    require(loop.counted < 0 || (loop.until.lane < 0 && loop.slot < 0),
            "loop {} of program {} is counted, and has no fixed number of repetitions", l, p);
    require(loop.counted < 0 || !loop.runs_on, "loop {} of program {} is counted, and its lanes run on", l, p);
    require(loop.slot < 0 || !asks[l] || loop.until.lane >= 0,
            "loop {} of program {} decides for other ranks, and waits for nothing", l, p);
    if (loop.until.lane >= 0) check_until(program, around, p, l);
  }
}

LoopsAround loops_around(const Program& program) {
  LoopsAround around;
  for (const std::vector<Op>& lane : program.lanes) {
    std::vector<int>& innermost = around.innermost.emplace_back();
    std::vector<int>& running_on = around.running_on.emplace_back();
    std::vector<int> open;
    for (const Op& op : lane) {
      if (op.kind == OpKind::kLoopEnd && !open.empty()) open.pop_back();
      innermost.push_back(open.empty() ? -1 : open.back());
      const auto running = std::find_if(open.begin(), open.end(), [&](int l) { return program.loops[l].runs_on; });
      running_on.push_back(running == open.end() ? -1 : *running);
      if (op.kind == OpKind::kLoopBegin) open.push_back(op.plan);
    }
  }
  return around;
}

void check_wait(const Program& program, const LoopsAround& around, OpRef here, OpRef wait) {
  const int loop = around.innermost[wait.lane][wait.index], running = around.running_on[wait.lane][wait.index],
            mine = around.running_on[here.lane][here.index];
  require(loop < 0 || part_around(program.loops[loop], here) != nullptr,
          "op {} of lane {} waits for one repetition of a loop", here.index, here.lane);
  require(wait.rounds_back >= 0, "op {} of lane {} waits for a round that is to come", here.index, here.lane);
  require(wait.rounds_back == 0 || (running >= 0 && loop == running),
          "op {} of lane {} waits {} rounds back for an op that is of no loop whose lanes run on", here.index,
          here.lane, wait.rounds_back);
  if (mine < 0 || mine == running) return;
  for (const Loop::Part& part : program.loops[mine].parts)
    require(part.lane != wait.lane || wait.index < part.end, "op {} of lane {} waits in a loop for what comes after it",
            here.index, here.lane);
}

void check_can_end(const Program& program, std::size_t p, const std::vector<bool>& asks) {
  std::vector<int> position(program.lanes.size(), 0);
  const auto passed = [&](OpRef ref) { return position[ref.lane] > ref.index; };
  const auto ended = [&](const Loop::Part& part) { return position[part.lane] >= part.end; };
  const auto ready = [&](const Op& op) {
    for (std::uint32_t w = 0; w < op.wait_count; ++w) {
      const OpRef wait = program.waits[op.waits + w];
      if (wait.rounds_back == 0 && !passed(wait)) return false;
    }
    if (op.kind != OpKind::kLoopEnd) return true;
    const Loop& loop = program.loops[op.plan];
    if (loop.until.lane >= 0 && asks[op.plan] && !passed(loop.until)) return false;
    if (!loop.runs_on) return std::all_of(loop.parts.begin(), loop.parts.end(), ended);
    return (loop.until.lane < 0 && loop.slot < 0) || ended(loop.parts[0]);
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
      for (const auto& ops = program.lanes[lane];
           position[lane] < static_cast<int>(ops.size()) && ready(ops[position[lane]]); ++position[lane])
        moved = true;
  }
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
    require(position[lane] == static_cast<int>(program.lanes[lane].size()),
            "op {} of lane {} of program {} waits for something that waits for it", position[lane], lane, p);
}

void check_deciders(const EventGraph& graph) {
  using Looks = std::vector<std::pair<int, int>>;                // least number and stride, loop by loop
  std::vector<std::vector<Looks>> looks(graph.programs.size());  // by program and slot
  for (std::size_t p = 0; p < graph.programs.size(); ++p)
    for (const Loop& loop : graph.programs[p].loops) {
      if (loop.slot < 0) continue;
      const auto slot = static_cast<std::size_t>(loop.slot);
      looks[p].resize(std::max(looks[p].size(), slot + 1));
      looks[p][slot].emplace_back(loop.min, loop.stride);
    }
  std::vector<const Looks*> of_group(graph.groups.size(), nullptr);
  std::vector<std::size_t> members(graph.groups.size(), 0);
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const Rank& rank = graph.ranks[r];
    for (std::size_t slot = 0; slot < looks[rank.program].size(); ++slot) {
      const Looks& mine = looks[rank.program][slot];
      if (mine.empty()) continue;
      const int group = rank.groups[slot];
      if (of_group[group] == nullptr) of_group[group] = &mine;
      require(of_group[group] == &mine || *of_group[group] == mine,
              "rank {} looks in its loops when others of group {} do not", r, group);
      ++members[group];
    }
  }
  for (std::size_t g = 0; g < graph.groups.size(); ++g)
    require(of_group[g] == nullptr || members[g] == graph.groups[g].members.size(),
            "not all ranks of group {} have the loops that it decides about", g);
}

}  // namespace accosim
