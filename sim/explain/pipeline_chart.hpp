// What the stages of one model replica do during an update, pass by pass, ready to be drawn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/explain/timeline.hpp"

namespace accosim {

/// Times are seconds from the begin of the first stage's update.
struct PipelinePass {
  bool forward = true;
  int chunk = 0;
  /// From 0: of the update, or of the next one, which begins beside it in a pipeline that is not drained.
  int micro_batch = 0;
  double begin = 0, end = 0;
};

struct PipelineRow {
  int stage = 0;
  std::vector<PipelinePass> passes;  ///< in order
  /// What else the stage does or sends, but for messages to its neighbours; part of it may be beside passes.
  std::vector<TimelineSpan> others;
};

struct PipelineChart {
  std::string label;
  Seconds length{};  ///< of the update
  Parallel parallel{};
  /// PipelineTime::bubble over the update; absent where that is (split_costs()).
  std::optional<double> bubble{};
  std::vector<PipelineRow> rows{};  ///< one a stage, of the first rank of each
};

/// Of the play's last steady update. Precondition: the model is split into stages.
PipelineChart pipeline_chart(const ScheduleSpec& spec, const SteadyPlay& play);

/// Of each schedule that `indices` names. Throws BadInput where the model is not split into stages.
std::vector<PipelineChart> pipeline_charts(const Scenario& scenario, const std::vector<int>& indices,
                                           const Evaluations& evaluations);

}  // namespace accosim
