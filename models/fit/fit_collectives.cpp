#include "models/fit/fit_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/base/minimise.hpp"
#include "models/fit/fit_fabrics.hpp"
#include "models/fit/link_samples.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr std::size_t kFewest = 10;  ///< samples of a kind of links that make a fit

constexpr std::size_t kMulticast = 5;  ///< among intra_parameters()

// One prior for all boards: NCCL's count of NVLink (20 of 25 GB/s) and what else is usual. A board's own constants are
// deviations from it.
const std::vector<Parameter>& intra_parameters() {
  static const std::vector<Parameter> kAll = {{0.82, 0.08, 0.1, 1},       // efficiency
                                              {2.5e-6, 0.5, 1e-7, 1e-4},  // latency
                                              {20e-6, 0.4, 1e-6, 1e-4},   // launch
                                              {0.5e-6, 0.7, 1e-9, 1e-4},  // chunk
                                              {0.3, 0.4, 1e-3, kMostTurnaround},
                                              {1.03, 0.1, 0.1, 1.5},     // multicast
                                              {12e-6, 0.4, 1e-6, 1e-4},  // LL: launch
                                              {2e-6, 0.4, 1e-8, 1e-4},   // LL: hop
                                              {0.08, 0.4, 1e-4, 1},      // LL: efficiency
                                              {0.6, 0.15, 0.05, 1}};     // exchange
  return kAll;
}

IntraLink intra_of(IntraLink link, const Parameters& p) {
  link.efficiency = p[0];
  link.latency = Seconds{p[1]};
  link.launch = Seconds{p[2]};
  link.chunk = Seconds{p[3]};
  link.turnaround = p[4];
  if (link.multicast > 0) link.multicast = p[kMulticast];
  link.ll = {Seconds{p[6]}, Seconds{p[7]}, p[8]};
  link.exchange = p[9];
  return link;
}

/// Half of its square is the minimiser's loss of a residual: what is weighed down must not become less robust by it.
double robust(double residual) {
  constexpr double kHuber = 0.1;
  const double size = std::abs(residual);
  return size < kHuber ? residual : std::copysign(std::sqrt(2 * kHuber * (size - kHuber / 2)), residual);
}

/// The constants of one kind of links inside nodes, to be fitted to samples that use it.
class BoardFit {
 public:
  explicit BoardFit(std::string kind) : kind_(std::move(kind)) {}

  Parameters fit(LinkSamples samples) const {
    weigh(samples);
    return minimise([&](const Parameters& p) { return residuals(samples, p); }, intra_parameters());
  }

  std::vector<double> residuals(LinkSamples& samples, const Parameters& p) const {
    std::vector<double> out;
    for (LinkSample& sample : samples) {
      for (NodeGroup& group : sample.cluster.nodes)
        if (group.intra.kind == kind_) group.intra = intra_of(group.intra, p);
      const double ratio = sample.log_ratio();
      out.push_back(sample.weight == 1 ? ratio : sample.weight * robust(ratio));
    }
    return out;
  }

  LinkFit whole(LinkSamples samples, CrossValidation cross) const {
    LinkFit fit;
    const Parameters p = this->fit(samples);
    for (LinkSample& sample : samples) sample.weight = 1;
    set_evidence(fit, samples, residuals(samples, p));
    if (cross == CrossValidation::kYes) fit.out = left_out(samples);
    const auto reduces = [](const LinkSample& sample) { return sample.cluster.nodes.front().intra.multicast > 0; };
    IntraLink usual = usual_intra(kind_);
    if (std::none_of(samples.begin(), samples.end(), reduces)) usual.multicast = 0;
    fit.intra = intra_of(usual, p);
    set_quality(fit.intra.quality, fit);
    return fit;
  }

 private:
  /// Where one source alone measured a kind, its sizes count for few: what it errs by as a whole must not pass for the
  /// kind's.
  static void weigh(LinkSamples& samples) {
    constexpr double kEffective = 4;
    std::set<std::string> sources;
    for (LinkSample& sample : samples) sources.insert(sample.source), sample.weight = 1;
    if (sources.size() == 1) weigh_series(samples, kEffective, 1);
  }

  FitErrors left_out(const LinkSamples& samples) const {
    std::vector<double> out;
    for (std::size_t fold = 0; fold < kCollectiveFolds && samples.size() > 2 * kCollectiveFolds; ++fold) {
      LinkSamples rest, left;
      for (std::size_t i = 0; i < samples.size(); ++i)
        (i % kCollectiveFolds == fold ? left : rest).push_back(samples[i]);
      const Parameters without = this->fit(std::move(rest));
      for (LinkSample& sample : left) sample.weight = 1;
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

  std::string kind_;
};

}  // namespace

std::vector<LinkFit> fit_collectives(const std::vector<MeasuredCollective>& samples, std::vector<LinkFit> known,
                                     CrossValidation cross) {
  std::vector<LinkFit> fits = std::move(known);
  std::map<std::string, LinkSamples> boards;
  LinkSamples between;
  for (const MeasuredCollective& measured : samples)
    if (measured.query.nodes == 1) boards[measured.query.cluster->nodes.front().intra.kind].push_back(light(measured));
  for (auto& [kind, of_kind] : boards) {
    for (LinkSample& sample : of_kind)
      for (NodeGroup& group : sample.cluster.nodes) group = with_links(std::move(group), fits);
    if (of_kind.size() >= kFewest) fits.push_back(BoardFit(kind).whole(std::move(of_kind), cross));
  }
  for (const MeasuredCollective& measured : samples) {
    if (measured.query.nodes == 1 || measured.query.cluster->nodes.front().nics.kind == kOwnRings) continue;
    between.push_back(light(measured));
    for (NodeGroup& group : between.back().cluster.nodes) group = with_links(std::move(group), fits);
  }
  if (between.size() < kFewest) return fits;
  for (LinkFit& fit : fit_fabrics(between)) fits.push_back(std::move(fit));
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
    if (each.between_nodes) continue;  // which takes the prior
    const std::vector<std::string> relatives = {"nvlink", "nvswitch", "cube_mesh"};
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
      if (group.intra.multicast == 0)
        link.multicast = 0;
      else if (link.multicast == 0)
        link.multicast = intra_parameters()[kMulticast].usual;  // no sample's switch reduced
      group.intra = std::move(link);
    }
    if (fit.between_nodes && fit.nics.kind == group.nics.kind) {
      group.nics.efficiency = fit.nics.efficiency;
      group.nics.latency = fit.nics.latency;
      group.nics.message = fit.nics.message;
      group.nics.staging = fit.nics.staging;
      group.nics.quality = fit.nics.quality;
    }
  }
  return group;
}

}  // namespace accosim
