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

/// One fit for each kind of links inside nodes and generation of GPUs with at least 10 samples, sorted by name; others
/// keep their usual constants. Then, where there are at least 10 samples between nodes, fit_fabrics() of them. `known`:
/// fits of other kinds, which stand and come first. Deterministic.
std::vector<LinkFit> fit_collectives(const std::vector<MeasuredCollective>& samples, std::vector<LinkFit> known = {},
                                     CrossValidation cross = CrossValidation::kYes);

/// The fits and, for each board in `known` without one, a copy of its nearest relative's: what a board that nobody
/// measured would get, with the spread of such a one where its own is smaller: the same kind with the nearest
/// generation, else another NVLink board. Links between nodes have a prior for that.
std::vector<LinkFit> with_relatives(std::vector<LinkFit> fits, const std::vector<LinkFit>& known);

/// The node group with the fits' constants for its kinds of links.
NodeGroup with_links(NodeGroup group, const std::vector<LinkFit>& fits);

}  // namespace accosim
