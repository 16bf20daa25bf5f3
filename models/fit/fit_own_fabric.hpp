// Fits a user's own links: few of the numbers that a shipped kind has, from where the kind's stand, with what the
// samples tell of each and what they cannot. So one sample tells something, and what it does not tell stays the kind's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fit/fit_collectives.hpp"

namespace accosim {

/// One of them, with its 80 % interval.
struct FittedNumber {
  std::string key;                      ///< as "nics" or "intra" has it
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
  LinkFit fit;  ///< its spreads are of these samples, where these are ten, and grow beyond their nodes
  /// Links inside nodes, with the share of PCIe and the crowding that samples between nodes show, where none is of one
  /// node.
  std::optional<LinkFit> inside{};
  std::vector<FittedNumber> numbers;
  std::vector<std::string> untold;  ///< what the samples cannot tell, or not tell apart, in words
  std::vector<Extrapolated> beyond{};
};

/// Of each kind of NICs with samples between nodes, in the order of the kinds' names: share of the wire, latency, cost
/// of a message and what the host copies; over PCIe also its share and how GPUs crowd there, where no sample is of one
/// node. Otherwise the links inside nodes are as the clusters have them.
std::vector<OwnFabric> fit_own_fabrics(const std::vector<MeasuredCollective>& samples);

/// Of each kind of links inside nodes with samples on one node, but too few for fit_collectives().
std::vector<OwnFabric> fit_own_boards(const std::vector<MeasuredCollective>& samples);

}  // namespace accosim
