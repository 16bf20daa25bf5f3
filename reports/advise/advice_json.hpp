// An advice for other programs: schema accosim.advice/1, all figures in SI units. Its keys only ever grow.
#pragma once

#include <iosfwd>

#include "sim/advise/answer.hpp"

namespace accosim {

void write_advice_json(std::ostream& out, const Answer& answer);

}  // namespace accosim
