// What the verb `explain` says: where the time of one update goes, what collectives cost and why, and those that were
// played message by message.
#pragma once

#include <iosfwd>
#include <vector>

#include "models/base/json.hpp"
#include "models/spec/cluster.hpp"
#include "reports/table.hpp"
#include "sim/explain/by_message.hpp"
#include "sim/explain/explanation.hpp"

namespace accosim {

/// Of each schedule the causes of the update's time with their shares, what interference costs, and the critical path
/// step by step, steps that repeat once; then the operators of a micro-batch, once for all schedules that have the
/// same.
void write_explanations(std::ostream& out, const std::vector<Explanation>& explanations, const ConsoleOptions& options);
/// Schema accosim.explanation/1: "schedules", each with its "label", the "update_time_s" that is explained, its
/// "causes" and "path", and of a model that is split over ranks its "split". Times in seconds; what is not known is
/// null.
JsonValue explanations_json(const std::vector<Explanation>& explanations);

/// A table of the collectives of an update: how NCCL does each, and which term its time goes into most. Nothing of
/// none.
void write_collectives(std::ostream& out, const std::vector<CollectiveRow>& rows, const ConsoleOptions& options);
/// A Markdown page: a table for each collective and size, a row for each number of nodes, the share of each term. Rows
/// that take longer than a larger message are marked, and a sentence below says how NCCL does the two.
void write_growth(std::ostream& out, const Cluster& cluster, const std::vector<CollectiveRow>& rows);

void write_by_message(std::ostream& out, const CollectivesByMessage& result, const ConsoleOptions& options);
/// One document, schema accosim.messages/1, in SI units.
void write_by_message_json(std::ostream& out, const std::vector<CollectivesByMessage>& results);

}  // namespace accosim
