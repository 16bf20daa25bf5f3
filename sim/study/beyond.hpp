// What stands between two schedules is often less than what faster kernels would bring: the settings beyond schedules
// that whoever may change them would change.
#pragma once

#include <cstddef>
#include <optional>

#include "sim/result/tuned_rows.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// Of the best synchronous schedule, `best` of the scenario's: compiled kernels, FlashAttention, a fused optimizer and
/// overlapped tensor-parallel collectives, as far as they load here, keep it fitting and are noticeably faster. Nothing
/// where none is.
std::optional<Beyond> beyond_schedules(const WhatIf& what_if, std::size_t best);

}  // namespace accosim
