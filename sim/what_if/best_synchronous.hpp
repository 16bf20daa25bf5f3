// What a delayed or local schedule is held against besides the baseline that the scenario writes: the fastest
// synchronous schedule that somebody who tunes it would run, whatever framework has it.
#pragma once

#include <vector>

#include "models/spec/scenario.hpp"
#include "sim/evaluation/evaluation.hpp"

namespace accosim {

/// What the labels of such schedules begin with, and how it is called where several points may have different ones.
inline constexpr const char* kBestSynchronous = "best synchronous";

/// Where one of the chosen schedules is delayed or local, adds the best synchronous one to the scenario, as
/// Scenario::best_synchronous, and to `chosen` (indices in scenario.schedules). It is the fastest per sample, at the
/// batch that is asked for, of the scenario's own synchronous schedules and of the TunedForms of all, with the dtypes
/// of its first delayed or local schedule; on unlike GPUs each with its work divided by speed. The forms are ranked on
/// the contention-free network without what is drawn; the first of them and the scenario's own are played. Those that
/// fit with WinnerRule's probability come first; where none does, the one that is likeliest to fit is taken. Adds
/// nothing where the scenario can run none, and nothing twice.
void add_best_synchronous(Scenario& scenario, std::vector<int>& chosen, const Evaluations& evaluations);

}  // namespace accosim
