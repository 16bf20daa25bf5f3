// accocal speaks accosim's language: units, text, JSON and errors (models/base), and the lists that both programs read
// (models/spec), go by their plain names here. What accocal itself declares comes before them.
#pragma once

#include "models/base/names.hpp"

namespace accocal {
using namespace accosim;
using accosim::name_of;  // beside those of accocal's own
}  // namespace accocal
