#include "models/fit/network_doubt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "models/base/quantity.hpp"
#include "models/fit/import_nccl_tests.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// What the kind's own constants predict, whatever the cluster's file says of them.
Seconds usual_time(CollectiveQuery query) {
  Cluster cluster = *query.cluster;
  for (NodeGroup& group : cluster.nodes) {
    IntraLink link = usual_intra(group.intra.kind.empty() ? kLoneGpuKind : group.intra.kind, group.intra.generation);
    link.kind = group.intra.kind;
    link.generation = group.intra.generation;
    link.bandwidth = group.intra.bandwidth;
    link.links = group.intra.links;
    if (group.intra.nvls.efficiency == 0) link.nvls = {};
    if (group.gpus > 1) group.intra = std::move(link);
    if (group.nics.kind.empty()) continue;  // one node
    const Nics usual = usual_nics(group.nics.kind);
    group.nics.efficiency = usual.efficiency;
    group.nics.latency = usual.latency;
    group.nics.message = usual.message;
    group.nics.staging = usual.staging;
    group.nics.collisions = usual.collisions;
  }
  query.cluster = std::make_shared<const Cluster>(std::move(cluster));
  return collective_time(query);
}

BytesPerSecond bus_bandwidth(const MeasuredCollective& measured) {
  const CollectiveQuery& query = measured.query;
  return busbw_factor(query.kind, query.ranks) * query.bytes / measured.time;
}

BytesPerSecond wire_of(const MeasuredCollective& measured) {
  const NodeGroup& group = measured.query.cluster->nodes.front();
  return measured.query.nodes > 1 ? group.nics.count * group.nics.bandwidth : group.intra.bandwidth;
}

std::string times_in_words(double ratio) { return fmt::format("{:.{}f} times", ratio, ratio < 9.95 ? 1 : 0); }

std::string what_to_look_at(const MeasuredCollective& measured, double reached) {
  if (measured.query.nodes == 1)
    return "whether NCCL goes over these links (NCCL_DEBUG=INFO prints P2P, not SHM), nvidia-smi topo -m and nvlink "
           "--status, NCCL_P2P_DISABLE, ACS of the PCIe switches";
  const Nics& nics = measured.query.cluster->nodes.front().nics;
  std::string text;
  if (nics.count > 1 && reached * nics.count > 0.5 && reached * nics.count < 1.2)
    text = fmt::format("whether all {} NICs are used (NCCL_IB_HCA): this is what one carries; ", nics.count);
  return text +
         (is_over_tcp(nics.kind)
              ? "which interface NCCL uses (NCCL_SOCKET_IFNAME), and how many sockets (NCCL_SOCKET_NTHREADS)"
              : "whether NCCL uses RDMA and not TCP (NCCL_DEBUG=INFO prints NET/IB or the plugin's name, not "
                "NET/Socket), GPUDirect (GDRDMA behind the channels), all NICs, and the interface that is meant");
}

double mean_ratio(const std::vector<SlowCollective>& all) {
  double sum = 0;
  for (const SlowCollective& each : all) sum += std::log(each.measured.time / each.usual);
  return all.empty() ? 1 : std::exp(sum / static_cast<double>(all.size()));
}

}  // namespace

std::vector<NetworkDoubt> doubts_of(const std::vector<MeasuredCollective>& samples) {
  struct Sizes {
    std::vector<SlowCollective> large, small;
  };
  std::map<std::string, Sizes> kinds;
  for (const MeasuredCollective& each : samples) {
    const NodeGroup& group = each.query.cluster->nodes.front();
    if (group.nics.kind == kOwnRings) continue;
    const bool large = each.query.bytes >= Bytes{kMiB};
    Sizes& sizes = kinds[each.query.nodes > 1 ? group.nics.kind : group.intra.kind];
    SlowCollective one{each, usual_time(each.query)};
    if (large) one.bus = bus_bandwidth(each), one.of = wire_of(each);
    (large ? sizes.large : sizes.small).push_back(std::move(one));
  }
  std::vector<NetworkDoubt> doubts;
  for (auto& [kind, sizes] : kinds) {
    const bool large = mean_ratio(sizes.large) > kLargeTooSlow, small = mean_ratio(sizes.small) > kSmallTooSlow;
    if (!large && !small) continue;
    NetworkDoubt doubt{.kind = kind};
    for (const auto& [all, most] : {std::pair(&sizes.small, kSmallTooSlow), std::pair(&sizes.large, kLargeTooSlow)})
      std::copy_if(all->begin(), all->end(), std::back_inserter(doubt.slow),
                   [most = most](const SlowCollective& each) { return each.measured.time > most * each.usual; });
    const auto worst = std::ranges::max_element(doubt.slow, [&](const auto& a, const auto& b) {
      const auto slowness = [&](const SlowCollective& each) {
        return (each.bus > BytesPerSecond{0}) == large ? each.measured.time / each.usual : 0;
      };
      return slowness(a) < slowness(b);
    });
    const CollectiveQuery& query = worst->measured.query;
    doubt.in_short =
        fmt::format("{} of {} on {} ranks took {} as long as {} usually does", name_of(query.kind),
                    to_text(query.bytes), query.ranks, times_in_words(worst->measured.time / worst->usual), kind);
    if (worst->bus > BytesPerSecond{0})
      doubt.in_short +=
          fmt::format(" (bus bandwidth {:.3g} of {:.3g} GB/s)", worst->bus.value / 1e9, worst->of.value / 1e9);
    doubt.look_at = what_to_look_at(worst->measured, worst->bus > BytesPerSecond{0} ? worst->bus / worst->of : 1);
    doubts.push_back(std::move(doubt));
  }
  return doubts;
}

std::vector<std::string> unexplained(const std::vector<LinkFit>& fits) {
  constexpr double kLarge = 0.25, kSmall = 0.5;
  std::vector<std::string> all;
  for (const LinkFit& fit : fits)
    for (const auto& [errors, most, where] :
         {std::tuple(&fit.large, kLarge, "from 1 MiB"), std::tuple(&fit.small, kSmall, "below 1 MiB")})
      if (errors->mean_absolute > most)
        all.push_back(
            fmt::format("the constants that were fitted to {} miss its collectives {} by {:.0f} % in the mean",
                        fit.kind(), where, 100 * errors->mean_absolute));
  return all;
}

}  // namespace accosim
