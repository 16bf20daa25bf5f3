#include "models/fit/fit_fabrics.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/base/statistics.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "models/price/interval.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// How many independent samples a series counts for, and how much more such a sample errs than the minimiser expects.
constexpr double kEffective = 4, kScale = 0.6;

/// The centre of the prior: what is usual of adapters, before any of the samples is seen. NCCL's own step between nodes
/// with LL is 2.7 to 5 us; software adds tens of us.
enum Centre { kShare, kDirect, kSoftware, kMessage, kStaged, kCopied, kCollisions, kCentres };
const std::vector<Parameter>& centres() {
  static const std::vector<Parameter> kAll = {
      {0.92, 0.05, 0.05, 1},  {2.5e-6, 0.15, 1e-7, 5e-3}, {20e-6, 0.15, 1e-7, 5e-3}, {1e-6, 0.15, 1e-8, 1e-3},
      {12e9, 0.5, 1e7, 1e12}, {3e9, 0.3, 1e7, 1e12},      {0.05, 0.7, 1e-4, 1}};
  return kAll;
}

/// Deviations of a kind from it: how far kinds differ.
enum Deviation { kOfShare, kOfLatency, kOfMessage, kOfStaging, kDeviations };
const std::vector<Parameter>& deviations() {
  static const std::vector<Parameter> kAll = {
      {1, 0.1, 0.1, 10}, {1, 1, 1e-3, 1e3}, {1, 0.8, 1e-3, 1e3}, {1, 0.5, 1e-3, 1e3}};
  return kAll;
}

/// `deviation`: the first of the kind's in `p`; nothing for a kind without samples.
void set_nics(Nics& nics, const Parameters& p, std::optional<std::size_t> deviation) {
  const auto own = [&](Deviation which) { return deviation ? p[*deviation + which] : 1.0; };
  nics.efficiency = std::min(1.0, p[kShare] * own(kOfShare));
  nics.latency = Seconds{p[is_by_software(nics.kind) ? kSoftware : kDirect] * own(kOfLatency)};
  nics.message = Seconds{p[kMessage] * own(kOfMessage)};
  nics.collisions = is_hashed(nics.kind) ? p[kCollisions] : 0;
  const DataPath path = data_path(nics.kind);
  nics.staging = BytesPerSecond{path == DataPath::kDirect   ? 0
                                : path == DataPath::kStaged ? p[kStaged] * own(kOfStaging)
                                                            : p[kCopied] * own(kOfStaging)};
}

std::vector<std::string> fabrics() {
  std::vector<std::string> kinds = nic_kinds();
  std::erase(kinds, kOwnRings);
  return kinds;
}

const std::string& kind_of(const LinkSample& sample) { return sample.cluster.nodes.front().nics.kind; }

class Prior {
 public:
  explicit Prior(const LinkSamples& samples) : all_(centres()) {
    for (const LinkSample& sample : samples) {
      if (number_of(kind_of(sample)) < kinds_.size()) continue;
      kinds_.push_back(kind_of(sample));
      all_.insert(all_.end(), deviations().begin(), deviations().end());
    }
    LinkSamples own = samples;
    weigh_series(own, kEffective, kScale);
    const std::vector<bool> all_kinds(kinds_.size(), true);
    at_ = minimise([&](const Parameters& p) { return residuals(own, p, all_kinds); }, all_, {},
                   [&](const Parameters& p) { return slopes(own, p); });
  }

  void set(Nics& nics) const { set(nics, at_); }

 private:
  void set(Nics& nics, const Parameters& p) const {
    const std::size_t kind = number_of(nics.kind);
    if (kind == kinds_.size()) return set_nics(nics, p, std::nullopt);
    set_nics(nics, p, kCentres + kDeviations * kind);
  }

  /// Most parameters move samples of one kind, and the others are not asked.
  std::vector<std::vector<double>> slopes(LinkSamples& samples, const Parameters& p) const {
    std::vector<std::vector<double>> out;
    for (std::size_t j = 0; j < p.size(); ++j) {
      const Parameters more = moved(all_, p, j, kDerivativeStep), less = moved(all_, p, j, -kDerivativeStep);
      std::vector<bool> moves;  // by kind
      for (const std::string& kind : kinds_) {
        Nics high, low;
        high.kind = low.kind = kind;
        set(high, more);
        set(low, less);
        moves.push_back(high != low);
      }
      out.push_back(residuals(samples, more, moves));
      const std::vector<double> low = residuals(samples, less, moves);
      for (std::size_t i = 0; i < samples.size(); ++i) out[j][i] = (out[j][i] - low[i]) / (2 * kDerivativeStep);
    }
    return out;
  }

