// Fits the constants of kinds of links (models/spec/fabrics.hpp) to measured collectives, on the log of predicted over
// measured time: first links inside nodes, from collectives on one node; then links between nodes, with the former
// fixed.
#pragma once

#include <string>
#include <vector>

#include "models/fit/fit_kernels.hpp"
#include "models/fit/link_samples.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// What is fitted, by the keys of constants.json.
struct BoardNumbers {
  std::vector<std::string> own;     ///< of a board with such links
  std::vector<std::string> shared;  ///< by all boards
};
BoardNumbers board_numbers(const std::string& intra_kind);

/// What becomes of the boards in constants() without enough samples: they keep their constants, or take what all share.
enum class Unmeasured { kKept, kShared };

/// One fit of each board (a kind of links inside nodes and a generation of GPUs) with at least 10 samples on one node,
/// sorted by both, and then of the others where they are not kept: few numbers are a board's own, the rest belongs to
/// all boards and is fitted to all of them together. Then, where there are at least 10 samples between nodes,
/// fit_fabrics() of them. `known`: other fits, which stand and come first. Deterministic.
std::vector<LinkFit> fit_collectives(const std::vector<MeasuredCollective>& samples, std::vector<LinkFit> known = {},
                                     CrossValidation cross = CrossValidation::kYes,
                                     Unmeasured unmeasured = Unmeasured::kKept);

/// The node group with the fits' constants for its kinds of links.
NodeGroup with_links(NodeGroup group, const std::vector<LinkFit>& fits);

}  // namespace accosim
