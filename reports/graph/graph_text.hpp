// The programs of a schedule, as text for a person who asks why it does what it does.
#pragma once

#include <iosfwd>

#include "reports/graph/schedule_graph.hpp"
#include "reports/table.hpp"

namespace accosim {

/// Of each kind of rank what precedes all updates, and the second update, lane by lane: the first may lack waits for
/// the one before.
void write_graph(std::ostream& out, const ScheduleGraph& schedule, const ConsoleOptions& options);

}  // namespace accosim
