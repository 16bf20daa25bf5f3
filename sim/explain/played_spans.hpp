// What is asked of the spans of a play: their ops, when they ended, and which updates they belong to.
#pragma once

#include <vector>

#include "models/spec/trace.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/evaluation/stretches.hpp"

namespace accosim {

/// Of a span that is no counted one.
const Op& op_of(const EventGraph& graph, const Span& span);

/// When the last of its repetitions ended, in seconds.
double end_of(const Span& span);

/// Where each rank of the folded graph ended its updates, in seconds.
std::vector<std::vector<double>> update_ends(const SteadyPlay& play);

/// The last update of each rank of the folded graph.
std::vector<Stretch> last_updates(const SteadyPlay& play);

}  // namespace accosim
