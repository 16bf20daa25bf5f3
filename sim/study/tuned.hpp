// Both sides of a comparison as somebody who tunes them would run them: the fastest synchronous schedule, and the
// fastest of the delayed and local ones, each at its best micro-batch.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/draw/looks.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/tuned_rows.hpp"
#include "sim/what_if/what_if.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

/// Adds to the scenario and to `chosen` (indices in scenario.schedules), as the last ones, Tuned::delayed, where one of
/// the chosen schedules is delayed or local, and Tuned::synchronous. The first is not added where it is one of the
/// chosen as it is written: Tuned::delayed then has its place.
///
/// Each is the fastest per sample at the batch that is asked for, on the scenario's own kernels; the other one of the
/// chosen schedules, of which who breaks the `rule` comes after who does not. What is tried, and how: README.md. A form
/// of another framework that is faster than the best synchronous one becomes Tuned::elsewhere.
///
/// Adds nothing where the scenario can run no synchronous schedule. In a table that has both as `columns` at every
/// point the place of a first one that is not added stands in `chosen` once more.
Tuned add_tuned(Scenario& scenario, std::vector<int>& chosen, const Evaluations& evaluations, bool columns = false,
                const WinnerRule& rule = {});

/// Of the best synchronous schedule, `best` of the scenario's, what stands beyond schedules: compiled kernels,
/// FlashAttention, a fused optimizer and overlapped tensor-parallel collectives, as far as they load here, keep it
/// fitting and are noticeably faster. Nothing where none is.
std::optional<Beyond> beyond_schedules(const WhatIf& what_if, std::size_t best);

}  // namespace accosim
