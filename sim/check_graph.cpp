// Finds what would make a graph unplayable before it is played. The graphs are made by our own schedules, so whatever
// this finds is our mistake.
#include <fmt/format.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "sim/player.hpp"

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

/// Whether op `ref` can only end after the loop has begun: what it follows on its lane or waits for leads back to the
/// loop.
bool depends_on(const Program& program, const Loop& loop, OpRef ref) {
  std::set<std::pair<int, int>> seen;
  std::vector<OpRef> open{ref};
  while (!open.empty()) {
    const OpRef at = open.back();
    open.pop_back();
    if (!seen.insert({at.lane, at.index}).second) continue;
    for (const Loop::Part& part : loop.parts)
      if (part.lane == at.lane && at.index >= part.begin) return true;
    if (at.index > 0) open.push_back({at.lane, at.index - 1});
    const Op& op = program.lanes[at.lane][at.index];
    for (std::uint32_t w = 0; w < op.wait_count; ++w) open.push_back(program.waits[op.waits + w]);
  }
  return false;
}

void check_loops(const Program& program, std::size_t p) {
  for (std::size_t l = 0; l < program.loops.size(); ++l) {
    const Loop& loop = program.loops[l];
    require(!loop.parts.empty() && loop.min >= 1, "loop {} of program {} has no part or no repetition", l, p);
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
    if (loop.until.lane < 0) continue;
    require(has_op(program, loop.until), "loop {} of program {} waits for an op that is not there", l, p);
    require(!depends_on(program, loop, loop.until),
            "loop {} of program {} waits for an op that waits for the loop itself", l, p);
  }
}

void check_program(const EventGraph& graph, std::size_t p) {
  const Program& program = graph.programs[p];
  require(program.lane_names.size() == program.lanes.size(), "program {} has unnamed lanes", p);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    for (std::size_t i = 0; i < program.lanes[lane].size(); ++i) {
      const Op& op = program.lanes[lane][i];
      const OpRef here{static_cast<int>(lane), static_cast<int>(i)};
      require(op.label < graph.labels.size(), "op {} of lane {} has no label", i, lane);
      require(std::isfinite(op.duration.value) && op.duration.value >= 0, "op {} of lane {} has duration {}", i, lane,
              op.duration.value);
      require(op.waits + op.wait_count <= program.waits.size(), "op {} of lane {} has waits out of range", i, lane);
      for (std::uint32_t w = 0; w < op.wait_count; ++w) {
        const OpRef wait = program.waits[op.waits + w];
        require(has_op(program, wait), "op {} of lane {} waits for an op that is not there", i, lane);
        for (const Loop& loop : program.loops)
          require(!inside(loop, wait) || inside(loop, here), "op {} of lane {} waits for one repetition of a loop", i,
                  lane);
      }
      if (op.kind == OpKind::kLoopBegin || op.kind == OpKind::kLoopEnd)
        require(op.plan >= 0 && op.plan < static_cast<int>(program.loops.size()), "op {} of lane {} has no loop", i,
                lane);
    }
  }
  check_loops(program, p);
}

void check_ranks(const EventGraph& graph) {
  // What each rank needs of its groups, by program: the highest plan index for every slot.
  std::vector<std::vector<int>> most(graph.programs.size());
  for (std::size_t p = 0; p < graph.programs.size(); ++p)
    for (const auto& lane : graph.programs[p].lanes)
      for (const Op& op : lane) {
        if (op.slot < 0) {
          require(op.kind != OpKind::kCollective && op.kind != OpKind::kTransfer,
                  "a collective of program {} has no group", p);
          continue;
        }
        if (op.slot >= static_cast<int>(most[p].size())) most[p].resize(op.slot + 1, -1);
        if (op.kind == OpKind::kCollective || op.kind == OpKind::kTransfer)
          most[p][op.slot] = std::max(most[p][op.slot], op.plan);
      }
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const Rank& rank = graph.ranks[r];
    require(rank.program >= 0 && rank.program < static_cast<int>(graph.programs.size()), "rank {} has no program", r);
    require(rank.multiplicity >= 1, "rank {} stands for none", r);
    const std::vector<int>& needs = most[rank.program];
    require(rank.groups.size() >= needs.size(), "rank {} lacks a group", r);
    for (std::size_t s = 0; s < needs.size(); ++s) {
      const int group = rank.groups[s];
      require(group >= 0 && group < static_cast<int>(graph.groups.size()), "rank {} lacks group {}", r, s);
      require(needs[s] < static_cast<int>(graph.groups[group].plans.size()), "group {} lacks plan {}", group, needs[s]);
    }
  }
  for (std::size_t g = 0; g < graph.groups.size(); ++g) {
    for (const int member : graph.groups[g].members)
      require(member >= 0 && member < static_cast<int>(graph.ranks.size()), "group {} has no rank {}", g, member);
    for (const Plan& plan : graph.groups[g].plans)
      for (const Plan::Flow& flow : plan.flows)
        require(flow.path >= 0 && flow.path < static_cast<int>(graph.paths.size()) && flow.bytes.value >= 0,
                "group {} sends over a path that is not there", g);
  }
  for (const Path& path : graph.paths)
    for (const int link : path.links)
      require(link >= 0 && link < static_cast<int>(graph.links.size()) && graph.links[link].bandwidth.value > 0,
              "a path goes over link {}, which is not there or carries nothing", link);
}

}  // namespace

void check_graph(const EventGraph& graph) {
  for (std::size_t p = 0; p < graph.programs.size(); ++p) check_program(graph, p);
  check_ranks(graph);
}

}  // namespace accosim
