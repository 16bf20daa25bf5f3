#include "reports/plot/figures_csv.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace accosim {
namespace {

/// A line; what is not there is empty.
template <class... Cells>
std::string line_of(const Cells&... cells) {
  std::string line;
  const auto add = [&](const auto& cell) {
    if constexpr (requires { cell.has_value(); })
      line += (cell ? fmt::format("{}", *cell) : "") + ",";
    else
      line += in_csv(fmt::format("{}", cell)) + ",";
  };
  (add(cells), ...);
  line.back() = '\n';
  return line;
}

}  // namespace

std::string in_csv(std::string text) {
  const bool formula = !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
  const std::optional<LeadingNumber> number = leading_number(text);
  if (formula && !(number && number->rest.empty())) text.insert(0, "'");
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string timeline_csv(const TimelinePicture& picture) {
  std::string csv = "schedule,rank,ranks_alike,device,lane,activity,label,operations,begin_s,end_s\n";
  for (const ScheduleTimeline& timeline : picture.timelines)
    for (const TimelineRank& rank : timeline.ranks)
      for (const TimelineLane& lane : rank.lanes)
        for (const TimelineSpan& span : lane.spans)
          csv += line_of(timeline.label, rank.rank, rank.alike, rank.device, lane.name, name_of(span.activity),
                         timeline.labels[span.label], span.count, span.begin, span.end);
  return csv;
}

std::string breakdown_csv(const std::vector<UpdateBreakdown>& breakdowns) {
  std::string csv = "schedule,batch_inflation,update_time_s,update_time_s_low,update_time_s_high,part,part_s\n";
  for (const UpdateBreakdown& each : breakdowns)
    for (std::size_t use = 0; use < each.parts.size(); ++use)
      csv += line_of(each.label, each.batch_inflation, each.update_time.value, each.low.value, each.high.value,
                     name_of(static_cast<TimeUse>(use)), each.parts[use].value);
  return csv;
}

std::string memory_csv(const std::vector<MemoryBar>& bars) {
  std::string csv = "schedule,device,ranks,resident_bytes_low,resident_bytes_high,capacity_bytes,fit,part,part_bytes\n";
  for (const MemoryBar& bar : bars)
    for (const MemoryPart& part : bar.parts.parts)
      csv += line_of(bar.label, bar.device, bar.ranks, bar.low.value, bar.high.value, bar.capacity.value,
                     name_of(bar.fit.verdict), name_of(part.use), part.bytes.value);
  return csv;
}

std::string pipeline_csv(const std::vector<PipelineChart>& charts) {
  std::string csv = "schedule,bubble,stage,activity,micro_batch,chunk,begin_s,end_s\n";
  for (const PipelineChart& chart : charts)
    for (const PipelineRow& row : chart.rows) {
      for (const PipelinePass& pass : row.passes)
        csv += line_of(chart.label, chart.bubble, row.stage, pass.forward ? "forward" : "backward",
                       pass.micro_batch + 1, pass.chunk + 1, pass.begin, pass.end);
      for (const TimelineSpan& span : row.others)
        csv += line_of(chart.label, chart.bubble, row.stage, name_of(span.activity), "", "", span.begin, span.end);
    }
  return csv;
}

std::string ladder_csv(const Ladder& ladder) {
  std::string csv =
      "schedule_or_change,update_time_s,samples_per_update,speedup,speedup_same_batch,times,times_same_batch,most_same_"
      "batch\n";
  for (const Rung& rung : ladder.rungs)
    csv += line_of(rung.change, rung.update_time.value, rung.samples_per_update, rung.speedup, rung.speedup_same_batch,
                   rung.times, rung.times_same_batch, rung.most_same_batch);
  return csv;
}

std::string curves_csv(const std::vector<CurvePanel>& panels) {
  std::string csv = "schedule,panel,x,y,low,high\n";
  for (const CurvePanel& panel : panels)
    for (const ChartCurve& curve : panel.curves)
      for (std::size_t i = 0; i < curve.points.size(); ++i) {
        const bool ranged = i < curve.low.size();
        csv += line_of(curve.name, panel.title, curve.points[i].x, curve.points[i].y,
                       ranged ? fmt::format("{}", curve.low[i]) : "", ranged ? fmt::format("{}", curve.high[i]) : "");
      }
  return csv;
}

}  // namespace accosim
