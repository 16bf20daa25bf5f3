#include "sim/explain/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace accosim {
namespace {

/// Paths of all that groups with the same place among a rank's groups send for one plan, as they send it at once.
std::vector<int> paths_at_once(const EventGraph& graph, std::size_t slot, std::size_t plan) {
  std::vector<int> groups, paths;
  for (const Rank& rank : graph.ranks)
    if (rank.groups[slot] != kNoGroup) groups.push_back(rank.groups[slot]);
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  for (const int group : groups)
    if (plan < graph.groups[group].plans.size())
      for (const Plan::Flow& flow : graph.groups[group].plans[plan].flows) paths.push_back(flow.path);
  return paths;
}

BytesPerSecond share_of_links(const EventGraph& graph, const Path& path, const std::vector<double>& users) {
  BytesPerSecond least{std::numeric_limits<double>::infinity()};
  for (const int link : path.links) least = std::min(least, graph.links[link].bandwidth / users[link]);
  return least;
}

std::string rate(BytesPerSecond bandwidth) {
  const double mb = bandwidth.value / 1e6;
  return mb < 1000 ? fmt::format("{:.3g} MB/s", mb) : fmt::format("{:.3g} GB/s", mb / 1000);
}

}  // namespace

std::optional<BoundWindow> bound_window(const EventGraph& graph) {
  std::optional<BoundWindow> worst;
  const auto never_limits = [](const Path& path) { return std::isinf(path.window.rate().value); };
  if (std::ranges::all_of(graph.paths, never_limits) || graph.ranks.empty()) return worst;
  for (std::size_t slot = 0; slot < graph.ranks[0].groups.size(); ++slot) {
    for (std::size_t plan = 0; plan < graph.requests.size(); ++plan) {
      const std::vector<int> paths = paths_at_once(graph, slot, plan);
      std::vector<double> users(graph.links.size(), 0);  // of one of the links that are alike
      for (const int path : paths)
        for (const int link : graph.paths[path].links)
          users[link] += 1.0 * graph.paths[path].alike / graph.links[link].alike;
      for (const int path : paths) {
        const BoundWindow here{graph.paths[path].window, share_of_links(graph, graph.paths[path], users)};
        if (here.window.rate() >= here.links) continue;
        if (!worst || here.links / here.window.rate() > worst->links / worst->window.rate()) worst = here;
      }
    }
  }
  return worst;
}

std::string in_words(const BoundWindow& bound) {
  return fmt::format("window-bound: {} carry {} between two nodes, whose links would carry {}", in_words(bound.window),
                     rate(bound.window.rate()), rate(bound.links));
}

std::optional<Warning> window_warning(const EventGraph& graph) {
  const std::optional<BoundWindow> bound = bound_window(graph);
  if (!bound) return std::nullopt;
  return Warning{"window_bound", in_words(*bound),
                 bound->window.each < kChannelBuffer
                     ? "raise net.ipv4.tcp_rmem and tcp_wmem (nics.socket_window), or open more sockets for a channel "
                       "(NCCL_SOCKET_NTHREADS, NCCL_NSOCKS_PERTHREAD; nics.sockets)"
                     : "give NCCL more channels (NCCL_MIN_NCHANNELS; nics.channels), which take multiprocessors"};
}

}  // namespace accosim
