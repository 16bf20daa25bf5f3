// Measured collectives, what a fit of a kind of links says of them, and the samples as the fits use them: with bare
// clusters, whose links can be changed cheaply.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/collective_query.hpp"
#include "models/collectives/nccl_tuner.hpp"
#include "models/fit/fit_kernels.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

struct MeasuredCollective {
  std::string source;
  CollectiveQuery query{};
  Seconds time{};
  std::optional<NcclRelease> nccl{};  ///< that it was measured with, where that is said
  double trust = 1;  ///< what it counts beside another: half where its source is noisy or says too little
};

/// Of a published case's trust: A counts 1, B half.
inline double weight_of(char trust) { return trust == 'B' ? 0.5 : 1; }

struct LinkFit {
  bool between_nodes = false;
  IntraLink intra{};  ///< the fitted kind and its constants, for links inside nodes; bandwidth and links are not set
  Nics nics{};        ///< the same for links between nodes
  FitErrors large{};  ///< with all samples in the fit: those from 1 MiB
  FitErrors small{};  ///< the same below 1 MiB
  /// Each sample by a fit without its part, in kCollectiveFolds parts; where it was asked for. By what it is: rings,
  /// trees and NVLS from 1 MiB and below, exchanges (all-to-all, send/recv) from 1 MiB and below.
  std::vector<std::pair<std::string, FitErrors>> out{};
  double least = 0, most = 0;  ///< smallest and largest sample, bytes
  std::set<std::string> sources{};
  std::vector<std::string> at_ends{};  ///< at_end() of its numbers

  const std::string& kind() const { return between_nodes ? nics.kind : intra.kind; }
};
inline constexpr std::size_t kFewestOfABoard = 10;  ///< samples that fit_collectives() takes

/// What to say of a number that lies at the end of what it may be; empty of another one.
std::string at_end(const char* key, const Parameter& allowed, double value);
inline constexpr int kCollectiveFolds = 2;  ///< every second sample; of a series, every second size

struct LinkSample {
  Cluster cluster;  ///< its devices have only what decides about collectives
  Ring ring;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;
  Seconds offset, time;
  bool back_to_back = false;
  std::optional<Algorithm> only;
  std::optional<NcclWay> way{};  ///< tuned_way(), where no number that is fitted moves it
  std::string source;
  std::shared_ptr<const Cluster> measured_on{};  ///< as it was read
  double trust = 1;                              ///< MeasuredCollective::trust
  double weight = 1;                             ///< its residual is multiplied by it

  double log_ratio() const;  ///< log(predicted / measured)
};
using LinkSamples = std::vector<LinkSample>;

LinkSample light(const MeasuredCollective& measured);

/// LinkSample::log_ratio() of each, after `set` has given its nodes the numbers that are tried; 0 where that says that
/// the sample is not asked. Of samples next to each other that differ by size alone only the first one's nodes are set
/// and looked at.
std::vector<double> log_ratios(LinkSamples& samples, const std::function<bool(LinkSample&)>& set);

/// Sizes of one collective on one cluster err together, so they count as no more than `effective` samples that do not:
/// sets weights of scale x sqrt(trust x min(1, effective / samples of the series)).
void weigh_series(LinkSamples& samples, double effective, double scale);

/// What a fit says of the samples it rests on: their sizes, sources and errors. `errors`: log(predicted / measured) of
/// each sample.
void set_evidence(LinkFit& fit, const LinkSamples& samples, const std::vector<double>& errors);

}  // namespace accosim
