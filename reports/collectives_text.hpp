// What collectives cost and why, as tables.
#pragma once

#include <iosfwd>
#include <vector>

#include "models/spec/cluster.hpp"
#include "reports/table.hpp"
#include "sim/explain/explanation.hpp"

namespace accosim {

/// A table of the collectives of an update: how NCCL does each, and which term its time goes into most. Nothing of
/// none.
void write_collectives(std::ostream& out, const std::vector<CollectiveRow>& rows, const ConsoleOptions& options);

/// A Markdown page: a table for each collective and size, a row for each number of nodes, the share of each term. Rows
/// that take longer than a larger message are marked, and a sentence below says how NCCL does the two.
void write_growth(std::ostream& out, const Cluster& cluster, const std::vector<CollectiveRow>& rows);

}  // namespace accosim
