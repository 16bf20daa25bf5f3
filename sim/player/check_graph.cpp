// Finds what would make a graph unplayable before it is played. The graphs are made by our own schedules, so whatever
// this finds is our mistake.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/player/player.hpp"

namespace accosim {
namespace {

template <typename... Args>
void require(bool good, fmt::format_string<Args...> what, Args&&... args) {
  if (!good) throw std::logic_error("event graph: " + fmt::format(what, std::forward<Args>(args)...));
}

bool has_op(const Program& program, OpRef ref) {
  return ref.lane >= 0 && ref.lane < static_cast<int>(program.lanes.size()) && ref.index >= 0 &&
         ref.index < static_cast<int>(program.lanes[ref.lane].size());
}

bool inside(const Loop& loop, OpRef ref) {
  for (const Loop::Part& part : loop.parts)
    if (part.lane == ref.lane && part.begin < ref.index && ref.index < part.end) return true;
  return false;
}

/// Goes through the program as a player would that repeats every body once and waits for the awaited op at its end:
/// whatever then stands still waits for itself. Collectives are taken as met.
void check_can_end(const Program& program, std::size_t p) {
  std::vector<int> position(program.lanes.size(), 0);
  const auto passed = [&](OpRef ref) { return position[ref.lane] > ref.index; };
  const auto ready = [&](const Op& op) {
    for (std::uint32_t w = 0; w < op.wait_count; ++w)
      if (!passed(program.waits[op.waits + w])) return false;
    if (op.kind != OpKind::kLoopEnd) return true;
    const Loop& loop = program.loops[op.plan];
    if (loop.until.lane >= 0 && !passed(loop.until)) return false;
    return std::all_of(loop.parts.begin(), loop.parts.end(),
                       [&](const Loop::Part& part) { return position[part.lane] >= part.end; });
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

/// The innermost loop around each op of a lane, -1 outside of all.
std::vector<int> loops_around(const Program& program, std::size_t lane) {
  std::vector<int> around, open;
  for (const Op& op : program.lanes[lane]) {
    if (op.kind == OpKind::kLoopEnd && !open.empty()) open.pop_back();
    around.push_back(open.empty() ? -1 : open.back());
    if (op.kind == OpKind::kLoopBegin) open.push_back(op.plan);
  }
  return around;
}

/// Whether a body can move time on: a collective, or an op of some duration.
bool takes_time(const Program& program, const Loop& loop) {
  for (const Loop::Part& part : loop.parts)
    for (int i = part.begin + 1; i < part.end; ++i) {
      const Op& op = program.lanes[part.lane][i];
      if (op.slot >= 0 || op.duration > Seconds{0}) return true;
    }
  return false;
}

void check_loops(const Program& program, std::size_t p) {
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
    for (const Op& op : program.lanes[lane])
      require((op.kind != OpKind::kLoopBegin && op.kind != OpKind::kLoopEnd) ||
                  (op.plan >= 0 && op.plan < static_cast<int>(program.loops.size())),
              "lane {} of program {} has the mark of a loop that is not there", lane, p);
  for (std::size_t l = 0; l < program.loops.size(); ++l) {
    const Loop& loop = program.loops[l];
    require(!loop.parts.empty() && loop.min >= 1 && loop.stride >= 1,
            "loop {} of program {} has no part or no repetition", l, p);
    for (const Loop::Part& part : loop.parts) {
      require(
          has_op(program, {part.lane, part.begin}) && has_op(program, {part.lane, part.end}) && part.begin < part.end,
          "loop {} of program {} is out of range", l, p);
      const Op& begin = program.lanes[part.lane][part.begin];
      const Op& end = program.lanes[part.lane][part.end];
      require(begin.kind == OpKind::kLoopBegin && end.kind == OpKind::kLoopEnd && begin.plan == static_cast<int>(l) &&
                  end.plan == begin.plan && end.slot == begin.slot,
              "loop {} of program {} does not begin and end where it says", l, p);
    }
    require(loop.counted < 0 || (loop.until.lane < 0 && loop.parts.size() == program.lanes.size()),
            "loop {} of program {} is counted, and has no fixed number of repetitions on all lanes", l, p);
    if (loop.until.lane < 0) continue;
    require(has_op(program, loop.until), "loop {} of program {} waits for an op that is not there", l, p);
    require(!inside(loop, loop.until), "loop {} of program {} waits for an op of its own body", l, p);
    require(takes_time(program, loop), "loop {} of program {} waits without time going on", l, p);
  }
}

void check_program(const EventGraph& graph, std::size_t p) {
  const Program& program = graph.programs[p];
  require(program.lane_names.size() == program.lanes.size(), "program {} has unnamed lanes", p);
  check_loops(program, p);
  std::vector<std::vector<int>> around;
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) around.push_back(loops_around(program, lane));
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    for (std::size_t i = 0; i < program.lanes[lane].size(); ++i) {
      const Op& op = program.lanes[lane][i];
      const OpRef here{static_cast<int>(lane), static_cast<int>(i)};
      require(op.label < graph.labels.size(), "op {} of lane {} has no label", i, lane);
      require(std::isfinite(op.duration.value) && op.duration.value >= 0, "op {} of lane {} has duration {}", i, lane,
              op.duration.value);
      require(op.work >= -1 && op.work < static_cast<int>(program.works.size()), "op {} of lane {} has no such work", i,
              lane);
      require(op.waits + op.wait_count <= program.waits.size(), "op {} of lane {} has waits out of range", i, lane);
      for (std::uint32_t w = 0; w < op.wait_count; ++w) {
        const OpRef wait = program.waits[op.waits + w];
        require(has_op(program, wait), "op {} of lane {} waits for an op that is not there", i, lane);
        const int loop = around[wait.lane][wait.index];
        require(loop < 0 || inside(program.loops[loop], here), "op {} of lane {} waits for one repetition of a loop", i,
                lane);
      }
    }
  }
  check_can_end(program, p);
}

void check_ranks(const EventGraph& graph) {
  // What each rank needs of its groups, by program: the highest plan index for every slot.
  constexpr int kUnasked = -2;
  std::vector<std::vector<int>> most(graph.programs.size());
  for (std::size_t p = 0; p < graph.programs.size(); ++p)
    for (const auto& lane : graph.programs[p].lanes)
      for (const Op& op : lane) {
        if (op.slot < 0) {
          require(op.kind != OpKind::kCollective && op.kind != OpKind::kTransfer,
                  "a collective of program {} has no group", p);
          continue;
        }
        if (op.slot >= static_cast<int>(most[p].size())) most[p].resize(op.slot + 1, kUnasked);
        const bool meets = op.kind == OpKind::kCollective || op.kind == OpKind::kTransfer;
        most[p][op.slot] = std::max(most[p][op.slot], meets ? op.plan : -1);
      }
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const Rank& rank = graph.ranks[r];
    require(rank.program >= 0 && rank.program < static_cast<int>(graph.programs.size()), "rank {} has no program", r);
    require(rank.multiplicity >= 1, "rank {} stands for none", r);
    const std::vector<int>& needs = most[rank.program];
    require(rank.groups.size() >= needs.size(), "rank {} lacks a group", r);
    for (std::size_t s = 0; s < needs.size(); ++s) {
      if (needs[s] == kUnasked) continue;
      const int group = rank.groups[s];
      require(group >= 0 && group < static_cast<int>(graph.groups.size()), "rank {} lacks group {}", r, s);
      require(needs[s] < static_cast<int>(graph.groups[group].plans.size()), "group {} lacks plan {}", group, needs[s]);
    }
  }
  std::vector<std::size_t> seats(graph.groups.size(), 0);  // slots in which some rank has the group
  for (std::size_t r = 0; r < graph.ranks.size(); ++r)
    for (const int group : graph.ranks[r].groups) {
      require(group >= kNoGroup && group < static_cast<int>(graph.groups.size()), "rank {} has no group {}", r, group);
      if (group != kNoGroup) ++seats[group];
    }
  for (std::size_t g = 0; g < graph.groups.size(); ++g) {
    for (const int member : graph.groups[g].members) {
      require(member >= 0 && member < static_cast<int>(graph.ranks.size()), "group {} has no rank {}", g, member);
      const std::vector<int>& groups = graph.ranks[member].groups;
      require(std::find(groups.begin(), groups.end(), static_cast<int>(g)) != groups.end(),
              "rank {} does not know that it is in group {}", member, g);
    }
    require(graph.groups[g].members.size() == seats[g], "group {} has {} members, and is a group of {} ranks", g,
            graph.groups[g].members.size(), seats[g]);
    for (const Plan& plan : graph.groups[g].plans) {
      require(plan.sms >= 0 && plan.slowed >= 1 && plan.memory_traffic.value >= 0, "group {} slows the wrong way", g);
      for (const Plan::Flow& flow : plan.flows)
        require(flow.path >= 0 && flow.path < static_cast<int>(graph.paths.size()) && flow.bytes.value >= 0,
                "group {} sends over a path that is not there", g);
    }
  }
  for (const Path& path : graph.paths) {
    for (const int link : path.links)
      require(link >= 0 && link < static_cast<int>(graph.links.size()) && graph.links[link].bandwidth.value > 0,
              "a path goes over link {}, which is not there or carries nothing", link);
    for (auto link = path.links.begin(); link != path.links.end(); ++link)
      require(std::find(path.links.begin(), link, *link) == link, "a path goes over link {} twice", *link);
  }
}

}  // namespace

void check_graph(const EventGraph& graph) {
  for (std::size_t p = 0; p < graph.programs.size(); ++p) check_program(graph, p);
  check_ranks(graph);
}

}  // namespace accosim
