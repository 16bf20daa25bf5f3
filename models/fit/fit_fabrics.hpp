// Fits the constants of all fabrics together. They have one prior: a kind that one machine measured is drawn to what
// the others have, and a kind that nobody measured takes it.
#pragma once

#include <string>
#include <vector>

#include "models/fit/link_samples.hpp"

namespace accosim {

/// A fit for each of nic_kinds() but accocal's own rings, in its order, to samples between nodes whose inner links are
/// known. Four numbers a kind at the most: share of the wire, latency, cost of a message, and the host's copies where
/// it copies. Each is that of the prior times a deviation of the kind; the prior's own centre is fitted too. Kinds
/// without samples have no sources. Deterministic.
std::vector<LinkFit> fit_fabrics(LinkSamples samples);

/// The numbers that a kind of adapters has of its own, at most four, and those that all kinds share; by their keys.
std::vector<std::string> own_fabric_numbers(const std::string& kind);
std::vector<std::string> shared_fabric_numbers();

/// LinkQuality::growth of a kind: what the model errs by more with each doubling of the nodes, and where switches hash
/// flows to links what their collisions may be more or less than in the mean (contention()): the greatest load of as
/// many flows as links grows by a tenth with each doubling. Both are assumed, not measured.
double growth_beyond(const std::string& kind);

}  // namespace accosim
