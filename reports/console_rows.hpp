// What the verbs `compare` and `run` say alike: what was simulated, rows of equal ranks, warnings with their advice.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "reports/answer.hpp"
#include "reports/document.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// What was simulated: model, cluster, tokens an update and in all, baseline.
struct ScenarioFact {
  const char* name;
  std::string text;
};
std::vector<ScenarioFact> scenario_facts(const Scenario& scenario);

/// The answer to what was asked, and the facts, a line each: what both begin with.
Document beginning_of(const Scenario& scenario, const Comparison& comparison);
/// A fact, or what stands below the facts as one.
void add_fact(Document& document, const std::string& name, const std::string& text, Above above = Above::kNothing);

void add_warnings(Document& document, const std::vector<Warning>& warnings, const std::string& indent, Above above);

/// Warnings of several schedules, each said once: for whom it holds, and where they differ in figures alone with the
/// range of these.
struct WarningGroup {
  std::vector<std::size_t> results;  ///< that have all of these
  std::vector<Warning> warnings;     ///< "52 to 54 % of the compute time ..."
};
/// What holds for most first, and else in their order.
std::vector<WarningGroup> warning_groups(const std::vector<RunResult>& results);

/// Behind a figure of memory: nothing, " tight" or " OOM"; and how it is shown.
std::string verdict_mark(FitVerdict verdict);
Style style_of(FitVerdict verdict);

/// What each kind of rank holds, and how likely that fits; nothing where all hold the same.
void add_memory_by_kind(Document& document, const RunResult& result);

/// Ranks that one row stands for.
struct RankRow {
  std::string device;
  int ranks = 0;
  int first = 0, last = 0;
  double per_round = 0, per_update = 0, idle = 0;  // sums over the ranks
  std::int64_t least = 0, most = 0;
  std::vector<int> stages{};  // of a pipeline, ascending
};

/// Merges ranks, in their order, into the first row (of the last `reach`) that `same` says they belong to.
std::vector<RankRow> merge_ranks(const Scenario& scenario, const RunResult& result, std::size_t reach,
                                 const std::function<bool(const RankRow&, const RankRow&)>& same);

/// A mean that shows as a whole number when it is one.
std::string mean_of(double sum, int count);

/// Of each row who it stands for, under `head`, the device, micro-batches a round and an update, and idle time.
Table rank_table(const char* head, const std::vector<RankRow>& rows,
                 const std::function<std::string(const RankRow&)>& name_of);

}  // namespace accosim
