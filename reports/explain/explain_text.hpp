// What the verb `explain` says: where the time of one update goes, what collectives cost and why, and those that were
// played message by message.
#pragma once

#include <iosfwd>
#include <vector>

#include "models/base/json.hpp"
#include "reports/document.hpp"
#include "sim/explain/by_message.hpp"
#include "sim/explain/explanation.hpp"

namespace accosim {

/// Of each schedule the causes of the update's time with their shares, what interference costs, and the critical path
/// step by step, steps that repeat once; then the operators of a micro-batch, once for all schedules that have the
/// same.
Document explanations_document(const std::vector<Explanation>& explanations);
/// Schema accosim.explanation/1: "schedules", each with its "label", the "update_time_s" that is explained, its
/// "causes" and "path", and of a model that is split over ranks its "split". Times in seconds; what is not known is
/// null.
JsonValue explanations_json(const std::vector<Explanation>& explanations);

/// A table of the collectives of an update: how NCCL does each, and which term its time goes into most. Nothing of
/// none.
void add_collectives(Document& document, const std::vector<CollectiveRow>& rows);
/// A page: a table for each collective and size, a row for each number of nodes, the share of each term. Rows
/// that take longer than a larger message are marked, and a sentence below says how NCCL does the two.
Document growth_page(const Cluster& cluster, const std::vector<CollectiveRow>& rows);

Document by_message_document(const std::vector<CollectivesByMessage>& results);
/// One document, schema accosim.messages/1, in SI units.
void write_by_message_json(std::ostream& out, const std::vector<CollectivesByMessage>& results);

}  // namespace accosim
