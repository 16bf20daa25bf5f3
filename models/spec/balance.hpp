// Whether every GPU does the work that is written for it, or as much as its speed allows.
#pragma once

#include <cstdint>

#include "models/base/names.hpp"

namespace accosim {

/// kSpeed: numbers and sizes of micro-batches are chosen so that no GPU waits. kCounts: their numbers are, and their
/// sizes only where numbers alone leave the GPUs uneven, and then never larger than they are written.
enum class Balance : std::uint8_t { kNone, kSpeed, kCounts };
template <>
inline constexpr const char* kNames<Balance>[] = {"none", "speed", "counts"};

}  // namespace accosim
