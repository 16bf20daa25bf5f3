// The timeline as a picture: schedules one above the other, aligned in time, a row for each lane of each rank that
// differs from others.
#pragma once

#include <array>
#include <iosfwd>
#include <string>
#include <vector>

#include "reports/plot/plot.hpp"
#include "reports/table.hpp"
#include "sim/explain/timeline.hpp"

namespace accosim {

/// A timeline with what the comparison says of its schedule.
struct TimelinePicture {
  PlotHeading heading;
  std::vector<ScheduleTimeline> timelines{};
  std::vector<RunResult> results{};  ///< of the same schedules
};

/// How a picture fills what a lane does: told apart by colour, and in grey by patterns.
constexpr Fill fill_of(Activity activity) {
  switch (activity) {
    case Activity::kForward: return {Hue::kSky};
    case Activity::kBackward: return {Hue::kBlue};
    case Activity::kOptimizer: return {Hue::kGreen, Pattern::kVertical};
    case Activity::kCopy: return {Hue::kPurple, Pattern::kHorizontal};
    case Activity::kHiddenCommunication: return {Hue::kOrange};
    case Activity::kExposedCommunication: return {Hue::kVermillion, Pattern::kRising};
    case Activity::kWaiting: return {Hue::kPaper, Pattern::kDots};
    case Activity::kPause: return {Hue::kGrey, Pattern::kCross};
    case Activity::kCounted: return {Hue::kPaper, Pattern::kFalling};
    case Activity::kHost: break;
  }
  return {Hue::kGrey};
}

/// By activity, whether any lane does it.
std::array<bool, kActivities> activities_in(const TimelinePicture& picture);
/// The time of the longest schedule; above 0.
Seconds longest_in(const TimelinePicture& picture);

std::string timeline_svg(const TimelinePicture& picture, const PlotStyle& style);
/// On a terminal: a character for each stretch of time, by what lasts longest in it.
void write_timeline(std::ostream& out, const TimelinePicture& picture, const ConsoleOptions& options);

/// "rank 0 and 7 alike, A100-SXM4-80GB", "rank 3, V100, node 1".
std::string rank_in_words(const TimelineRank& rank, int ranks);
/// "2.30 s an update, batch 1.50x".
std::string update_in_words(const RunResult& result);
/// The lines above a schedule, its label and facts, which stand beside it where there is room. Returns where to go on;
/// `draw`: or only that.
double draw_schedule_heading(Svg& svg, const std::string& label, const std::string& facts, double top,
                             bool draw = true);
/// What the line across a rank's lanes says: "an update ends", or of replicas that make updates by themselves so many
/// as they make between two meetings.
std::string mark_in_words(const TimelinePicture& picture);
/// What the picture leaves out; empty: nothing.
std::string left_out_in_words(const ScheduleTimeline& timeline);

}  // namespace accosim
