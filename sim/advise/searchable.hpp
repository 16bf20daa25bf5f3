// Which candidates there are for a scenario: the schedules in the forms that it writes and the others in their usual
// one, and for each the options that can change its time or its memory without changing what an update computes.
#pragma once

#include <string>
#include <vector>

#include "models/read/load.hpp"
#include "sim/advise/candidates.hpp"
#include "sim/knobs/knob_table.hpp"
#include "sim/sweep/space.hpp"

namespace accosim {

/// What is searched, and what was left out of it with the reason.
struct Searchable {
  CandidateSpace space;
  std::vector<std::string> left_out;  ///< "ddp with overlap backward: ...", one a line
};

/// What is varied in place of all that could be: an axis, or a knob of the table.
struct Varied {
  Axis axis;
  const KnobRow* knob = nullptr;  ///< then there is no axis
};

/// Of a loaded scenario. `asked`: labels or names, those of the program included; empty: those of the scenario, and
/// all others whose replicas do not drift apart. With `over`, that alone is varied, and schedules are those of the
/// scenario as they are written, each alone. `nodes`: fewer of them are tried too. `fits`: the model does, as one of
/// the schedules is written; where it does not, or the GPUs are more than a node's, it is split too. Types of
/// parameters, gradients and states that nobody wrote are everywhere those of the first delayed or local schedule.
/// Throws ScenarioError where a schedule is not known.
Searchable candidates_for(const LoadedScenario& loaded, const std::vector<std::string>& asked,
                          const std::vector<Varied>& over, bool nodes, bool fits = true);

}  // namespace accosim
