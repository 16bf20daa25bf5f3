#include "sim/player/fold.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace accosim {
namespace {

/// Numbers signatures in order of first appearance, so that colours do not depend on how they are stored.
template <typename Signature>
std::vector<int> number(const std::vector<Signature>& signatures, std::size_t& count) {
  std::map<Signature, int> numbers;
  std::vector<int> colours;
  for (const Signature& signature : signatures)
    colours.push_back(numbers.emplace(signature, static_cast<int>(numbers.size())).first->second);
  count = numbers.size();
  return colours;
}

bool holds(const std::vector<int>& ranks, int rank) { return std::binary_search(ranks.begin(), ranks.end(), rank); }

bool uses_network(const Group& group) {
  return std::any_of(group.plans.begin(), group.plans.end(), [](const Plan& plan) { return !plan.flows.empty(); });
}

using PlanSignature = std::vector<std::array<double, 6>>;

/// First colours of groups: a number of its own for each that uses the network; by plans, and by the slot where its
/// members have it, for the rest.
std::vector<int> first_group_colours(const EventGraph& graph, std::size_t& count) {
  std::vector<std::size_t> slot(graph.groups.size(), 0);
  for (const Rank& rank : graph.ranks)
    for (std::size_t s = 0; s < rank.groups.size(); ++s) slot[rank.groups[s]] = s;
  std::vector<std::tuple<int, std::size_t, PlanSignature>> signatures;
  for (std::size_t g = 0; g < graph.groups.size(); ++g) {
    PlanSignature plans;
    for (const Plan& plan : graph.groups[g].plans)
      plans.push_back({plan.latency.value, plan.fixed.value, plan.sent_per_rank.value, static_cast<double>(plan.sms),
                       plan.memory_traffic.value, plan.slowed});
    signatures.emplace_back(uses_network(graph.groups[g]) ? static_cast<int>(g) : -1, slot[g], plans);
  }
  return number(signatures, count);
}

struct Colours {
  std::vector<int> rank, group;
};

Colours refine(const EventGraph& graph) {
  Colours colours;
  std::size_t ranks = 0, groups = 0;
  colours.group = first_group_colours(graph, groups);
  std::vector<std::vector<int>> programs;  // and which of the pauses are the rank's
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    programs.push_back({graph.ranks[r].program});
    for (const PlacedPause& pause : graph.pace.pauses)
      programs.back().push_back(pause.ranks.empty() || holds(pause.ranks, static_cast<int>(r)) ? 1 : 0);
  }
  colours.rank = number(programs, ranks);
  for (;;) {
    std::vector<std::vector<int>> rank_signatures, group_signatures;
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
      std::vector<int> signature{colours.rank[r]};
      for (const int group : graph.ranks[r].groups) signature.push_back(colours.group[group]);
      rank_signatures.push_back(std::move(signature));
    }
    std::size_t more_ranks = 0, more_groups = 0;
    colours.rank = number(rank_signatures, more_ranks);
    for (std::size_t g = 0; g < graph.groups.size(); ++g) {
      std::vector<int> signature;
      for (const int member : graph.groups[g].members) signature.push_back(colours.rank[member]);
      std::sort(signature.begin(), signature.end());
      signature.push_back(colours.group[g]);
      group_signatures.push_back(std::move(signature));
    }
    colours.group = number(group_signatures, more_groups);
    if (more_ranks == ranks && more_groups == groups) return colours;
    ranks = more_ranks;
    groups = more_groups;
  }
}

}  // namespace

