#include "sim/player/colours.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace accosim {
namespace {

/// Numbers for signatures, equal ones the same: in order of first appearance, so that they do not depend on how
/// signatures are stored.
template <typename Signature>
class Numbering {
 public:
  int of(const Signature& signature) { return numbers_.try_emplace(signature, static_cast<int>(size())).first->second; }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<Signature, int> numbers_;
};

bool holds(const std::vector<int>& ranks, int rank) { return std::binary_search(ranks.begin(), ranks.end(), rank); }

bool uses_network(const Group& group) {
  return std::any_of(group.plans.begin(), group.plans.end(), [](const Plan& plan) { return !plan.flows.empty(); });
}

/// A flow of a group's plan; `kind` is of equal plans' places and equal bytes.
struct Use {
  int group, kind, path;
};

std::vector<Use> uses_of(const EventGraph& graph) {
  std::vector<Use> uses;
  Numbering<std::pair<std::size_t, double>> kinds;
  for (std::size_t g = 0; g < graph.groups.size(); ++g)
    for (std::size_t p = 0; p < graph.groups[g].plans.size(); ++p)
      for (const Plan::Flow& flow : graph.groups[g].plans[p].flows)
        uses.push_back({static_cast<int>(g), kinds.of({p, flow.bytes.value}), flow.path});
  return uses;
}

using PlanSignature = std::vector<std::array<double, 6>>;

/// Groups that take one path together with another: of two such flows the path knows of one.
std::vector<bool> groups_on_others_paths(const EventGraph& graph, const std::vector<Use>& uses) {
  std::vector<int> user(graph.paths.size(), kUnused);
  std::vector<bool> together(graph.groups.size(), false);
  for (const Use& use : uses) {
    int& of = user[use.path];
    if (of != kUnused && of != use.group) together[of] = together[use.group] = true;
    of = use.group;
  }
  return together;
}

/// First colours of groups: by plans, and by the slot where their members have them; or a number of its own.
void colour_groups(const EventGraph& graph, const std::vector<Use>& uses, Apart apart, Colours& colours) {
  std::vector<std::size_t> slot(graph.groups.size(), 0);
  for (const Rank& rank : graph.ranks)
    for (std::size_t s = 0; s < rank.groups.size(); ++s) slot[rank.groups[s]] = s;
  const std::vector<bool> together = groups_on_others_paths(graph, uses);
  Numbering<std::tuple<int, std::size_t, PlanSignature>> numbers;
  for (std::size_t g = 0; g < graph.groups.size(); ++g) {
    PlanSignature plans;
    for (const Plan& plan : graph.groups[g].plans)
      plans.push_back({plan.latency.value, plan.fixed.value, plan.sent_per_rank.value, static_cast<double>(plan.sms),
                       plan.memory_traffic.value, plan.slowed});
    const bool own =
        together[g] || apart == Apart::kRanks || (apart == Apart::kNetworkGroups && uses_network(graph.groups[g]));
    colours.group.push_back(numbers.of({own ? static_cast<int>(g) : -1, slot[g], std::move(plans)}));
  }
  colours.groups = numbers.size();
}

/// By program: where its ranks have the groups whose first member decides how often loops repeat.
std::vector<std::vector<int>> deciding_slots(const EventGraph& graph) {
  std::vector<std::vector<int>> slots;
  for (const Program& program : graph.programs) {
    std::vector<int>& of = slots.emplace_back();
    for (const Loop& loop : program.loops)
      if (loop.slot >= 0 && std::find(of.begin(), of.end(), loop.slot) == of.end()) of.push_back(loop.slot);
  }
  return slots;
}

/// First colours of ranks: their programs, whether they decide for others, and which of the pauses are theirs; or a
/// number of its own.
void colour_ranks(const EventGraph& graph, Apart apart, Colours& colours) {
  const std::vector<std::vector<int>> deciding = deciding_slots(graph);
  Numbering<std::vector<int>> numbers;
  std::vector<int> signature;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    signature = {graph.ranks[r].program, apart == Apart::kRanks ? static_cast<int>(r) : -1};
    for (const int slot : deciding[graph.ranks[r].program])
      signature.push_back(graph.groups[graph.ranks[r].groups[slot]].members.front() == static_cast<int>(r) ? 1 : 0);
    for (const PlacedPause& pause : graph.pace.pauses)
      signature.push_back(pause.ranks.empty() || holds(pause.ranks, static_cast<int>(r)) ? 1 : 0);
    colours.rank.push_back(numbers.of(signature));
  }
  colours.ranks = numbers.size();
}

/// First colours of paths and links: windows, bandwidths and bursts.
void colour_network(const EventGraph& graph, const std::vector<Use>& uses, Colours& colours) {
  colours.path.assign(graph.paths.size(), kUnused);
  std::vector<bool> used(graph.paths.size(), false);
  for (const Use& use : uses) used[use.path] = true;
  // Tokens that a link gathered pass for the flow that comes first: where several begin on it they differ.
  std::vector<int> first(graph.links.size(), 0);
  for (std::size_t p = 0; p < graph.paths.size(); ++p)
    if (used[p]) ++first[graph.paths[p].links.front()];
  Numbering<std::array<double, 3>> paths, links;
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    if (!used[p]) continue;
    const Path& path = graph.paths[p];
    const auto link = static_cast<std::size_t>(path.links.front());
    const bool differs = graph.links[link].burst > Bytes{0} && first[link] > 1;
    colours.path[p] =
        paths.of({path.window.rate().value, static_cast<double>(path.alike), differs ? static_cast<double>(p) : -1});
  }
  for (const Link& link : graph.links)
    colours.link.push_back(links.of({link.bandwidth.value, link.burst.value, static_cast<double>(link.alike)}));
  colours.paths = paths.size();
  colours.links = links.size();
}

