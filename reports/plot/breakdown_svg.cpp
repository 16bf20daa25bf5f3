// Where the time of an update goes, as bars.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/draw/axes.hpp"
#include "reports/human.hpp"
#include "reports/plot/bar_chart.hpp"
#include "reports/plot/pictures.hpp"
#include "reports/plot/timeline_svg.hpp"

namespace accosim {
namespace {

Fill fill_of(TimeUse use) {
  switch (use) {
    case TimeUse::kComputation: return {Hue::kBlue};
    case TimeUse::kOptimizer: return fill_of(Activity::kOptimizer);
    case TimeUse::kCopies: return fill_of(Activity::kCopy);
    case TimeUse::kExposedCommunication: return fill_of(Activity::kExposedCommunication);
    case TimeUse::kWaiting: return fill_of(Activity::kWaiting);
    case TimeUse::kPauses: return fill_of(Activity::kPause);
    case TimeUse::kHost: break;
  }
  return fill_of(Activity::kHost);
}

bool has_grown(const UpdateBreakdown& breakdown) { return std::abs(breakdown.batch_inflation - 1) > 5e-3; }

/// For as many samples as are asked of an update: else a schedule whose batch grows looks slow.
Bar bar_of(const UpdateBreakdown& breakdown) {
  Bar bar;
  bar.name = breakdown.label;
  const double share = has_grown(breakdown) ? 1 / breakdown.batch_inflation : 1;
  if (has_grown(breakdown)) bar.detail = human_factor(breakdown.batch_inflation) + " the batch";
  for (int i = 0; i < kTimeUses; ++i) {
    const auto use = static_cast<TimeUse>(i);
    const Seconds time = share * breakdown.parts[static_cast<std::size_t>(i)];
    constexpr double kNothing = 1e-6;  // of the update: what rounding leaves
    if (time > kNothing * share * breakdown.update_time)
      bar.parts.push_back({name_of(use), time.value, human_time(time), "", fill_of(use)});
  }
  bar.total = fmt::format("{} ({})", human_time(share * breakdown.update_time),
                          human_range(human_time(share * breakdown.low), human_time(share * breakdown.high)));
  bar.low = share * breakdown.low.value;
  bar.high = share * breakdown.high.value;
  return bar;
}

}  // namespace

std::string breakdown_svg(const PlotHeading& heading, const std::vector<UpdateBreakdown>& breakdowns,
                          const PlotStyle& style) {
  BarChart chart;
  chart.heading = heading;
  Seconds longest;
  for (const UpdateBreakdown& breakdown : breakdowns) {
    const Bar& bar = chart.bars.emplace_back(bar_of(breakdown));
    longest = std::max({longest, Seconds{bar.high}, has_grown(breakdown) ? Seconds{} : breakdown.update_time});
  }
  for (int i = 0; i < kTimeUses; ++i) {
    const std::string name = name_of(static_cast<TimeUse>(i));
    const bool there = std::any_of(chart.bars.begin(), chart.bars.end(), [&](const Bar& bar) {
      return std::any_of(bar.parts.begin(), bar.parts.end(), [&](const BarPart& part) { return part.name == name; });
    });
    if (there) chart.legend.push_back({name, fill_of(static_cast<TimeUse>(i)), LegendEntry::Shape::kBox});
  }
  chart.legend.push_back({"80 % interval", {}, LegendEntry::Shape::kWhisker});
  const TimeUnit unit = time_unit(longest);
  chart.unit = unit.size.value;
  const bool grown = std::any_of(breakdowns.begin(), breakdowns.end(), has_grown);
  chart.axis = fmt::format("time {}, mean of the ranks ({})",
                           grown ? "for the samples that are asked of an update" : "of an update", unit.name);
  return bar_chart_svg(chart, style);
}

}  // namespace accosim
