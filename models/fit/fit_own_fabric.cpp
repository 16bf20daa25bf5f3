// The covariance is that of a linear model at the minimum: residuals err by their own spread, the prior's by its.
#include "models/fit/fit_own_fabric.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "models/fit/fit_fabrics.hpp"
#include "models/price/interval.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr int kProof = 10;  ///< samples that prove a spread of their own

/// A number that is fitted, and where a node has it.
struct OwnNumber {
  const char* key;
  const char* unit;
  double in_unit;
  Parameter parameter;
  double& (*in)(NodeGroup& group);
};
using OwnNumbers = std::vector<OwnNumber>;

double& nic_efficiency(NodeGroup& group) { return group.nics.efficiency; }
double& nic_latency(NodeGroup& group) { return group.nics.latency.value; }
double& nic_message(NodeGroup& group) { return group.nics.message.value; }
double& nic_staging(NodeGroup& group) { return group.nics.staging.value; }
double& intra_efficiency(NodeGroup& group) { return group.intra.efficiency; }
double& intra_latency(NodeGroup& group) { return group.intra.latency.value; }
double& intra_launch(NodeGroup& group) { return group.intra.launch.value; }
double& intra_crowding(NodeGroup& group) { return group.intra.crowding; }
double& nvls_efficiency(NodeGroup& group) { return group.intra.nvls.efficiency; }
double& exchange_efficiency(NodeGroup& group) { return group.intra.exchange.efficiency; }

/// Of GPUs over PCIe: servers differ by how many boards share a root port, as much as shipped boards do.
/// Where sockets are told these share what others crowd on.
void add_inside(OwnNumbers& all, const NodeGroup& group, const char* efficiency, const char* crowding) {
  const IntraLink usual = usual_intra(group.intra.kind, group.intra.generation);
  all.push_back({efficiency, "", 1, {usual.efficiency, 0.15, 0.1, 1}, intra_efficiency});
  if (is_over_pcie(usual.kind) && group.intra.socket_gpus == 0)
    all.push_back({crowding, "", 1, {std::max(usual.crowding, 0.01), 1, 0.01, 3}, intra_crowding});
}

/// Staging only where the host copies. A cluster may be as far from its kind as kinds are from each other, and somewhat
/// further.
OwnNumbers numbers_of_fabric(const NodeGroup& group, bool with_inside) {
  const Nics usual = usual_nics(group.nics.kind);
  OwnNumbers all = {{"efficiency", "", 1, {usual.efficiency, 0.15, 0.02, 1}, nic_efficiency},
                    {"latency", "us", 1e6, {usual.latency.value, 0.7, 1e-8, 1e-1}, nic_latency},
                    {"message", "us", 1e6, {std::max(usual.message.value, 1e-8), 0.7, 1e-9, 1e-2}, nic_message}};
  if (usual.staging > BytesPerSecond{0})
    all.push_back({"staging", "GB/s", 1e-9, {usual.staging.value, 0.7, 1e6, 1e12}, nic_staging});
  if (with_inside) add_inside(all, group, "intra efficiency", "intra crowding");
  return all;
}

