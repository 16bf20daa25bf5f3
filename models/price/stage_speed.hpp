// Stages on unlike devices have as many blocks as these are fast, so that none waits for the slowest.
#pragma once

#include <vector>

#include "models/price/price.hpp"

namespace accosim {

/// Blocks of every chunk, in the order in which a micro-batch passes them: block after block goes to the stage that
/// then takes the least for a micro-batch, which gives the slowest stage the least that it can take. A stage's are
/// shared evenly among its chunks, each of which has one. Of replicas on unlike devices the slowest counts. What a
/// device's memory holds is not asked. Precondition: costs.parallel has as many blocks as chunks, or more.
std::vector<int> blocks_by_speed(const Costs& costs);

}  // namespace accosim
