// Post-local SGD (arXiv 1808.07217): a training's first updates are synchronous, the later ones those of replicas by
// themselves. Each phase is played by itself; figures are the means over the updates of the whole training.
#pragma once

#include <optional>

#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"

namespace accosim {

struct Phases {
  ScheduleSpec first, later;
  double share = 0;  ///< of the first phase in the updates of the training
};

/// Absent where there is one phase. The first is DDP as the training's framework has it, in the same dtypes; a training
/// has as many updates as its tokens fill at the samples that are asked for.
std::optional<Phases> phases_of(const Scenario& scenario, const ScheduleSpec& spec);

}  // namespace accosim
