#include "models/fit/fit_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/base/minimise.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kFree = 1;          ///< spread of a prior that only says of what size a constant is
constexpr std::size_t kFewest = 10;  ///< samples of a kind of links that make a fit
constexpr double kTight = 0.2;       ///< of one that is known

// Where the fits begin, whatever the kind: of the size that NCCL's tuner has them (src/graph/tuning.cc).
const std::vector<Parameter>& intra_parameters() {
  static const std::vector<Parameter> kAll = {{0.8, kTight, 0.1, 1},       // efficiency
                                              {3e-6, kFree, 1e-7, 1e-4},   // latency
                                              {20e-6, kFree, 1e-6, 1e-4},  // launch
                                              {1e-6, kFree, 1e-9, 1e-4},   // chunk
                                              {0.3, kFree, 1e-3, kMostTurnaround},
                                              {1, kTight, 0.1, 1.5},       // multicast
                                              {13e-6, kFree, 1e-6, 1e-4},  // LL: launch
                                              {2e-6, kFree, 1e-8, 1e-4},   // LL: hop
                                              {0.08, kFree, 1e-4, 1},      // LL: efficiency
                                              {0.6, kTight, 0.05, 1}};     // exchange
  return kAll;
}

IntraLink intra_of(IntraLink link, const Parameters& p) {
  link.efficiency = p[0];
  link.latency = Seconds{p[1]};
  link.launch = Seconds{p[2]};
  link.chunk = Seconds{p[3]};
  link.turnaround = p[4];
  if (link.multicast > 0) link.multicast = p[5];
  link.ll = {Seconds{p[6]}, Seconds{p[7]}, p[8]};
  link.exchange = p[9];
  return link;
}

const std::vector<Parameter>& nic_parameters() {
  static const std::vector<Parameter> kAll = {{0.8, kFree, 0.05, 1},           // efficiency
                                              {50e-6, 2 * kFree, 1e-7, 5e-3},  // latency
                                              {10e-6, 2 * kFree, 1e-9, 1e-2},  // chunk
                                              {5e-6, 2 * kFree, 1e-7, 1e-3},   // LL: hop
                                              {0.01, 2 * kFree, 1e-4, 1}};     // LL: efficiency
  return kAll;
}

Nics nics_of(Nics nics, const Parameters& p) {
  nics.efficiency = p[0];
  nics.latency = Seconds{p[1]};
  nics.chunk = Seconds{p[2]};
  nics.ll = {Seconds{0}, Seconds{p[3]}, p[4]};
  return nics;
}

/// A sample with a cluster of its own whose devices are bare, so that its links can be changed cheaply.
struct Sample {
  Cluster cluster;
  Ring ring;
  CollectiveKind kind;
  Bytes bytes;
  Seconds offset, time;
  std::optional<Algorithm> only;

  double log_ratio() const { return std::log((collective_time(kind, bytes, cluster, ring, only) + offset) / time); }
};
using Samples = std::vector<Sample>;

Sample light(const MeasuredCollective& measured) {
  const CollectiveQuery& query = measured.query;
  Sample sample{{}, ring_of(query), query.kind, query.bytes, query.offset, measured.time, query.only};
  sample.cluster.fabric = query.cluster->fabric;
  for (const NodeGroup& group : query.cluster->nodes) {
    NodeGroup bare;
    bare.count = group.count;
    bare.gpus = group.gpus;
    for (const Device& device : group.devices) {
      bare.devices.emplace_back();
      bare.devices.back().collective_sms = device.collective_sms;
    }
    bare.intra = group.intra;
    bare.nics = group.nics;
    sample.cluster.nodes.push_back(std::move(bare));
  }
  return sample;
}

/// The constants of one kind of links, to be fitted to samples that use it.
class LinksFit {
 public:
  LinksFit(bool between, std::string kind) : between_(between), kind_(std::move(kind)) {}

  Parameters fit(Samples samples) const {
    const auto residuals = [&](const Parameters& p) { return this->residuals(samples, p); };
    if (!between_) return minimise(residuals, intra_parameters());
    // A slow network's small messages are explained by slow steps or by long filling; the one hides the other from a
    // search that begins far off.
    const std::vector<Parameter>& all = nic_parameters();
    Parameters best;
    double least = 0;
    for (const double latency : {5e-6, 50e-6, 500e-6}) {
      Parameters start;
      for (const Parameter& parameter : all) start.push_back(parameter.usual);
      start[1] = latency;
      const Parameters found = minimise(residuals, all, start);
      const double cost = cost_of(residuals(found), found, all);
      if (best.empty() || cost < least) best = found, least = cost;
    }
    return best;
  }

  std::vector<double> residuals(Samples& samples, const Parameters& p) const {
    std::vector<double> out;
    for (Sample& sample : samples) {
      for (NodeGroup& group : sample.cluster.nodes) {
        if (between_ && group.nics.kind == kind_) group.nics = nics_of(group.nics, p);
        if (!between_ && group.intra.kind == kind_) group.intra = intra_of(group.intra, p);
      }
      out.push_back(sample.log_ratio());
    }
    return out;
  }

