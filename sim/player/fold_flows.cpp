// Which flows of a collective nothing tells apart: paths and links are refined by colour until every link of a colour
// is taken by as many paths of each colour, at the same place of theirs. Flows of one colour then begin together, move
// at one rate and end together: the max-min fair rates of the whole follow from one path and one link of each colour,
// with how many each stands for.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "sim/player/fold.hpp"
#include "sim/player/numbering.hpp"

namespace accosim {
namespace {

constexpr int kUnused = -1;

/// First colours of paths: their windows and every use by a collective, in order. kUnused: no flow takes it.
std::vector<int> colours_by_use(const EventGraph& graph) {
  std::vector<int> colours(graph.paths.size(), kUnused);
  Numbering<std::array<double, 2>> windows;
  Numbering<std::array<double, 4>> uses;  // colour before, group, plan, bytes
  for (std::size_t g = 0; g < graph.groups.size(); ++g)
    for (std::size_t p = 0; p < graph.groups[g].plans.size(); ++p)
      for (const Plan::Flow& flow : graph.groups[g].plans[p].flows) {
        int& colour = colours[static_cast<std::size_t>(flow.path)];
        const Path& path = graph.paths[flow.path];
        const double before = colour == kUnused
                                  ? -1 - windows.of({path.window.rate().value, static_cast<double>(path.alike)})
                                  : static_cast<double>(colour);
        colour = uses.of({before, static_cast<double>(g), static_cast<double>(p), flow.bytes.value});
      }
  // Tokens that a link gathered pass for the flow that comes first: where several begin on it they differ.
  std::vector<int> first(graph.links.size(), 0);
  for (std::size_t p = 0; p < colours.size(); ++p)
    if (colours[p] != kUnused) ++first[graph.paths[p].links.front()];
  for (std::size_t p = 0; p < colours.size(); ++p) {
    if (colours[p] == kUnused) continue;
    const int link = graph.paths[p].links.front();
    if (graph.links[link].burst > Bytes{0} && first[link] > 1)
      colours[p] = uses.of({-0.5, static_cast<double>(p), 0, 0});
  }
  return colours;
}

struct Colours {
  std::vector<int> path, link;  ///< kUnused: no flow takes it
  std::size_t paths = 0, links = 0;
};

/// One round: links by their own, and the colours of the paths that take them at which place; paths by the colours of
/// their links, in order.
void refine(const EventGraph& graph, Colours& colours) {
  std::vector<std::vector<std::pair<int, int>>> taken(graph.links.size());  // place, colour of the path
  for (std::size_t p = 0; p < graph.paths.size(); ++p)
    for (std::size_t i = 0; colours.path[p] != kUnused && i < graph.paths[p].links.size(); ++i)
      taken[graph.paths[p].links[i]].emplace_back(static_cast<int>(i), colours.path[p]);
  Numbering<std::pair<int, std::vector<std::pair<int, int>>>> links;
  for (std::size_t l = 0; l < taken.size(); ++l) {
    if (taken[l].empty()) {
      colours.link[l] = kUnused;
      continue;
    }
    std::sort(taken[l].begin(), taken[l].end());
    colours.link[l] = links.of({colours.link[l], std::move(taken[l])});
  }
  Numbering<std::vector<int>> paths;
  std::vector<int> signature;
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    if (colours.path[p] == kUnused) continue;
    signature = {colours.path[p]};
    for (const int link : graph.paths[p].links) signature.push_back(colours.link[link]);
    colours.path[p] = paths.of(signature);
  }
  colours.paths = paths.size();
  colours.links = links.size();
}

Colours colours_of(const EventGraph& graph) {
  Colours colours{colours_by_use(graph), {}};
  Numbering<std::array<double, 3>> links;
  for (const Link& link : graph.links)
    colours.link.push_back(links.of({link.bandwidth.value, link.burst.value, static_cast<double>(link.alike)}));
  for (;;) {
    const std::size_t paths = colours.paths, all_links = colours.links;
    refine(graph, colours);
    if (colours.paths == paths && colours.links == all_links) return colours;
  }
}

/// Whether a path takes two links of one colour: the one link that stands for them would carry its flow twice.
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

}  // namespace

EventGraph fold_flows(EventGraph graph) {
  const Colours colours = colours_of(graph);
  if (takes_two_alike(graph, colours)) return graph;
  // The first of each colour stays and counts the others.
  std::vector<Link> links;
  std::vector<int> link_of(colours.links, -1);
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    if (colours.link[l] == kUnused) continue;
    int& kept = link_of[static_cast<std::size_t>(colours.link[l])];
    if (kept < 0) {
      kept = static_cast<int>(links.size());
      links.push_back(std::move(graph.links[l]));
    } else {
      links[static_cast<std::size_t>(kept)].alike += graph.links[l].alike;
    }
  }
  std::vector<Path> paths;
  std::vector<int> path_of(colours.paths, -1), kept_as(graph.paths.size(), -1);
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    if (colours.path[p] == kUnused) continue;
    int& kept = path_of[static_cast<std::size_t>(colours.path[p])];
    if (kept >= 0) {
      paths[static_cast<std::size_t>(kept)].alike += graph.paths[p].alike;
      continue;
    }
    kept = kept_as[p] = static_cast<int>(paths.size());
    paths.push_back(std::move(graph.paths[p]));
    for (int& link : paths.back().links) link = link_of[static_cast<std::size_t>(colours.link[link])];
  }
  for (Group& group : graph.groups)
    for (Plan& plan : group.plans) {
      std::vector<Plan::Flow> flows;
      for (const Plan::Flow& flow : plan.flows)
        if (const int path = kept_as[static_cast<std::size_t>(flow.path)]; path >= 0)
          flows.push_back({path, flow.bytes});
      plan.flows = std::move(flows);
    }
  graph.links = std::move(links);
  graph.paths = std::move(paths);
  return graph;
}

}  // namespace accosim
