// Stages on unlike devices have as many blocks as these are fast, so that none waits for the slowest.
#pragma once

#include <vector>

#include "models/base/units.hpp"

namespace accosim {

/// What a stage takes for a micro-batch: each of its blocks, and what it does besides.
struct StagePace {
  Seconds block, besides;
};

/// Blocks of every chunk, in the order in which a micro-batch passes them: block after block goes to the stage that
/// then takes the least for a micro-batch, which gives the slowest stage the least that it can take. A stage's are
/// shared evenly among its chunks, each of which has one. Precondition: as many blocks as chunks on all stages, or
/// more.
std::vector<int> blocks_by_speed(const std::vector<StagePace>& stages, int blocks, int chunks);

}  // namespace accosim
