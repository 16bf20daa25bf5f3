// What stands between two schedules is often less than what faster kernels would bring: the settings beyond schedules
// that whoever may change them would change.
#pragma once

#include <optional>

#include "models/spec/scenario.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// Of the best synchronous schedule: compiled kernels, FlashAttention, a fused optimizer and overlapped tensor-parallel
/// collectives, as far as they load here, keep it fitting and are noticeably faster. Nothing where none is, or where there is no such schedule.
std::optional<Beyond> beyond_schedules(const WhatIf& what_if);

}  // namespace accosim
