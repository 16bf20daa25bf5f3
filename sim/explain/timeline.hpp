// What a stretch of the steady state looks like in time, ready to be drawn: of each rank that differs from others, what
// its lanes do, which communication nothing hides, and where the critical path runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/evaluation/stretches.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// What a lane is doing.
enum class Activity : std::uint8_t {
  kForward,
  kBackward,
  kOptimizer,
  kCopy,
  kHost,
  kHiddenCommunication,   ///< while the rank computes
  kExposedCommunication,  ///< while it does not, as RunResult::exposed_communication
  kWaiting,               ///< for the other ranks of a collective
  kPause,
  kCounted,  ///< repetitions of a loop that are equal to the one before and are not played
};
template <>
inline constexpr const char* kNames<Activity>[] = {"forward",
                                                   "backward",
                                                   "optimizer",
                                                   "copies",
                                                   "host",
                                                   "hidden communication",
                                                   "exposed communication",
                                                   "waiting for other ranks",
                                                   "pause",
                                                   "as before, counted and not played"};
inline constexpr int kActivities = std::size(kNames<Activity>);

/// Communication is hidden until more is known.
Activity activity_of(OpClass cls);

/// Times are seconds from the begin of the picture.
struct TimelineSpan {
  Activity activity = Activity::kForward;
  std::uint16_t label = 0;  ///< index in ScheduleTimeline::labels
  double begin = 0, end = 0;
  std::int64_t count = 1;  ///< repetitions that are drawn as one, where there are too many
};

struct TimelineLane {
  std::string name;
  std::vector<TimelineSpan> spans;  ///< in order
  Stretches critical;               ///< what of them the critical path goes through
};

struct TimelineRank {
  int rank = 0;   ///< the first of those that look the same
  int alike = 1;  ///< how many do
  std::string device;
  int node = 0;
  std::vector<TimelineLane> lanes;  ///< those in which something happens
  std::vector<double> rounds;       ///< where one ends; an update's end is not among them
  std::vector<double> updates;  ///< where one ends, or with DiLoCo and local SGD so many as it does between exchanges
};

struct ScheduleTimeline {
  std::string label;
  Seconds length;            ///< of the picture
  int updates_per_mark = 1;  ///< EventGraph's
  bool cut = false;          ///< the steady period is longer: these are its last updates
  bool drawn = false;        ///< micro-batches are drawn, so other updates look different
  std::vector<std::string> labels{};
  std::vector<TimelineRank> ranks{};  ///< in order of their ranks
  int left_out = 0;                   ///< ranks that look different from all of these
};

struct TimelineOptions {
  int updates = 0;         ///< 0: one steady period
  Seconds longest{1e300};  ///< without `updates`: of a longer period only so much, its end
  int ranks = 6;           ///< at most so many that differ: those on the critical path for longest
};

/// The end of the play's steady part.
ScheduleTimeline timeline_of(const ScheduleSpec& spec, const SteadyPlay& play, const TimelineOptions& options);

/// A timeline of each result's schedule, played once more. `indices` say which of the scenario's schedules they are.
/// Without a number of updates the longest is not much longer than an update of the slowest schedule.
std::vector<ScheduleTimeline> timelines_of(const Scenario& scenario, const std::vector<int>& indices,
                                           const std::vector<RunResult>& results, TimelineOptions options,
                                           const Evaluations& evaluations);

/// The spans of a lane with those shorter than `least` made one with their neighbours, until that is `least` long: what
/// a picture shows of them. The one that lasts longest names it; `count` says how many.
std::vector<TimelineSpan> aggregated(const std::vector<TimelineSpan>& spans, double least);

}  // namespace accosim
