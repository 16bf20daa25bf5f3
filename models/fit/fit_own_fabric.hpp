// Fits a user's own fabric: the same four numbers that a shipped kind has, from where the kind's stand, with what the
// samples tell of each and what they cannot.
#pragma once

#include <string>
#include <vector>

#include "models/fit/fit_collectives.hpp"

namespace accosim {

/// One of the four, with its 80 % interval.
struct FittedNumber {
  std::string key;                      ///< as "nics" has it
  std::string unit;                     ///< "us", "GB/s" or none
  double value = 0, low = 0, high = 0;  ///< in that unit
  double told = 0;  ///< share of what was unknown before that the samples tell: 1 - variance after / variance before
};

/// What a collective is expected to take on more nodes than were measured.
struct Extrapolated {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;
  int nodes = 1;
  Seconds time, low, high;  ///< low to high holds 80 %
};

struct OwnFabric {
  LinkFit fit;  ///< its spreads are of these samples, and grow beyond their nodes
  std::vector<FittedNumber> numbers;
  std::vector<std::string> untold;  ///< what the samples cannot tell, or not tell apart, in words
  std::vector<Extrapolated> beyond;
};

/// Of each kind of adapters with at least 10 samples between nodes, in the order of the kinds' names. `samples` on one
/// node are left out; the links inside nodes are as the clusters have them.
std::vector<OwnFabric> fit_own_fabrics(const std::vector<MeasuredCollective>& samples);

}  // namespace accosim
