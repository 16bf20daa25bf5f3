// What -v prints: where the program's own time and memory went.
#pragma once

#include <iosfwd>

#include "models/base/stages.hpp"
#include "reports/table.hpp"

namespace accosim {

/// A row a stage, and what was counted; nothing where no stage was watched.
void write_stages(std::ostream& out, const StagesUsed& used, const ConsoleOptions& options);

}  // namespace accosim
