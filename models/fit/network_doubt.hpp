// What measured collectives say against the links that they ran on. A fit finds numbers for whatever was measured; that
// it was measured on links that are set up wrongly, only what is usual of their kind can tell.
#pragma once

#include <string>
#include <vector>

#include "models/fit/link_samples.hpp"

namespace accosim {

/// So many times as long as is usual, from 1 MiB and below. Published tables of networks that work lie within these.
inline constexpr double kLargeTooSlow = 2, kSmallTooSlow = 3;

/// A size that takes much longer than the constants of the kind predict.
struct SlowCollective {
  MeasuredCollective measured;
  Seconds usual;               ///< with the kind's own constants
  BytesPerSecond bus{}, of{};  ///< bus bandwidth, and what the links of one rank's part have; 0: of small ones not said
};

/// Of the samples between nodes of one kind of NICs, or inside nodes of one kind of links.
struct NetworkDoubt {
  std::string kind;
  std::string in_short{};              ///< one line, for the file that is written and for whoever uses it
  std::vector<SlowCollective> slow{};  ///< by size
  std::string look_at{};
};

/// Of the samples as they were read. Large messages are doubted where they take twice as long as is usual, small ones
/// where they take three times as long, in the mean of a kind's.
std::vector<NetworkDoubt> doubts_of(const std::vector<MeasuredCollective>& samples);

/// Of what was fitted: errors that say that such numbers do not make these times; empty where they do. One line each.
std::vector<std::string> unexplained(const std::vector<LinkFit>& fits);

}  // namespace accosim
