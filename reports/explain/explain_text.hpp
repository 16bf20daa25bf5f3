// What the verb `explain` says: where the time of one update goes, and collectives that were played message by message.
#pragma once

#include <iosfwd>
#include <vector>

#include "reports/table.hpp"
#include "sim/explain/by_message.hpp"
#include "sim/explain/explanation.hpp"

namespace accosim {

/// Of each schedule the causes of the update's time with their shares, what interference costs, and the critical path
/// step by step, steps that repeat once; then the operators of a micro-batch, once for all schedules that have the
/// same.
void write_explanations(std::ostream& out, const std::vector<Explanation>& explanations, const ConsoleOptions& options);

void write_by_message(std::ostream& out, const CollectivesByMessage& result, const ConsoleOptions& options);
/// One document, schema accosim.messages/1, in SI units.
void write_by_message_json(std::ostream& out, const std::vector<CollectivesByMessage>& results);

}  // namespace accosim
