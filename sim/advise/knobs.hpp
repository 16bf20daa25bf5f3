// Which candidates there are for a scenario: the schedules in the forms that it writes and the others in their usual
// one, and for each the options that can change its time or its memory without changing what an update computes.
#pragma once

#include <string>
#include <vector>

#include "models/read/load.hpp"
#include "sim/advise/candidates.hpp"
#include "sim/sweep/space.hpp"

namespace accosim {

/// What is searched, and what was left out of it with the reason.
struct Searchable {
  CandidateSpace space;
  std::vector<std::string> left_out;  ///< "ddp with overlap backward: ...", one a line
};

/// Of a loaded scenario. `asked`: labels or names, those of the program included; empty: those of the scenario, and
/// all others whose replicas do not drift apart. With `over`, these axes alone are varied, and schedules are those
/// of the scenario as they are written. Throws ScenarioError where a schedule is not known.
Searchable candidates_for(const LoadedScenario& loaded, const std::vector<std::string>& asked,
                          const std::vector<Axis>& over);

/// Micro-batches and accumulation that keep the samples of an update: powers of two times what is written and, where
/// GPUs differ, the work divided by their speed. The first is what is written.
Knob work_knob(const LoadedScenario& loaded);
/// The same with an update begun with fewer micro-batches, for schedules whose ranks go on while they wait and so come
/// to more; only where ranks differ.
void add_smaller_work(Knob& work, const LoadedScenario& loaded);

/// The origin of a value, as "origins" of a resolved scenario has it, is a file or --set, and no default.
bool is_written(const std::string& origin);

}  // namespace accosim
