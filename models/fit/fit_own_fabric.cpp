// The covariance is that of a linear model at the minimum: residuals err by their own spread, the prior's by its.
#include "models/fit/fit_own_fabric.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "models/base/minimise.hpp"
#include "models/fit/fit_fabrics.hpp"
#include "models/fit/link_samples.hpp"
#include "models/price/interval.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr int kFewest = 10;

/// The four, in the order of Nics; the last only where the host copies. A cluster may be as far from its kind as kinds
/// are from each other, and somewhat further.
std::vector<Parameter> parameters_of(const Nics& usual) {
  std::vector<Parameter> all = {{usual.efficiency, 0.15, 0.02, 1},
                                {usual.latency.value, 0.7, 1e-8, 1e-1},
                                {std::max(usual.message.value, 1e-8), 0.7, 1e-9, 1e-2}};
  if (usual.staging > BytesPerSecond{0}) all.push_back({usual.staging.value, 0.7, 1e6, 1e12});
  return all;
}

struct Key {
  const char* name;
  const char* unit;
  double in_unit;
};
constexpr Key kKeys[] = {
    {"efficiency", "", 1}, {"latency", "us", 1e6}, {"message", "us", 1e6}, {"staging", "GB/s", 1e-9}};

void set_nics(Nics& nics, const Parameters& p) {
  nics.efficiency = p[0];
  nics.latency = Seconds{p[1]};
  nics.message = Seconds{p[2]};
  if (p.size() > 3) nics.staging = BytesPerSecond{p[3]};
}

double log_ratio(LinkSample& sample, const Parameters& p) {
  for (NodeGroup& group : sample.cluster.nodes) set_nics(group.nics, p);
  return sample.log_ratio();
}

/// Derivatives of a quantity by the logs of the parameters.
template <typename Quantity>
Eigen::VectorXd slope_of(const Quantity& quantity, const Parameters& at) {
  constexpr double kStep = 0.02;
  Eigen::VectorXd slope(static_cast<Eigen::Index>(at.size()));
  for (std::size_t j = 0; j < at.size(); ++j) {
    Parameters up = at, down = at;
    up[j] *= std::exp(kStep);
    down[j] *= std::exp(-kStep);
    slope[static_cast<Eigen::Index>(j)] = (quantity(up) - quantity(down)) / (2 * kStep);
  }
  return slope;
}

class Fit {
 public:
  explicit Fit(LinkSamples samples) : samples_(std::move(samples)) {
    all_ = parameters_of(usual_nics(samples_.front().cluster.nodes.front().nics.kind));
    // Sizes of one collective err together: a sweep tells no more than ten sizes that do not.
    constexpr double kEffective = 10;
    weigh_series(samples_, kEffective, 1);
    at_ = minimise(
        [&](const Parameters& p) {
          std::vector<double> out;
          for (LinkSample& sample : samples_) out.push_back(sample.weight * log_ratio(sample, p));
          return out;
        },
        all_);
    set_covariance();
  }

  OwnFabric fabric() {
    OwnFabric own;
    own.fit = link_fit();
    own.numbers = numbers();
    own.untold = untold();
    set_growth(own.fit.nics.quality);
    own.beyond = beyond(own.fit.nics.quality);
    return own;
  }

 private:
  void set_covariance() {
    double squares = 0, weights = 0;
    const auto n = static_cast<Eigen::Index>(at_.size());
    Eigen::MatrixXd information = Eigen::MatrixXd::Zero(n, n);
    for (LinkSample& sample : samples_) {
      const double error = log_ratio(sample, at_), weight = sample.weight * sample.weight;
      squares += weight * error * error;
      weights += weight;
      const Eigen::VectorXd slope = slope_of([&](const Parameters& p) { return log_ratio(sample, p); }, at_);
      information += weight * slope * slope.transpose();
    }
    const double noise = std::max(kExpectedNoise, std::sqrt(squares / weights));
    information /= noise * noise;
    for (Eigen::Index j = 0; j < n; ++j) {
      const double freedom = all_[static_cast<std::size_t>(j)].freedom;
      information(j, j) += 1 / (freedom * freedom);
    }
    covariance_ = information.ldlt().solve(Eigen::MatrixXd::Identity(n, n));
  }

  LinkFit link_fit() {
    LinkFit fit;
    fit.between_nodes = true;
    fit.nics = samples_.front().cluster.nodes.front().nics;
    set_nics(fit.nics, at_);
    fit.nics.quality.nodes = 0;  // what the kind was measured on says nothing of this cluster
    std::vector<double> errors;
    for (LinkSample& sample : samples_) {
      errors.push_back(log_ratio(sample, at_));
      fit.nics.quality.nodes = std::max(fit.nics.quality.nodes, static_cast<int>(sample.ring.node.size()));
    }
    set_evidence(fit, samples_, errors);
    LinkQuality& quality = fit.nics.quality;
    constexpr double kBest = 0.05;  // of measuring again on another day
    if (fit.large.samples >= kFewest) quality.spread = std::max(kBest, fit.large.spread);
    if (fit.small.samples >= kFewest) quality.spread_small = std::max(kBest, fit.small.spread);
    quality.machines = 1;
    return fit;
  }

