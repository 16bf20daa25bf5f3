// What the classes of ops are called in files that other programs draw.
#pragma once

#include "models/base/names.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

template <>
inline constexpr const char* kNames<OpClass>[] = {"forward", "backward", "optimizer", "copy",    "communication",
                                                  "offload", "host",     "pause",     "counted", "mark"};

}  // namespace accosim
