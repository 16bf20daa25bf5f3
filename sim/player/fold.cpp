#include "sim/player/fold.hpp"

#include <algorithm>
#include <utility>

#include "sim/player/colours.hpp"

namespace accosim {

namespace {

constexpr int kNone = -1;

/// The group in the folded graph: each colour of members once for every slot in which they have it.
std::vector<int> members_in(const Group& group, int number, const std::vector<Rank>& ranks, const Colours& colours) {
  std::vector<std::pair<int, std::size_t>> seats;
  for (const int member : group.members)
    for (std::size_t slot = 0; slot < ranks[member].groups.size(); ++slot)
      if (ranks[member].groups[slot] == number) seats.emplace_back(colours.rank[member], slot);
  std::sort(seats.begin(), seats.end());
  seats.erase(std::unique(seats.begin(), seats.end()), seats.end());
  std::vector<int> members = mapped<int>(seats, [](const auto& seat) { return seat.first; });
  // The first member may decide for the others.
  const int decider = colours.rank[group.members.front()];
  std::iter_swap(members.begin(), std::find(members.begin(), members.end(), decider));
  return members;
}

}  // namespace

EventGraph fold_flows(EventGraph graph) {
  const Colours colours = colours_of(graph, Apart::kRanks);
  return with_folded_flows(std::move(graph), colours);
}

Folded fold(EventGraph graph) {
  const Unsteady& unsteady = graph.pace.unsteady;
  const bool by_rank = unsteady.jitter.gpu > 0 || !unsteady.stragglers.empty();
  Colours colours = colours_of(graph, by_rank              ? Apart::kRanks
                                      : graph.pace.drawn() ? Apart::kReplicas
                                                           : Apart::kNothing);
  Folded folded{.graph = with_folded_flows(std::move(graph), colours)};
  const std::vector<Rank> ranks = std::exchange(folded.graph.ranks, {});
  std::vector<Group> all_groups = std::exchange(folded.graph.groups, {});
  // The first rank of a colour stands for it, and the groups of those ranks are the ones played.
  std::vector<int> group_index(colours.groups, kNone);  // by colour: group of the folded graph
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto colour = static_cast<std::size_t>(colours.rank[r]);
    if (colour < folded.graph.ranks.size()) {
      ++folded.graph.ranks[colour].multiplicity;
      continue;
    }
    Rank rank = ranks[r];
    rank.number = static_cast<int>(r);
    for (int& group : rank.groups) {
      if (group == kNoGroup) continue;
      int& index = group_index[colours.group[group]];
      if (index == kNone) {
        index = static_cast<int>(folded.graph.groups.size());
        std::vector<int> members = members_in(all_groups[group], group, ranks, colours);
        folded.graph.groups.push_back(std::move(all_groups[group]));
        folded.graph.groups.back().members = std::move(members);
      }
      group = index;
    }
    folded.graph.ranks.push_back(std::move(rank));
  }
  folded.class_of = std::move(colours.rank);
  for (PlacedPause& pause : folded.graph.pace.pauses) {
    std::vector<int> classes = mapped<int>(pause.ranks, [&](const int rank) { return folded.class_of[rank]; });
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    pause.ranks = std::move(classes);
  }
  return folded;
}

}  // namespace accosim