void refine_ranks(const EventGraph& graph, Colours& colours) {
  Numbering<std::vector<int>> numbers;
  std::vector<int> signature;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    signature = {colours.rank[r]};
    for (const int group : graph.ranks[r].groups) signature.push_back(colours.group[group]);
    colours.rank[r] = numbers.of(signature);
  }
  colours.ranks = numbers.size();
}

/// By how many members they have of each colour, and how many flows.
void refine_groups(const EventGraph& graph, const std::vector<Use>& uses, Colours& colours) {
  Numbering<std::vector<int>> numbers;
  std::vector<int> count(colours.ranks, 0), seen, signature;
  std::vector<std::pair<int, int>> flows;
  std::size_t next = 0;  // uses stand by group
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
    flows.clear();
    for (; next < uses.size() && uses[next].group == static_cast<int>(g); ++next)
      flows.emplace_back(uses[next].kind, colours.path[uses[next].path]);
    std::sort(flows.begin(), flows.end());
    for (const auto& [kind, path] : flows) signature.insert(signature.end(), {kind, path});
    colours.group[g] = numbers.of(signature);
  }
  colours.groups = numbers.size();
}

void refine_links(const EventGraph& graph, Colours& colours) {
  std::vector<std::vector<std::pair<int, int>>> taken(graph.links.size());  // place, colour of the path
  for (std::size_t p = 0; p < graph.paths.size(); ++p)
    for (std::size_t i = 0; colours.path[p] != kUnused && i < graph.paths[p].links.size(); ++i)
      taken[graph.paths[p].links[i]].emplace_back(static_cast<int>(i), colours.path[p]);
  Numbering<std::pair<int, std::vector<std::pair<int, int>>>> numbers;
  for (std::size_t l = 0; l < taken.size(); ++l) {
    if (taken[l].empty()) {
      colours.link[l] = kUnused;
      continue;
    }
    std::sort(taken[l].begin(), taken[l].end());
    colours.link[l] = numbers.of({colours.link[l], std::move(taken[l])});
  }
  colours.links = numbers.size();
}

/// By the collectives that use them, and the colours of their links, in order.
void refine_paths(const EventGraph& graph, const std::vector<Use>& uses, Colours& colours) {
  std::vector<std::vector<int>> signatures(graph.paths.size());
  for (const Use& use : uses)
    signatures[use.path].insert(signatures[use.path].end(), {colours.group[use.group], use.kind});
  Numbering<std::vector<int>> numbers;
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    if (colours.path[p] == kUnused) continue;
    std::vector<int>& signature = signatures[p];
    signature.push_back(colours.path[p]);
    for (const int link : graph.paths[p].links) signature.push_back(colours.link[link]);
    colours.path[p] = numbers.of(signature);
  }
  colours.paths = numbers.size();
}

std::size_t number_of(const Colours& colours) { return colours.ranks + colours.groups + colours.paths + colours.links; }

}  // namespace

Colours colours_of(const EventGraph& graph, Apart apart) {
  const std::vector<Use> uses = uses_of(graph);
  Colours colours;
  colour_groups(graph, uses, apart, colours);
  colour_ranks(graph, apart, colours);
  colour_network(graph, uses, colours);
  for (std::size_t before = 0; before != number_of(colours);) {
    before = number_of(colours);
    refine_ranks(graph, colours);
    refine_groups(graph, uses, colours);
    refine_links(graph, colours);
    refine_paths(graph, uses, colours);
  }
  return colours;
}

bool takes_two_alike(const EventGraph& graph, const Colours& colours) {
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    if (colours.path[p] == kUnused) continue;
    std::vector<int> links;
    for (const int link : graph.paths[p].links) links.push_back(colours.link[link]);
    std::sort(links.begin(), links.end());
    if (std::adjacent_find(links.begin(), links.end()) != links.end()) return true;
  }
  return false;
}

EventGraph with_folded_flows(EventGraph graph, const Colours& colours) {
  std::vector<Link> links;
  std::vector<int> link_of(colours.links, kUnused);
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    if (colours.link[l] == kUnused) continue;
    int& kept = link_of[colours.link[l]];
    if (kept == kUnused) {
      kept = static_cast<int>(links.size());
      links.push_back(std::move(graph.links[l]));
    } else {
      links[kept].alike += graph.links[l].alike;
    }
  }
  std::vector<Path> paths;
  std::vector<int> path_of(colours.paths, kUnused);
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    if (colours.path[p] == kUnused) continue;
    int& kept = path_of[colours.path[p]];
    if (kept != kUnused) {
      paths[kept].alike += graph.paths[p].alike;
      continue;
    }
    kept = static_cast<int>(paths.size());
    paths.push_back(std::move(graph.paths[p]));
    for (int& link : paths.back().links) link = link_of[colours.link[link]];
  }
  std::vector<int> standing(paths.size(), kUnused);  // which path of a plan stands for those of its colour
  for (Group& group : graph.groups)
    for (Plan& plan : group.plans) {
      std::vector<Plan::Flow> flows;
      for (const Plan::Flow& flow : plan.flows) {
        const int path = path_of[colours.path[flow.path]];
        int& of = standing[path];
        if (of == kUnused) of = flow.path;
        if (of == flow.path) flows.push_back({path, flow.bytes});
      }
      for (const Plan::Flow& flow : flows) standing[flow.path] = kUnused;
      plan.flows = std::move(flows);
    }
  graph.links = std::move(links);
  graph.paths = std::move(paths);
  return graph;
}

}  // namespace accosim