  std::size_t number_of(const std::string& kind) const {
    return static_cast<std::size_t>(std::ranges::find(kinds_, kind) - kinds_.begin());
  }

  /// `asked`: by kind; the others' are 0.
  std::vector<double> residuals(LinkSamples& samples, const Parameters& p, const std::vector<bool>& asked) const {
    std::vector<double> out = log_ratios(samples, [&](LinkSample& sample) {
      if (!asked[number_of(kind_of(sample))]) return false;
      for (NodeGroup& group : sample.cluster.nodes) set(group.nics, p);
      return true;
    });
    for (std::size_t i = 0; i < samples.size(); ++i) out[i] *= samples[i].weight;
    return out;
  }

  std::vector<std::string> kinds_;  ///< with samples
  std::vector<Parameter> all_;
  Parameters at_;
};

std::vector<double> log_ratios(LinkSamples samples, const Prior& prior) {
  return log_ratios(samples, [&](LinkSample& sample) {
    for (NodeGroup& group : sample.cluster.nodes) prior.set(group.nics);
    return true;
  });
}

/// Spreads such that an interval of 80 % holds as much of what sources measured whom the fit did not see; the usual
/// ones where there are fewer than three.
LinkQuality quality_of_strangers(const LinkSamples& samples) {
  std::set<std::string> sources;
  for (const LinkSample& sample : samples) sources.insert(sample.source);
  LinkQuality quality;
  if (sources.size() < 3) return quality;
  std::vector<double> large, small;
  for (const std::string& source : sources) {
    LinkSamples rest, left;
    for (const LinkSample& sample : samples) (sample.source == source ? left : rest).push_back(sample);
    const std::vector<double> errors = log_ratios(left, Prior(rest));
    for (std::size_t i = 0; i < left.size(); ++i)
      (left[i].bytes.value < kMiB ? small : large).push_back(std::abs(errors[i]));
  }
  constexpr std::size_t kProof = 10;
  if (large.size() >= kProof) quality.spread = percentile(large, 0.8) / kEightyPercent;
  if (small.size() >= kProof) quality.spread_small = percentile(small, 0.8) / kEightyPercent;
  return quality;
}

LinkFit fit_of(const std::string& kind, const LinkSamples& samples, const Prior& prior, const LinkQuality& strangers) {
  LinkFit fit{.between_nodes = true, .nics = {.kind = kind}};
  prior.set(fit.nics);
  fit.nics.quality = strangers;
  LinkSamples own = matching(samples, [&](const LinkSample& sample) { return kind_of(sample) == kind; });
  set_evidence(fit, own, log_ratios(own, prior));
  LinkQuality& quality = fit.nics.quality;
  quality.machines = static_cast<int>(fit.sources.size());
  quality.nodes = 2;  // fewer than which there is no fabric
  quality.growth = growth_beyond(kind);
  for (const LinkSample& sample : own)
    quality.nodes = std::max(quality.nodes, static_cast<int>(sample.ring.node.size()));
  // Several machines of a kind say more of the next one than other kinds do.
  const double own_part = 1 / std::sqrt(std::max(1, quality.machines));
  quality.spread = std::max(fit.large.spread, own_part * strangers.spread);
  quality.spread_small = std::max(fit.small.spread, own_part * strangers.spread_small);
  return fit;
}

}  // namespace

std::vector<std::string> own_fabric_numbers(const std::string& kind) {
  std::vector<std::string> keys = {"efficiency", "latency", "message"};
  if (data_path(kind) != DataPath::kDirect) keys.emplace_back("staging");
  return keys;
}

std::vector<std::string> shared_fabric_numbers() {
  return {"efficiency",          "latency",   "latency through software", "message", "staging of a node",
          "staging of a thread", "collisions"};
}

double growth_beyond(const std::string& kind) {
  constexpr double kModel = 0.05, kCollisions = 0.05;
  return is_hashed(kind) ? std::hypot(kModel, kCollisions) : kModel;
}

std::vector<LinkFit> fit_fabrics(LinkSamples samples) {
  for (LinkSample& each : samples)
    if (goes_by_steps(each.kind, each.cluster, each.ring))
      each.way = tuned_way(each.kind, each.bytes, each.cluster, each.ring, each.only);
  const Prior prior(samples);
  const LinkQuality strangers = quality_of_strangers(samples);
  return mapped<LinkFit>(fabrics(), [&](const std::string& kind) { return fit_of(kind, samples, prior, strangers); });
}

}  // namespace accosim
