// From a scenario to results: prices a schedule, plays it until it is steady, measures it, and compares.
#pragma once

#include <optional>
#include <vector>

#include "models/price/price.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/graph/graph.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/tuned_rows.hpp"

namespace accosim {

/// Seconds per sample of a schedule at `samples` per update. Between two numbers of micro-batches that it can do, the
/// update time is interpolated: it is affine where communication is not hidden. Absent where it cannot do so few: it
/// accumulates more by itself, or ranks do at least one micro-batch each.
std::optional<double> time_per_sample(const Scenario& asked, const ScheduleSpec& asked_spec, double samples,
                                      const Evaluations& evaluations);

/// The same of one of the scenario's schedules, accumulating() them. Of the best synchronous one that of whichever is
/// best at a batch of at most so many samples (Tuned::by_batch), where it is less: no larger batch makes a sample
/// slower.
std::optional<double> time_at_batch(const Scenario& scenario, const ScheduleSpec& spec, double samples,
                                    const Evaluations& evaluations, const Tuned& tuned);

/// Post-local SGD (arXiv 1808.07217): a training's first updates are synchronous, the later ones those of replicas by
/// themselves. Each phase is played by itself; figures are the means over the updates of the whole training.
struct Phases {
  ScheduleSpec first, later;
  double share = 0;  ///< of the first phase in the updates of the training
};

/// Absent where there is one phase. The first is DDP as the training's framework has it, in the same dtypes; a training
/// has as many updates as its tokens fill at the samples that are asked for.
std::optional<Phases> phases_of(const Scenario& scenario, const ScheduleSpec& spec);

/// All metrics of one schedule but those that compare, and its costs. What it advises is for add_advice().
RunResult run_schedule(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations);

/// The schedules of `chosen` (indices in scenario.schedules), compared with the scenario's baseline and, where there is
/// one, with its best synchronous schedule.
std::vector<RunResult> compare(const Scenario& scenario, const std::vector<int>& chosen, const Evaluations& evaluations,
                               const Tuned& tuned = {});

/// `updates` updates of a schedule with every rank by itself, for a trace. Flows that nothing tells apart are one.
EventGraph graph_for_trace(const Scenario& scenario, const ScheduleSpec& spec, int updates);
/// The same at costs that are known, with the pauses of that schedule's result, in the training's order: each when so
/// many updates have ended.
EventGraph graph_for_trace(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps, int updates,
                           const std::vector<PauseCost>& pauses = {});
/// The same with every flow by itself, to ask what each link carries.
EventGraph graph_of_all_flows(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps, int updates,
                              const std::vector<PauseCost>& pauses);

}  // namespace accosim
