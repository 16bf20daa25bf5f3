#include "sim/app/draw/report_timelines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/player/fold.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

constexpr std::int64_t kMostSpans = 400'000;  ///< of a page, about 6 MB
constexpr std::size_t kMostRows = 4;          ///< of a schedule, where nobody asked for others

/// The rank of the folded graph behind each row, and the real rank that gives it its name: those that were asked for,
/// or one of each program and then the others that differ.
std::vector<std::pair<int, int>> drawn_ranks(const Folded& folded, const std::vector<int>& asked) {
  std::vector<std::pair<int, int>> rows;
  std::set<int> classes, programs;
  const auto add = [&](int rank) {
    const int one = folded.class_of[rank];
    if (classes.insert(one).second) rows.emplace_back(one, rank);
  };
  for (const int rank : asked) add(rank);
  if (!asked.empty()) return rows;
  const int ranks = static_cast<int>(folded.class_of.size());
  for (int rank = 0; rank < ranks; ++rank)
    if (programs.insert(folded.graph.ranks[folded.class_of[rank]].program).second) add(rank);
  for (int rank = 0; rank < ranks && rows.size() < kMostRows; ++rank) add(rank);
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  return rows;
}

/// " (A100-SXM4-80GB)" where the GPUs are not all of one kind.
std::string device_of(const Cluster& cluster, const std::vector<Place>& places, int rank) {
  std::set<std::string> kinds;
  for (const NodeGroup& group : cluster.nodes)
    for (const Device& device : group.devices) kinds.insert(device_name(cluster, device));
  if (kinds.size() < 2) return "";
  const Place& place = places[rank];
  return fmt::format(" ({})", device_name(cluster, cluster.nodes[place.group].devices[place.gpu]));
}

PageTimeline page_timeline(const Scenario& scenario, const ScheduleSpec& spec, const RunResult& result,
                           const TimelineChoice& choice, std::int64_t most_spans, NetworkKind network) {
  const int phase = updates_per_mark(spec);
  constexpr int kFilling = 2;  // updates until a pipeline of rounds is full
  TimelineWindow window{.first = std::max(kFilling, phase),
                        .count = (choice.updates + phase - 1) / phase * phase,
                        .most_spans = most_spans,
                        .under_way = true};
  Folded folded = fold(graph_for_trace(*result.costs, spec, scenario.training.gradient_accumulation_steps,
                                       updates_for(window, phase), result.pauses));
  const std::vector<Place> places = places_of(scenario.cluster);
  PageTimeline one{.label = result.label, .timeline = {}, .rows = {}};
  window.ranks.assign(folded.graph.ranks.size(), false);
  for (const auto& [folded_rank, rank] : drawn_ranks(folded, choice.ranks)) {
    const auto at = static_cast<std::size_t>(folded_rank);
    const int like_it = folded.graph.ranks[at].multiplicity - 1;
    window.ranks[at] = true;
    one.rows.push_back(
        {folded_rank, fmt::format("rank {}{}{}", rank, like_it > 0 ? fmt::format(" and {} like it", like_it) : "",
                                  device_of(scenario.cluster, places, rank))});
  }
  one.timeline = played_timeline(std::move(folded.graph), window, network);
  return one;
}

}  // namespace

std::vector<PageTimeline> page_timelines(const ChosenSchedules& chosen, const std::vector<RunResult>& results,
                                         const TimelineChoice& choice, NetworkKind network) {
  const std::int64_t most = kMostSpans / static_cast<std::int64_t>(std::max<std::size_t>(1, results.size()));
  std::vector<PageTimeline> timelines;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ScheduleSpec& spec = chosen.scenario.schedules[chosen.indices[i]];
    timelines.push_back(page_timeline(chosen.scenario, spec, results[i], choice, most, network));
  }
  return timelines;
}

std::vector<PageRow> rows_of_all(const EventGraph& graph) {
  std::vector<PageRow> rows;
  for (int rank = 0; rank < static_cast<int>(graph.ranks.size()); ++rank)
    rows.push_back({rank, fmt::format("rank {}", rank)});
  return rows;
}

}  // namespace accosim
