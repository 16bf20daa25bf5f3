#include "models/fit/link_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/collectives/nccl_cost.hpp"
#include "models/collectives/nccl_node.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// Whether only their sizes, their times and how these were taken differ.
bool are_one_series(const LinkSample& a, const LinkSample& b) {
  return a.measured_on == b.measured_on && a.kind == b.kind && a.only == b.only && a.cluster.nccl == b.cluster.nccl &&
         a.ring.ranks == b.ring.ranks && a.ring.node.size() == b.ring.node.size();
}

/// What samples of one series are asked of: the nodes of the first.
class SeriesPrices {
 public:
  explicit SeriesPrices(const LinkSample& first) : first_(first) {
    if (goes_by_steps(first.kind, first.cluster, first.ring)) steps_.emplace(first.kind, first.cluster, first.ring);
  }

  double log_ratio(const LinkSample& sample) const {
    const Seconds predicted = sample.offset + time_of(sample);
    return std::log((sample.back_to_back ? predicted - start_of(first_.cluster, first_.ring) : predicted) /
                    sample.time);
  }

 private:
  Seconds time_of(const LinkSample& sample) const {
    if (!steps_) return collective_time(sample.kind, sample.bytes, first_.cluster, first_.ring, sample.only);
    return collective_time(sample.way ? steps_->of(sample.bytes, *sample.way) : steps_->of(sample.bytes, sample.only));
  }

  const LinkSample& first_;
  std::optional<NcclPrices> steps_;
};

}  // namespace

std::string at_end(const char* key, const Parameter& allowed, double value) {
  constexpr double kNear = 1.001;
  const bool most = value * kNear >= allowed.most;
  if (!most && value > allowed.least * kNear) return {};
  return fmt::format(
      "\"{}\" lies at the end of its range, the {} that it may be: what is still wrong with the "
      "predictions it cannot mend",
      key, most ? "most" : "least");
}

double LinkSample::log_ratio() const { return SeriesPrices(*this).log_ratio(*this); }

std::vector<double> log_ratios(LinkSamples& samples, const std::function<bool(LinkSample&)>& set) {
  std::vector<double> out;
  out.reserve(samples.size());
  const LinkSample* first = nullptr;
  std::optional<SeriesPrices> prices;
  for (LinkSample& sample : samples) {
    if (first == nullptr || !are_one_series(*first, sample)) {
      first = &sample;
      prices.reset();
      if (set(sample)) prices.emplace(sample);
    }
    out.push_back(prices ? prices->log_ratio(sample) : 0);
  }
  return out;
}

LinkSample light(const MeasuredCollective& measured) {
  const CollectiveQuery& query = measured.query;
  LinkSample sample{.cluster = {.name = query.cluster->name,
                                .fabric = query.cluster->fabric,
                                .nccl = middle_release(query),
                                .tuner = query.cluster->tuner,
                                .forced = query.cluster->forced,
                                .collnet = query.cluster->collnet,
                                .graphs = query.cluster->graphs},
                    .ring = ring_of(query),
                    .kind = query.kind,
                    .bytes = query.bytes,
                    .offset = query.offset,
                    .time = measured.time,
                    .back_to_back = query.back_to_back,
                    .only = query.only,
                    .source = measured.source,
                    .measured_on = query.cluster,
                    .trust = measured.trust};
  for (const NodeGroup& group : query.cluster->nodes) {
    NodeGroup bare{.count = group.count, .gpus = group.gpus};
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
