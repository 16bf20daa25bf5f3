#include "sim/explain/explained_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "models/collectives/nccl_cost.hpp"
#include "models/collectives/nccl_node.hpp"
#include "models/collectives/route.hpp"
#include "models/price/interval.hpp"
#include "models/spec/fabrics.hpp"
#include "sim/evaluation/critical_path.hpp"
#include "sim/explain/played_spans.hpp"
#include "sim/explain/windows.hpp"
#include "sim/schedules/groups.hpp"

namespace accosim {
namespace {

/// Below that no choice of NCCL's is called slow: so much our own prices are off.
constexpr double kClearlyFaster = 1.1;

constexpr const char* kGpuSlots = "slots";  ///< PCIe of the GPUs

/// Whether the slots of a node's GPUs limit a ring of several nodes, and not what lies between these.
bool slots_bind(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  const BytesPerSecond edge = edge_bandwidth(kind, cluster, ring);
  if (ring.node.size() < 2 || edge >= wire_bandwidth(kind, cluster, ring)) return false;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    if (const NodeGroup& group = group_of(cluster, ring, i);
        !is_like_the_one_before(ring, i) && ring.here(i) * BytesPerSecond{1e9 * slot_of(group)} <= edge)
      return true;
  return false;
}

CollectiveRow row_of(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring) {
  const CollectiveCost cost = collective_cost(kind, bytes, cluster, ring);
  CollectiveRow row{.name = name_of(kind),
                    .ranks = ring.ranks,
                    .nodes = static_cast<int>(ring.node.size()),
                    .bytes = bytes,
                    .algorithm = name_of(cost.algorithm),
                    .protocol = name_of(cost.protocol),
                    .channels = cost.channels,
                    .message = cost.message,
                    .steps = cost.steps,
                    .net_steps = cost.net_steps,
                    .turns = cost.turns,
                    .alone = collective_time(cost),
                    .spread = communication_spread(cluster, ring, bytes)};
  if (row.nodes > 1) row.copied = binding_copies(cluster, ring, cost.algorithm);
  const auto called = [&](StepBound bound) {
    if (bound != StepBound::kWire) return std::string(name_of(bound));
    return row.copied ? std::string(kHostCopies) : slots_bind(kind, cluster, ring) ? kGpuSlots : name_of(bound);
  };
  for (const StepBound bound : all_bounds()) row.terms.emplace_back(called(bound), term_of(cost.terms, bound));
  row.binds = called(bound_of(cost.terms));
  if (const auto faster = faster_way(kind, bytes, cluster, ring, kClearlyFaster))
    row.faster = FasterRow{name_of(faster->way.algorithm), name_of(faster->way.protocol), faster->channels,
                           faster->channels * devices_of(group_of(cluster, ring, 0), ring.gpus.front()), faster->time};
  return row;
}

constexpr double kNoticeable = 1e-3;  ///< of an update
/// Whether nobody could tell their rows apart: units of a model may differ by a few parameters.
bool looks_alike(const PlanRequest& a, const PlanRequest& b) {
  constexpr double kVisible = 2e-3;
  return a.kind == b.kind && a.ranks == b.ranks && std::abs((b.bytes / b.count) / (a.bytes / a.count) - 1) <= kVisible;
}

}  // namespace

std::string forced_by(const FasterRow& way) {
  std::string algorithm = way.algorithm;
  algorithm.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(algorithm.front())));
  return fmt::format(
      "NCCL_ALGO={} NCCL_PROTO={}{}", algorithm, way.protocol,
      way.channels > 0 ? fmt::format(" NCCL_MIN_NCHANNELS={0} NCCL_MAX_NCHANNELS={0}", way.all_channels) : "");
}

std::string choice_in_words(const CollectiveRow& row) {
  const auto milliseconds = [](Seconds time) { return fmt::format("{:.3g} ms", 1e3 * time.value); };
  const FasterRow& faster = *row.faster;
  const std::string on =
      faster.channels == 0 ? std::string()
                           : fmt::format(" on {} channel{}", faster.all_channels, faster.all_channels == 1 ? "" : "s");
  return fmt::format("NCCL takes {} {} for {} of {:.3g} MiB on {} nodes, {}; {} {}{} is {:.2g} times as fast, {}",
                     row.algorithm, row.protocol, row.name, row.bytes.value / (1024 * 1024), row.nodes,
                     milliseconds(row.alone), faster.algorithm, faster.protocol, on, row.alone / faster.alone,
                     milliseconds(faster.alone));
}

