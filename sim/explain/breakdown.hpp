// What the time of an update is spent on, on the average of all ranks: parts that add up to the update.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Where several go on at once, the first of them counts.
enum class TimeUse : std::uint8_t {
  kComputation,  ///< forward and backward
  kOptimizer,
  kCopies,
  kHost,                  ///< waits for its launches
  kExposedCommunication,  ///< as RunResult::exposed_communication
  kBubble,                ///< of a pipeline: idle while the flight of its replica lasts (PipelineTime)
  kWaiting,               ///< for other ranks: the rest of the time in which a GPU is idle
  kPauses,
};
template <>
inline constexpr const char* kNames<TimeUse>[] = {
    "forward and backward",    "optimizer", "copies", "host", "exposed communication", "pipeline bubble",
    "waiting for other ranks", "pauses"};
inline constexpr int kTimeUses = std::size(kNames<TimeUse>);

struct UpdateBreakdown {
  std::string label;
  Seconds update_time, low{}, high{};  ///< with its 80 % interval
  double batch_inflation = 1;
  std::array<Seconds, kTimeUses> parts{};  ///< by TimeUse; they add up to update_time
};

/// Of one play. `result` is of the same schedule.
UpdateBreakdown breakdown_of(const SteadyPlay& play, const RunResult& result);

/// Of each result's schedule, played once more. `indices` say which of the scenario's schedules they are.
std::vector<UpdateBreakdown> breakdowns_of(const Scenario& scenario, const std::vector<int>& indices,
                                           const std::vector<RunResult>& results, const Evaluations& evaluations);

}  // namespace accosim
