// Measured collectives as the fits of links use them: with bare clusters, whose links can be changed cheaply.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fit/fit_collectives.hpp"

namespace accosim {

struct LinkSample {
  Cluster cluster;  ///< its devices have only what decides about collectives
  Ring ring;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;
  Seconds offset, time;
  std::optional<Algorithm> only;
  std::string source;
  double weight = 1;  ///< its residual is multiplied by it

  double log_ratio() const;  ///< log(predicted / measured)
};
using LinkSamples = std::vector<LinkSample>;

LinkSample light(const MeasuredCollective& measured);

/// Sizes of one collective on one cluster err together, so they count as no more than `effective` samples that do not:
/// sets weights of scale x sqrt(min(1, effective / samples of the series)).
void weigh_series(LinkSamples& samples, double effective, double scale);

/// What a fit says of the samples it rests on: their sizes, sources and errors. `errors`: log(predicted / measured) of
/// each sample.
void set_evidence(LinkFit& fit, const LinkSamples& samples, const std::vector<double>& errors);

}  // namespace accosim