/// What a switch reduces, and exchanges, have a share of the wire of their own.
OwnNumbers numbers_of_board(const NodeGroup& group, bool exchanges) {
  const IntraLink usual = usual_intra(group.intra.kind, group.intra.generation);
  OwnNumbers all = {{"latency", "us", 1e6, {usual.latency.value, 0.7, 1e-7, 1e-4}, intra_latency},
                    {"launch", "us", 1e6, {usual.launch.value, 0.7, 1e-6, 1e-4}, intra_launch}};
  add_inside(all, group, "efficiency", "crowding");
  if (group.intra.nvls.efficiency > 0 && usual.nvls.efficiency > 0)
    all.push_back({"nvls_efficiency", "", 1, {usual.nvls.efficiency, 0.15, 0.1, 1.5}, nvls_efficiency});
  if (exchanges && usual.exchange.efficiency > 0)
    all.push_back({"all_to_all_efficiency", "", 1, {usual.exchange.efficiency, 0.15, 0.05, 1}, exchange_efficiency});
  return all;
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
  Fit(LinkSamples samples, bool between, OwnNumbers all)
      : samples_(std::move(samples)), between_(between), all_(std::move(all)) {
    // Sizes of one collective err together: a sweep tells no more than ten sizes that do not.
    constexpr double kEffective = 10;
    weigh_series(samples_, kEffective, 1);
    const std::vector<Parameter> parameters = mapped<Parameter>(all_, &OwnNumber::parameter);
    at_ = minimise(
        [&](const Parameters& p) {
          std::vector<double> out;
          for (LinkSample& sample : samples_) out.push_back(sample.weight * log_ratio(sample, p));
          return out;
        },
        parameters);
    set_covariance();
  }

  OwnFabric own() {
    OwnFabric own{.fit = link_fit(), .numbers = numbers(), .untold = untold()};
    if (!between_) return own;
    if (std::ranges::any_of(all_, [](const OwnNumber& each) { return is_inside(each); })) {
      own.inside = own.fit;
      own.inside->between_nodes = false;
    }
    set_growth(own.fit.nics.quality);
    own.beyond = beyond(own.fit.nics.quality);
    return own;
  }

 private:
  static bool is_inside(const OwnNumber& number) { return std::string_view(number.key).rfind("intra ", 0) == 0; }

  void set(std::vector<NodeGroup>& groups, const Parameters& p) const {
    for (NodeGroup& group : groups)
      for (std::size_t i = 0; i < p.size(); ++i) all_[i].in(group) = p[i];
  }

  double log_ratio(LinkSample& sample, const Parameters& p) const {
    set(sample.cluster.nodes, p);
    return sample.log_ratio();
  }

  double freedom(std::size_t number) const { return all_[number].parameter.freedom; }

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
      const double before = freedom(static_cast<std::size_t>(j));
      information(j, j) += 1 / (before * before);
    }
    covariance_ = information.ldlt().solve(Eigen::MatrixXd::Identity(n, n));
  }

  LinkFit link_fit() {
    LinkFit fit{.between_nodes = between_};
    set(samples_.front().cluster.nodes, at_);
    const NodeGroup& group = samples_.front().cluster.nodes.front();
    fit.nics = group.nics;
    fit.intra = group.intra;
    std::vector<double> errors;
    for (LinkSample& sample : samples_) errors.push_back(log_ratio(sample, at_));
    set_evidence(fit, samples_, errors);
    LinkQuality& quality = between_ ? fit.nics.quality : fit.intra.quality;
    quality.nodes = 0;  // what the kind was measured on says nothing of this cluster
    for (const LinkSample& sample : samples_)
      quality.nodes = std::max(quality.nodes, between_ ? static_cast<int>(sample.ring.node.size()) : sample.ring.ranks);
    constexpr double kBest = 0.05;  // of measuring again on another day
    if (fit.large.samples >= kProof) quality.spread = std::max(kBest, fit.large.spread);
    if (fit.small.samples >= kProof) quality.spread_small = std::max(kBest, fit.small.spread);
    if (between_) quality.machines = 1;
    return fit;
  }

  std::vector<FittedNumber> numbers() const {
    std::vector<FittedNumber> all;
    for (std::size_t j = 0; j < at_.size(); ++j) {
      const auto i = static_cast<Eigen::Index>(j);
      const OwnNumber& number = all_[j];
      const double spread = std::sqrt(covariance_(i, i));
      const Interval interval = interval_80(at_[j], spread);
      all.push_back({number.key, number.unit, number.in_unit * at_[j], number.in_unit * interval.low,
                     number.in_unit * std::min(interval.high, number.parameter.most),
                     1 - covariance_(i, i) / (freedom(j) * freedom(j))});
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
      if (const std::string end = at_end(all_[i].key, all_[i].parameter, at_[i]); !end.empty()) all.push_back(end);
      if (1 - covariance_(j, j) / (freedom(i) * freedom(i)) < kLittle)
        all.push_back(fmt::format("these samples say little of \"{}\": it is mostly the kind's", all_[i].key));
      for (Eigen::Index k = 0; k < j; ++k) {
        const double together = covariance_(j, k) / std::sqrt(covariance_(j, j) * covariance_(k, k));
        if (std::abs(together) > kTogether)
          all.push_back(
              fmt::format("these samples do not tell \"{}\" and \"{}\" apart: both could be larger or smaller"
                          "{}",
                          all_[static_cast<std::size_t>(k)].key, all_[i].key,
                          together < 0 ? ", one where the other is not" : " together"));
      }
    }
    if (static_cast<int>(samples_.size()) < kProof)
      all.push_back(fmt::format("with {} sample{} intervals of predictions stay as wide as the kind's", samples_.size(),
                                samples_.size() == 1 ? "" : "s"));
    if (between_ && nodes().size() == 1)
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
    set(cluster.nodes, p);
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
  bool between_;
  OwnNumbers all_;
  Parameters at_;
  Eigen::MatrixXd covariance_;
};

}  // namespace

std::vector<OwnFabric> fit_own_fabrics(const std::vector<MeasuredCollective>& samples) {
  std::map<std::string, LinkSamples> kinds;
  std::set<std::string> inside;  ///< kinds of links that samples of one node tell more of
  for (const MeasuredCollective& measured : samples) {
    const NodeGroup& group = measured.query.cluster->nodes.front();
    if (measured.query.nodes == 1) inside.insert(group.intra.kind);
    if (measured.query.nodes > 1 && group.nics.kind != kOwnRings) kinds[group.nics.kind].push_back(light(measured));
  }
  std::vector<OwnFabric> all;
  for (auto& [kind, own] : kinds) {
    const NodeGroup& group = own.front().cluster.nodes.front();
    const bool crowds = is_over_pcie(group.intra.kind) && inside.count(group.intra.kind) == 0 &&
                        own.front().ring.ranks > 2 * static_cast<int>(own.front().ring.node.size());
    OwnNumbers numbers = numbers_of_fabric(group, crowds);
    all.push_back(Fit(std::move(own), true, std::move(numbers)).own());
  }
  return all;
}

std::vector<OwnFabric> fit_own_boards(const std::vector<MeasuredCollective>& samples) {
  std::map<std::pair<std::string, std::string>, LinkSamples> boards;
  for (const MeasuredCollective& measured : samples) {
    const IntraLink& link = measured.query.cluster->nodes.front().intra;
    if (measured.query.nodes == 1) boards[{link.kind, link.generation}].push_back(light(measured));
  }
  std::vector<OwnFabric> all;
  for (auto& [board, own] : boards) {
    if (own.size() >= kFewestOfABoard) continue;
    const bool exchanges = std::ranges::any_of(own, [](const LinkSample& s) { return is_exchange(s.kind); });
    OwnNumbers numbers = numbers_of_board(own.front().cluster.nodes.front(), exchanges);
    all.push_back(Fit(std::move(own), false, std::move(numbers)).own());
  }
  return all;
}

}  // namespace accosim