  std::vector<FittedNumber> numbers() const {
    std::vector<FittedNumber> all;
    for (std::size_t j = 0; j < at_.size(); ++j) {
      const auto i = static_cast<Eigen::Index>(j);
      const double spread = std::sqrt(covariance_(i, i));
      const Interval interval = interval_80(at_[j], spread);
      const double before = all_[j].freedom * all_[j].freedom;
      all.push_back({kKeys[j].name, kKeys[j].unit, kKeys[j].in_unit * at_[j], kKeys[j].in_unit * interval.low,
                     kKeys[j].in_unit * std::min(interval.high, all_[j].most), 1 - covariance_(i, i) / before});
    }
    return all;
  }

  std::set<int> nodes() const {
    std::set<int> counts;
    for (const LinkSample& sample : samples_) counts.insert(static_cast<int>(sample.ring.node.size()));
    return counts;
  }

  std::vector<std::string> untold() const {
    constexpr double kLittle = 0.5, kTogether = 0.8;
    std::vector<std::string> all;
    for (Eigen::Index j = 0; j < covariance_.rows(); ++j) {
      const auto i = static_cast<std::size_t>(j);
      const double before = all_[i].freedom * all_[i].freedom;
      if (1 - covariance_(j, j) / before < kLittle)
        all.push_back(fmt::format("these samples say little of \"{}\": it is mostly the kind's", kKeys[i].name));
      for (Eigen::Index k = 0; k < j; ++k) {
        const double together = covariance_(j, k) / std::sqrt(covariance_(j, j) * covariance_(k, k));
        if (std::abs(together) > kTogether)
          all.push_back(
              fmt::format("these samples do not tell \"{}\" and \"{}\" apart: both could be larger or smaller"
                          "{}",
                          kKeys[static_cast<std::size_t>(k)].name, kKeys[i].name,
                          together < 0 ? ", one where the other is not" : " together"));
      }
    }
    if (nodes().size() == 1)
      all.push_back(
          fmt::format("all samples are of {} nodes: what grows with nodes is the model's, not measured; measure "
                      "on another number of nodes too",
                      *nodes().begin()));
    return all;
  }

  /// One of the samples' clusters with more nodes.
  double log_time(CollectiveKind kind, Bytes bytes, int nodes, const Parameters& p) const {
    Cluster cluster = samples_.front().cluster;
    cluster.nodes.resize(1);
    cluster.nodes.front().count = nodes;
    set_nics(cluster.nodes.front().nics, p);
    return std::log(collective_time(kind, bytes, cluster, whole_ring(cluster)).value);
  }

  double variance(CollectiveKind kind, Bytes bytes, int nodes) const {
    const Eigen::VectorXd slope = slope_of([&](const Parameters& p) { return log_time(kind, bytes, nodes, p); }, at_);
    return slope.dot(covariance_ * slope);
  }

  std::vector<std::pair<CollectiveKind, Bytes>> asked() const {
    std::vector<std::pair<CollectiveKind, Bytes>> all;
    std::set<CollectiveKind> kinds;
    for (const LinkSample& sample : samples_)
      if (!is_exchange(sample.kind)) kinds.insert(sample.kind);
    for (const CollectiveKind kind : kinds)
      for (const double bytes : {kMiB, 25 * kMiB, 1024 * kMiB}) all.emplace_back(kind, Bytes{bytes});
    return all;
  }

  /// What the unknown in the numbers adds with a doubling of the nodes, where it adds most, beside what the kind's own
  /// growth is.
  void set_growth(LinkQuality& quality) const {
    double growth = 0;
    for (const auto& [kind, bytes] : asked()) {
      const double before = variance(kind, bytes, quality.nodes);
      for (int doublings = 1; doublings <= kDoublings; ++doublings) {
        const double more = variance(kind, bytes, quality.nodes << doublings) - before;
        growth = std::max(growth, std::sqrt(std::max(0.0, more)) / doublings);
      }
    }
    quality.growth = std::hypot(growth, growth_beyond(samples_.front().cluster.nodes.front().nics.kind));
  }

  std::vector<Extrapolated> beyond(const LinkQuality& quality) const {
    std::vector<Extrapolated> all;
    Cluster cluster = samples_.front().cluster;
    cluster.nodes.resize(1);
    cluster.nodes.front().nics.quality = quality;
    for (const auto& [kind, bytes] : asked())
      for (const int doublings : {0, 1, 3, kDoublings}) {
        const int nodes = quality.nodes << doublings;
        const Seconds time{std::exp(log_time(kind, bytes, nodes, at_))};
        const Interval band = interval_80(time.value, communication_spread(cluster, nodes, bytes));
        all.push_back({kind, bytes, nodes, time, Seconds{band.low}, Seconds{band.high}});
      }
    return all;
  }

  static constexpr int kDoublings = 5;

  LinkSamples samples_;
  std::vector<Parameter> all_;
  Parameters at_;
  Eigen::MatrixXd covariance_;
};

}  // namespace

std::vector<OwnFabric> fit_own_fabrics(const std::vector<MeasuredCollective>& samples) {
  std::map<std::string, LinkSamples> kinds;
  for (const MeasuredCollective& measured : samples) {
    const std::string& kind = measured.query.cluster->nodes.front().nics.kind;
    if (measured.query.nodes > 1 && kind != kOwnRings) kinds[kind].push_back(light(measured));
  }
  std::vector<OwnFabric> all;
  for (auto& [kind, own] : kinds)
    if (own.size() >= std::size_t{kFewest}) all.push_back(Fit(std::move(own)).fabric());
  return all;
}

}  // namespace accosim
