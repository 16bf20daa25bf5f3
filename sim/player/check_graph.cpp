// Finds what would make a graph unplayable before it is played. The graphs are made by our own schedules, so whatever
// this finds is our mistake.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "sim/player/check_loops.hpp"
#include "sim/player/player.hpp"

namespace accosim {
namespace {

void check_program(const EventGraph& graph, std::size_t p) {
  const Program& program = graph.programs[p];
  require(program.lane_names.size() == program.lanes.size(), "program {} has unnamed lanes", p);
  const std::vector<bool> asks = loops_asked_by(graph, p);
  check_loops(program, p, asks);
  const LoopsAround around = loops_around(program);
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
        check_wait(program, around, here, wait);
      }
    }
  }
  check_can_end(program, p, asks);
}

constexpr int kUnasked = -2;

/// What each rank needs of its groups, by program: the highest plan index for every slot; -1: none, only the group.
std::vector<std::vector<int>> most_plans(const EventGraph& graph) {
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
        most[p][op.slot] = std::max(most[p][op.slot], op.plan);
      }
  for (std::size_t p = 0; p < graph.programs.size(); ++p)
    for (const Loop& loop : graph.programs[p].loops)
      if (loop.slot >= 0) {
        if (loop.slot >= static_cast<int>(most[p].size())) most[p].resize(loop.slot + 1, kUnasked);
        most[p][loop.slot] = std::max(most[p][loop.slot], -1);
      }
  return most;
}

void check_ranks(const EventGraph& graph) {
  const std::vector<std::vector<int>> most = most_plans(graph);
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
  check_deciders(graph);
}

}  // namespace accosim