  LinkFit whole(Samples samples, CrossValidation cross) const {
    LinkFit fit;
    fit.between_nodes = between_;
    const Parameters p = this->fit(samples);
    const std::vector<double> in = residuals(samples, p);
    std::vector<double> large, small;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double bytes = samples[i].bytes.value;
      (bytes < kMiB ? small : large).push_back(in[i]);
      fit.least = i == 0 ? bytes : std::min(fit.least, bytes);
      fit.most = std::max(fit.most, bytes);
    }
    fit.large = errors_of(large);
    fit.small = errors_of(small);
    if (cross == CrossValidation::kYes) fit.out = left_out(samples);
    if (between_) {
      fit.nics = nics_of(usual_nics(kind_), p), set_quality(fit.nics.quality, fit);
    } else {
      const auto reduces = [](const Sample& sample) { return sample.cluster.nodes.front().intra.multicast > 0; };
      IntraLink usual = usual_intra(kind_);
      if (std::none_of(samples.begin(), samples.end(), reduces)) usual.multicast = 0;
      fit.intra = intra_of(usual, p), set_quality(fit.intra.quality, fit);
    }
    return fit;
  }

 private:
  FitErrors left_out(const Samples& samples) const {
    std::vector<double> out;
    for (std::size_t fold = 0; fold < kCollectiveFolds && samples.size() > 2 * kCollectiveFolds; ++fold) {
      Samples rest, left;
      for (std::size_t i = 0; i < samples.size(); ++i)
        (i % kCollectiveFolds == fold ? left : rest).push_back(samples[i]);
      const Parameters without = this->fit(std::move(rest));
      const std::vector<double> errors = residuals(left, without);
      out.insert(out.end(), errors.begin(), errors.end());
    }
    return errors_of(out);
  }

  /// Few samples prove no small spread: what a kind has without them stands until there are enough.
  static void set_quality(LinkQuality& quality, const LinkFit& fit) {
    constexpr int kProof = 10;
    constexpr double kBest = 0.02;  // of measuring again
    if (fit.large.samples >= kProof) quality.spread = std::max(kBest, fit.large.spread);
    if (fit.small.samples >= kProof) quality.spread_small = std::max(kBest, fit.small.spread);
  }

  bool between_;
  std::string kind_;
};

}  // namespace

std::vector<LinkFit> fit_collectives(const std::vector<MeasuredCollective>& samples, std::vector<LinkFit> known,
                                     CrossValidation cross) {
  std::vector<LinkFit> fits = std::move(known);
  for (const bool between : {false, true}) {
    std::map<std::string, Samples> by_kind;
    std::map<std::string, std::set<std::string>> sources;
    for (const MeasuredCollective& measured : samples) {
      const NodeGroup& first = measured.query.cluster->nodes.front();
      if (between != (measured.query.nodes > 1)) continue;
      Sample sample = light(measured);
      for (NodeGroup& group : sample.cluster.nodes) group = with_links(std::move(group), fits);
      const std::string& kind = between ? first.nics.kind : first.intra.kind;
      by_kind[kind].push_back(std::move(sample));
      sources[kind].insert(measured.source);
    }
    for (auto& [kind, of_kind] : by_kind) {
      if (of_kind.size() < kFewest) continue;
      fits.push_back(LinksFit(between, kind).whole(std::move(of_kind), cross));
      fits.back().sources = sources[kind];
    }
  }
  return fits;
}

std::vector<LinkFit> with_relatives(std::vector<LinkFit> fits, const std::vector<LinkFit>& known) {
  const auto name = [](const LinkFit& fit) { return fit.between_nodes ? fit.nics.kind : fit.intra.kind; };
  const auto find = [&](bool between, const std::string& kind) {
    return std::find_if(fits.begin(), fits.end(),
                        [&](const LinkFit& fit) { return fit.between_nodes == between && name(fit) == kind; });
  };
  for (const LinkFit& each : known) {
    if (find(each.between_nodes, name(each)) != fits.end()) continue;
    std::vector<std::string> relatives = {"nvlink", "nvswitch", "cube_mesh"};
    if (each.between_nodes) relatives = nic_kinds();  // InfiniBand first
    for (const std::string& kind : relatives) {
      const auto relative = find(each.between_nodes, kind);
      if (relative == fits.end()) continue;
      LinkFit copy = *relative;
      (copy.between_nodes ? copy.nics.kind : copy.intra.kind) = name(each);
      LinkQuality& quality = copy.between_nodes ? copy.nics.quality : copy.intra.quality;
      quality.spread = std::max(quality.spread, LinkQuality().spread);  // of links that nobody measured
      quality.spread_small = std::max(quality.spread_small, LinkQuality().spread_small);
      fits.push_back(std::move(copy));
      break;
    }
  }
  return fits;
}

NodeGroup with_links(NodeGroup group, const std::vector<LinkFit>& fits) {
  for (const LinkFit& fit : fits) {
    if (!fit.between_nodes && fit.intra.kind == group.intra.kind) {
      IntraLink link = fit.intra;
      link.bandwidth = group.intra.bandwidth;
      link.links = group.intra.links;
      if (group.intra.multicast == 0) link.multicast = 0;
      group.intra = std::move(link);
    }
    if (fit.between_nodes && fit.nics.kind == group.nics.kind) {
      Nics nics = fit.nics;
      nics.count = group.nics.count;
      nics.bandwidth = group.nics.bandwidth;
      group.nics = nics;
    }
  }
  return group;
}

}  // namespace accosim
