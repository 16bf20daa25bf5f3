// Collectives that were played message by message, as a table and as JSON.
#pragma once

#include <iosfwd>
#include <vector>

#include "reports/table.hpp"
#include "sim/explain/by_message.hpp"

namespace accosim {

void write_by_message(std::ostream& out, const CollectivesByMessage& result, const ConsoleOptions& options);

/// One document, schema accosim.messages/1, in SI units.
void write_by_message_json(std::ostream& out, const std::vector<CollectivesByMessage>& results);

}  // namespace accosim
