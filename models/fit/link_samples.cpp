#include "models/fit/link_samples.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/collectives/collectives.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "models/collectives/nccl_node.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace

double LinkSample::log_ratio() const {
  const Seconds predicted = offset + (way ? collective_time(nccl_cost(kind, bytes, cluster, ring, *way))
                                          : collective_time(kind, bytes, cluster, ring, only));
  return std::log((back_to_back ? predicted - start_of(cluster, ring) : predicted) / time);
}

LinkSample light(const MeasuredCollective& measured) {
  const CollectiveQuery& query = measured.query;
  LinkSample sample;
  sample.ring = ring_of(query);
  sample.kind = query.kind;
  sample.bytes = query.bytes;
  sample.offset = query.offset;
  sample.back_to_back = query.back_to_back;
  sample.time = measured.time;
  sample.only = query.only;
  sample.source = measured.source;
  sample.trust = measured.trust;
  sample.cluster.name = query.cluster->name;
  sample.cluster.fabric = query.cluster->fabric;
  sample.cluster.nccl = middle_release(query);
  sample.cluster.tuner = query.cluster->tuner;
  sample.cluster.forced = query.cluster->forced;
  sample.cluster.collnet = query.cluster->collnet;
  sample.cluster.graphs = query.cluster->graphs;
  for (const NodeGroup& group : query.cluster->nodes) {
    NodeGroup bare;
    bare.count = group.count;
    bare.gpus = group.gpus;
    for (const Device& device : group.devices) {
      // Of GPUs that are alike one is enough: nothing of a collective's price asks how many devices are listed.
      if (!bare.devices.empty() && bare.devices.back().collective_sms == device.collective_sms &&
          bare.devices.back().architecture == device.architecture)
        continue;
      bare.devices.emplace_back();
      bare.devices.back().collective_sms = device.collective_sms;
      bare.devices.back().architecture = device.architecture;
    }
    bare.intra = group.intra;
    bare.nics = group.nics;
    bare.cpu = group.cpu;
    sample.cluster.nodes.push_back(std::move(bare));
  }
  // What the search finds, no number of a fit moves.
  if (query.nodes > 1) sample.cluster.graphs = graphs_between(sample.cluster, sample.ring);
  return sample;
}

void weigh_series(LinkSamples& samples, double effective, double scale) {
  using Series = std::tuple<std::string, std::string, CollectiveKind, int, std::size_t>;
  const auto series_of = [](const LinkSample& sample) {
    return Series{sample.source, sample.cluster.name, sample.kind, sample.ring.ranks, sample.ring.node.size()};
  };
  std::map<Series, int> count;
  for (const LinkSample& sample : samples) ++count[series_of(sample)];
  for (LinkSample& sample : samples)
    sample.weight = scale * std::sqrt(sample.trust * std::min(1.0, effective / count.at(series_of(sample))));
}

void set_evidence(LinkFit& fit, const LinkSamples& samples, const std::vector<double>& errors) {
  std::vector<double> large, small;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double bytes = samples[i].bytes.value;
    (bytes < kMiB ? small : large).push_back(errors[i]);
    fit.least = i == 0 ? bytes : std::min(fit.least, bytes);
    fit.most = std::max(fit.most, bytes);
    fit.sources.insert(samples[i].source);
  }
  fit.large = errors_of(large);
  fit.small = errors_of(small);
}

}  // namespace accosim
