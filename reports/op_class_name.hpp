// What the classes of ops are called in files that other programs draw.
#pragma once

#include "sim/graph/graph.hpp"

namespace accosim {

/// "forward", "communication".
const char* name_of(OpClass cls);

}  // namespace accosim
