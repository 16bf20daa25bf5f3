#include "sim/evidence/nccl_choices.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/collectives/nccl_cost.hpp"

namespace accosim {
namespace {

constexpr int kGpus = 8;

bool is_shown(const PublishedCase& one) {
  if (one.asked != Asked::kCollectiveTime || !one.scored()) return false;
  const CollectiveQuery& query = one.collective;
  const bool ring = query.kind == CollectiveKind::kAllReduce || query.kind == CollectiveKind::kReduceScatter ||
                    query.kind == CollectiveKind::kAllGather;
  if (!ring || !query.back_to_back || query.nodes != 1 || query.ranks != kGpus) return false;
  return one.device == "A100-SXM4-80GB" || one.device == "H100-SXM" || one.device == "B200";
}

std::optional<NcclWay> way_of(const CollectiveQuery& query, const NcclRelease& release) {
  Cluster cluster = *query.cluster;
  if (!knows(release, cluster.nodes.front().devices.front().architecture)) return std::nullopt;
  cluster.nccl = release;
  const Ring ring = ring_of(query);
  return nccl_choice(communicator_of(cluster, ring), query.kind, query.bytes,
                     nccl_ways(query.kind, cluster, ring, std::nullopt));
}

}  // namespace

const std::vector<NcclRelease>& shown_releases() {
  static const std::vector<NcclRelease> kReleases = {{23, 4}, {27, 5}, {29, 2}};
  return kReleases;
}

std::vector<ChoiceSeries> nccl_choices(const Published& published) {
  std::map<std::string, const Cluster*> newest;  // by device; of several clusters with one release the last
  for (const PublishedCase& one : published.cases) {
    if (!is_shown(one)) continue;
    const Cluster*& cluster = newest.try_emplace(one.device).first->second;
    if (cluster == nullptr || cluster->nccl <= one.collective.cluster->nccl) cluster = one.collective.cluster.get();
  }
  std::map<std::tuple<std::string, CollectiveKind>, ChoiceSeries> all;
  for (const PublishedCase& one : published.cases) {
    if (!is_shown(one) || one.collective.cluster->name != newest.at(one.device)->name) continue;
    ChoiceSeries& series = all[{one.device, one.collective.kind}];
    series.device = one.device;
    series.kind = one.collective.kind;
    series.ranks = one.collective.ranks;
    series.measured_with = one.collective.cluster->nccl;
    ChoiceRow row{
        .bytes = one.collective.bytes, .measured = Seconds{one.measured}, .predicted = collective_time(one.collective)};
    for (const NcclRelease& release : shown_releases()) row.ways.push_back(way_of(one.collective, release));
    series.rows.push_back(std::move(row));
  }
  std::vector<ChoiceSeries> list;
  for (auto& [key, series] : all) {
    std::ranges::sort(series.rows, {}, &ChoiceRow::bytes);
    for (std::size_t i = 1; i < series.rows.size(); ++i)
      series.rows[i].slope = std::log(series.rows[i].measured / series.rows[i - 1].measured) /
                             std::log(series.rows[i].bytes / series.rows[i - 1].bytes);
    list.push_back(std::move(series));
  }
  return list;
}

}  // namespace accosim