namespace {

/// Paths that share links, directly or through others, are one component: the first of them, by path.
std::vector<int> components_of(const EventGraph& graph) {
  std::vector<int> first(graph.paths.size()), user(graph.links.size(), -1);
  for (std::size_t p = 0; p < first.size(); ++p) first[p] = static_cast<int>(p);
  const auto root = [&first](int path) {
    while (first[path] != path) path = first[path] = first[first[path]];
    return path;
  };
  for (std::size_t p = 0; p < graph.paths.size(); ++p)
    for (const int link : graph.paths[p].links) {
      if (user[link] < 0) user[link] = static_cast<int>(p);
      const int a = root(user[link]), b = root(static_cast<int>(p));
      first[std::max(a, b)] = std::min(a, b);
    }
  for (std::size_t p = 0; p < first.size(); ++p) first[p] = root(static_cast<int>(p));
  return first;
}

/// All there is to know about a component: path by path its links, numbered as they come, their bandwidths, and every
/// use of the path by a collective. Components that are equal in it carry the same flows at the same times.
using Use = std::tuple<std::size_t, std::size_t, double>;
using PathSignature = std::tuple<std::vector<std::pair<double, int>>, std::vector<Use>>;

std::vector<std::vector<PathSignature>> signatures_of(const EventGraph& graph, const std::vector<int>& component) {
  std::vector<std::vector<Use>> uses(graph.paths.size());
  for (std::size_t g = 0; g < graph.groups.size(); ++g)
    for (std::size_t p = 0; p < graph.groups[g].plans.size(); ++p)
      for (const Plan::Flow& flow : graph.groups[g].plans[p].flows)
        uses[flow.path].emplace_back(g, p, flow.bytes.value);
  std::vector<std::vector<PathSignature>> signatures(graph.paths.size());
  std::vector<int> number(graph.links.size(), -1), count(graph.paths.size(), 0);
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    std::vector<int> links = graph.paths[p].links;
    std::sort(links.begin(), links.end(), [&](int a, int b) {
      return std::pair(graph.links[a].bandwidth, a) < std::pair(graph.links[b].bandwidth, b);
    });
    PathSignature signature;
    std::get<0>(signature).emplace_back(graph.paths[p].window.rate().value, -2);
    for (const int link : links) {
      if (number[link] < 0) number[link] = count[component[p]]++;
      std::get<0>(signature).emplace_back(graph.links[link].bandwidth.value, number[link]);
      if (graph.links[link].burst > Bytes{0}) std::get<0>(signature).emplace_back(graph.links[link].burst.value, -1);
    }
    std::get<1>(signature) = std::move(uses[p]);
    signatures[component[p]].push_back(std::move(signature));
  }
  return signatures;
}

}  // namespace

EventGraph fold_flows(const EventGraph& graph) {
  const std::vector<int> component = components_of(graph);
  std::size_t count = 0;
  const std::vector<int> colour = number(signatures_of(graph, component), count);
  std::vector<int> first(count, -1);
  for (std::size_t p = graph.paths.size(); p-- > 0;) first[colour[component[p]]] = component[p];

  EventGraph folded = graph;
  const auto is_copy = [&](const Plan::Flow& flow) {
    return first[colour[component[flow.path]]] != component[flow.path];
  };
  for (Group& group : folded.groups)
    for (Plan& plan : group.plans)
      plan.flows.erase(std::remove_if(plan.flows.begin(), plan.flows.end(), is_copy), plan.flows.end());
  return folded;
}

Folded fold(const EventGraph& graph) {
  if (graph.pace.drawn()) {  // no two ranks are alike
    Folded whole{fold_flows(graph), std::vector<int>(graph.ranks.size())};
    std::iota(whole.class_of.begin(), whole.class_of.end(), 0);
    return whole;
  }
  const Colours colours = refine(graph);
  Folded folded;
  folded.graph = fold_flows(graph);
  folded.graph.ranks.clear();
  folded.class_of = colours.rank;
  // The first rank of a colour stands for it, and the groups of those ranks are the ones played.
  std::map<int, int> group_index;  // colour -> group of the folded graph
  std::vector<Group> groups;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    if (colours.rank[r] < static_cast<int>(folded.graph.ranks.size())) {
      ++folded.graph.ranks[colours.rank[r]].multiplicity;
      continue;
    }
    Rank rank = graph.ranks[r];
    for (int& group : rank.groups) {
      const auto [place, is_new] = group_index.emplace(colours.group[group], static_cast<int>(groups.size()));
      if (is_new) {
        std::set<int> members;
        for (const int member : graph.groups[group].members) members.insert(colours.rank[member]);
        groups.push_back(std::move(folded.graph.groups[group]));
        groups.back().members.assign(members.begin(), members.end());
      }
      group = place->second;
    }
    folded.graph.ranks.push_back(std::move(rank));
  }
  folded.graph.groups = std::move(groups);
  for (PlacedPause& pause : folded.graph.pace.pauses) {
    std::set<int> classes;
    for (const int rank : pause.ranks) classes.insert(colours.rank[static_cast<std::size_t>(rank)]);
    pause.ranks.assign(classes.begin(), classes.end());
  }
  return folded;
}

}  // namespace accosim
