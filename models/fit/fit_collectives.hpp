// Fits the constants of kinds of links (models/spec/fabrics.hpp) to measured collectives, on the log of predicted over
// measured time: those inside nodes from collectives of one node, then those between nodes with the former as they came
// out.
#pragma once

#include <string>
#include <vector>

#include "models/fit/fit_kernels.hpp"
#include "models/price/collective_query.hpp"

namespace accosim {

struct MeasuredCollective {
  std::string source;
  CollectiveQuery query;
  Seconds time;
};

struct LinkFit {
  bool between_nodes = false;
  IntraLink intra;             ///< constants of its kind, where inside nodes; bandwidth and links are nobody's
  Nics nics;                   ///< constants of its kind, where between nodes
  FitErrors large;             ///< all samples in, from 1 MiB
  FitErrors small;             ///< below
  FitErrors out;               ///< each sample by a fit of the others, in kCollectiveFolds parts
  double least = 0, most = 0;  ///< bytes of the samples
};
inline constexpr int kCollectiveFolds = 5;

/// One a kind that has at least 10 samples, sorted by name, links inside nodes first; the others keep their usual
/// constants. Deterministic.
std::vector<LinkFit> fit_collectives(const std::vector<MeasuredCollective>& samples);

/// The fits, and for each kind of `known` without one the constants of its nearest relative among them: what a kind
/// that nobody measured would get. Adapters are like InfiniBand's, NVLinks like another board's.
std::vector<LinkFit> with_relatives(std::vector<LinkFit> fits, const std::vector<LinkFit>& known);

/// The node group with the constants of its links' kinds in place of its own.
NodeGroup with_links(NodeGroup group, const std::vector<LinkFit>& fits);

}  // namespace accosim
