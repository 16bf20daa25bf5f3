// Runs of this machine beside what was predicted of them, for a terminal and as the committed page.
#pragma once

#include <vector>

#include "models/recorded/measured_run.hpp"
#include "reports/document.hpp"
#include "sim/evidence/live.hpp"
#include "sim/evidence/measured_timeline.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// reports/published/live.md, and the same on a terminal.
Document live_reading(const LiveResult& result);

/// One measured run beside its prediction, as a whole and part by part.
Document run_reading(const MeasuredRun& run, const RunResult& predicted, const std::vector<TimelinePart>& parts);

/// What `--check` judges: the runs that count and were not disturbed, since a busy machine's times say nothing of a
/// prediction.
struct LiveCheck {
  double worst_mean = 0;  ///< the largest of their means by algorithm, number of ranks and the like; 0 without one
  int judged = 0, disturbed = 0;  ///< runs that count
};
LiveCheck live_check(const LiveResult& result);

}  // namespace accosim
