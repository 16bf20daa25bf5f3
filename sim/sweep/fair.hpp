// What a point of a sweep is fairly compared with: the fastest part of its cluster alone. A part comes to the same at
// every point that varies nothing but the others, and is played once for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "models/read/load.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/tuned_rows.hpp"
#include "sim/sweep/rows.hpp"

namespace accosim {

/// A part under the schedule that wins there, held to the usual WinnerRule, or under the nearest to it.
struct PartResult {
  Alone alone;
  Spread spread;
  bool clean = true;  ///< without a caveat
};

/// By what a part is: the resolved scenario without the others, and the samples of an update. Who the others are
/// differs from point to point.
using PartCache = std::map<std::uint64_t, std::optional<PartResult>>;

/// Completes a row of compare()'s `results` of the schedules `indices`. Every part does as many samples an update as
/// the scenario asks of the whole cluster, or the nearest number that it can.
void add_fair(Row& row, const LoadedScenario& loaded, const std::vector<int>& indices,
              const std::vector<RunResult>& results, const Tuned& tuned, const Evaluations& evaluations,
              PartCache& cache);

}  // namespace accosim
