// The timeline on a terminal: a character for each stretch of time, by what lasts longest in it.
#pragma once

#include <iosfwd>

#include "reports/plot/timeline_svg.hpp"
#include "reports/table.hpp"

namespace accosim {

void write_timeline(std::ostream& out, const TimelinePicture& picture, const ConsoleOptions& options);

}  // namespace accosim