std::vector<CollectiveRow> collectives_of_update(const SteadyPlay& play) {
  const EventGraph& graph = play.folded.graph;
  const Seconds begin = play.measured.last_begin, end = play.measured.last_end;
  std::vector<CountedTimes> counted;
  for (const Span& span : play.spans)
    if (span.rank == 0 && is_counted(graph, span)) counted.push_back(counted_of(span));
  const int rank = play.costs->kinds[graph.ranks.front().program].first_rank;
  std::vector<std::pair<PlanRequest, CollectiveRow>> rows;
  for (const Span& span : play.spans) {
    if (span.rank != 0 || span.rendezvous < 0 || span.begin < begin || span.begin >= end) continue;
    const Op& op = op_of(graph, span);
    if (op.kind != OpKind::kCollective) continue;
    const PlanRequest& request = graph.requests[op.plan];
    auto same = std::ranges::find_if(rows, [&](const auto& row) { return looks_alike(row.first, request); });
    if (same == rows.end()) {
      const Bytes bytes = request.bytes / request.count;
      rows.emplace_back(request,
                        row_of(request.kind, bytes, play.costs->cluster, ring_of(play.costs, request.ranks, rank)));
      same = rows.end() - 1;
      same->second.name = graph.labels[span.label].name;
    }
    std::int64_t times = span.repeat;
    for (const CountedTimes& each : counted)
      if (const double middle = 0.5 * (span.begin + span.end).value; each.from < middle && middle < each.to)
        times += static_cast<std::int64_t>(each.times);
    same->second.count += request.count * times;
  }
  std::vector<CollectiveRow> out;
  for (auto& row : rows) out.push_back(std::move(row.second));
  return out;
}

Binding binding_of(const SteadyPlay& play) {
  const CriticalPath path = critical_path(play);
  std::map<std::string, Seconds> waits;  // by what is communicated
  for (const PathStep& step : path.steps)
    if (step.cls == OpClass::kCommunication) waits[step.name] += step.duration;
  std::vector<CollectiveRow> rows = collectives_of_update(play);
  const auto longest = [&](bool between) -> const CollectiveRow* {
    const CollectiveRow* most = nullptr;
    for (const CollectiveRow& row : rows)
      if ((row.nodes > 1) == between && waits[row.name] >= kNoticeable * path.update_time &&
          (most == nullptr || waits[row.name] > waits[most->name]))
        most = &row;
    return most;
  };
  const CollectiveRow* row = longest(true);
  if (row == nullptr) row = longest(false);
  if (row == nullptr) return {kComputing};
  const bool window = row->binds == name_of(StepBound::kWire) && bound_window(play.folded.graph);
  return {window ? std::string(kWindow) : row->binds, row->binds == kHostCopies ? row->copied : std::nullopt};
}

std::vector<std::string> evidence_notes(const Cluster& cluster) {
  std::set<std::string> seen;
  std::vector<std::string> notes;
  if (places_of(cluster).back().node == 0) return notes;
  for (const NodeGroup& group : cluster.nodes) {
    const std::string& kind = group.nics.kind;
    if (kind.empty() || kind == kOwnRings || group.nics.quality.machines > 1 || !seen.insert(kind).second) continue;
    notes.push_back(group.nics.quality.machines == 1
                        ? "The constants of " + kind + " rest on one machine"
                        : "Nobody measured " + kind + ": its constants are the prior of all fabrics");
  }
  return notes;
}

std::vector<CollectiveRow> growth_of(const Cluster& cluster) {
  constexpr double kMiB = 1024.0 * 1024.0;
  constexpr int kMostNodes = 1024;
  std::vector<CollectiveRow> rows;
  Cluster grown = cluster;
  grown.nodes = {cluster.nodes.front()};
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather})
    for (const double bytes : {8.0, kMiB, 25 * kMiB, 1024 * kMiB})
      for (int nodes = 2; nodes <= kMostNodes; nodes *= 2) {
        grown.nodes.front().count = nodes;
        rows.push_back(row_of(kind, Bytes{bytes}, grown, whole_ring(grown)));
      }
  return rows;
}

std::vector<std::optional<std::size_t>> faster_though_larger(const std::vector<CollectiveRow>& rows) {
  std::vector<std::optional<std::size_t>> faster(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const CollectiveRow &small = rows[i], &large = rows[k];
      const bool comparable = small.name == large.name && small.nodes == large.nodes && small.bytes < large.bytes;
      if (comparable && large.alone < small.alone && (!faster[i] || large.bytes < rows[*faster[i]].bytes))
        faster[i] = k;
    }
  return faster;
}

}  // namespace accosim
