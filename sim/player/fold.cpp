#include "sim/player/fold.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/player/numbering.hpp"

namespace accosim {
namespace {

bool holds(const std::vector<int>& ranks, int rank) { return std::binary_search(ranks.begin(), ranks.end(), rank); }

bool uses_network(const Group& group) {
  return std::any_of(group.plans.begin(), group.plans.end(), [](const Plan& plan) { return !plan.flows.empty(); });
}

using PlanSignature = std::vector<std::array<double, 6>>;

struct Colours {
  std::vector<int> rank, group;
  std::size_t ranks = 0, groups = 0;
};

/// First colours of groups: a number of its own for each that uses the network; by plans, and by the slot where its
/// members have it, for the rest.
void colour_groups(const EventGraph& graph, Colours& colours) {
  std::vector<std::size_t> slot(graph.groups.size(), 0);
  for (const Rank& rank : graph.ranks)
    for (std::size_t s = 0; s < rank.groups.size(); ++s) slot[rank.groups[s]] = s;
  Numbering<std::tuple<int, std::size_t, PlanSignature>> numbers;
  for (std::size_t g = 0; g < graph.groups.size(); ++g) {
    PlanSignature plans;
    for (const Plan& plan : graph.groups[g].plans)
      plans.push_back({plan.latency.value, plan.fixed.value, plan.sent_per_rank.value, static_cast<double>(plan.sms),
                       plan.memory_traffic.value, plan.slowed});
    colours.group.push_back(
        numbers.of({uses_network(graph.groups[g]) ? static_cast<int>(g) : -1, slot[g], std::move(plans)}));
  }
  colours.groups = numbers.size();
}

/// First colours of ranks: their programs, and which of the pauses are theirs.
void colour_ranks(const EventGraph& graph, Colours& colours) {
  Numbering<std::vector<int>> numbers;
  std::vector<int> signature;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    signature = {graph.ranks[r].program};
    for (const PlacedPause& pause : graph.pace.pauses)
      signature.push_back(pause.ranks.empty() || holds(pause.ranks, static_cast<int>(r)) ? 1 : 0);
    colours.rank.push_back(numbers.of(signature));
  }
  colours.ranks = numbers.size();
}

/// One round: ranks by the colours of their groups, groups by how many members they have of each colour.
void refine(const EventGraph& graph, Colours& colours) {
  Numbering<std::vector<int>> ranks, groups;
  std::vector<int> signature;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    signature = {colours.rank[r]};
    for (const int group : graph.ranks[r].groups) signature.push_back(colours.group[group]);
    colours.rank[r] = ranks.of(signature);
  }
  std::vector<int> count(ranks.size(), 0), seen;
  for (std::size_t g = 0; g < graph.groups.size(); ++g) {
    seen.clear();
    for (const int member : graph.groups[g].members)
      if (count[colours.rank[member]]++ == 0) seen.push_back(colours.rank[member]);
    std::sort(seen.begin(), seen.end());
    signature = {colours.group[g]};
    for (const int colour : seen) {
      signature.push_back(colour);
      signature.push_back(std::exchange(count[colour], 0));
    }
    colours.group[g] = groups.of(signature);
  }
  colours.ranks = ranks.size();
  colours.groups = groups.size();
}

Colours colours_of(const EventGraph& graph) {
  Colours colours;
  colour_groups(graph, colours);
  colour_ranks(graph, colours);
  for (;;) {
    const std::size_t ranks = colours.ranks, groups = colours.groups;
    refine(graph, colours);
    if (colours.ranks == ranks && colours.groups == groups) return colours;
  }
}

}  // namespace

Folded fold(EventGraph graph) {
  if (graph.pace.drawn()) {  // no two ranks are alike
    Folded whole{fold_flows(std::move(graph)), {}};
    whole.class_of.resize(whole.graph.ranks.size());
    std::iota(whole.class_of.begin(), whole.class_of.end(), 0);
    return whole;
  }
  Colours colours = colours_of(graph);
  Folded folded;
  folded.graph = fold_flows(std::move(graph));
  const std::vector<Rank> ranks = std::exchange(folded.graph.ranks, {});
  std::vector<Group> all_groups = std::exchange(folded.graph.groups, {});
  // The first rank of a colour stands for it, and the groups of those ranks are the ones played.
  std::map<int, int> group_index;  // colour -> group of the folded graph
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto colour = static_cast<std::size_t>(colours.rank[r]);
    if (colour < folded.graph.ranks.size()) {
      ++folded.graph.ranks[colour].multiplicity;
      continue;
    }
    Rank rank = ranks[r];
    for (int& group : rank.groups) {
      const auto [place, is_new] =
          group_index.emplace(colours.group[group], static_cast<int>(folded.graph.groups.size()));
      if (is_new) {
        std::vector<int> members;
        for (const int member : all_groups[group].members) members.push_back(colours.rank[member]);
        std::sort(members.begin(), members.end());
        members.erase(std::unique(members.begin(), members.end()), members.end());
        folded.graph.groups.push_back(std::move(all_groups[group]));
        folded.graph.groups.back().members = std::move(members);
      }
      group = place->second;
    }
    folded.graph.ranks.push_back(std::move(rank));
  }
  folded.class_of = std::move(colours.rank);
  for (PlacedPause& pause : folded.graph.pace.pauses) {
    std::vector<int> classes;
    for (const int rank : pause.ranks) classes.push_back(folded.class_of[static_cast<std::size_t>(rank)]);
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    pause.ranks = std::move(classes);
  }
  return folded;
}

}  // namespace accosim
