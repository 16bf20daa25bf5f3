#include "sim/player/fold.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/player/colours.hpp"

namespace accosim {

EventGraph fold_flows(EventGraph graph) {
  const Colours colours = colours_of(graph, Apart::kRanks);
  return takes_two_alike(graph, colours) ? graph : with_folded_flows(std::move(graph), colours);
}

Folded fold(EventGraph graph) {
  if (graph.pace.drawn()) {  // no two ranks are alike
    Folded whole{fold_flows(std::move(graph)), {}};
    whole.class_of.resize(whole.graph.ranks.size());
    std::iota(whole.class_of.begin(), whole.class_of.end(), 0);
    return whole;
  }
  Colours colours = colours_of(graph, Apart::kNothing);
  bool twice = takes_two_alike(graph, colours);
  if (twice) {
    colours = colours_of(graph, Apart::kNetworkGroups);
    twice = takes_two_alike(graph, colours);
  }
  Folded folded;
  folded.graph = twice ? std::move(graph) : with_folded_flows(std::move(graph), colours);
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
        // The first member may decide for the others.
        const int decider = colours.rank[all_groups[group].members.front()];
        std::iter_swap(members.begin(), std::find(members.begin(), members.end(), decider));
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
    for (const int rank : pause.ranks) classes.push_back(folded.class_of[rank]);
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    pause.ranks = std::move(classes);
  }
  return folded;
}

}  // namespace accosim
