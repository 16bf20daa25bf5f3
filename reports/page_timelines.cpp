// Spans as numbers: a hundred thousand of them in a megabyte and a half.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <ostream>
#include <string>

#include "models/base/json.hpp"
#include "reports/op_class_name.hpp"
#include "reports/page.hpp"

namespace accosim {
namespace {

constexpr const char* kWait = "wait for ranks";

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value * 1e9); }

using Lanes = std::map<int, std::vector<const Span*>>;  // of a rank, each in order

std::map<int, Lanes> lanes_of(const Timeline& timeline) {
  std::map<int, Lanes> ranks;
  for (const Span& span : timeline.spans) ranks[span.rank][span.lane].push_back(&span);
  for (auto& [rank, lanes] : ranks)
    for (auto& [lane, spans] : lanes)
      std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) { return a->begin < b->begin; });
  return ranks;
}

/// [gap, duration, label, ...]; what a rank waited at a collective is a span of its own, of the label `wait`.
void write_spans(std::ostream& out, const std::vector<const Span*>& spans, std::size_t wait) {
  std::string text = "[";
  std::int64_t last = 0;
  const auto add = [&](std::int64_t begin, std::int64_t end, std::size_t label) {
    if (text.size() > 1) begin = std::max(begin, last);  // the first may begin before 0
    end = std::max(begin, end);
    fmt::format_to(std::back_inserter(text), "{}{},{},{}", text.size() > 1 ? "," : "", begin - last, end - begin,
                   label);
    last = end;
  };
  for (const Span* span : spans) {
    if (span->rendezvous >= 0 && nanoseconds(span->arrived) < nanoseconds(span->begin))
      add(nanoseconds(span->arrived), nanoseconds(span->begin), wait);
    add(nanoseconds(span->begin), nanoseconds(span->end), span->label);
  }
  out << text << ']';
}

void write_row(std::ostream& out, const PageTimeline& one, const PageRow& row, const Lanes& lanes) {
  const EventGraph& graph = one.timeline.graph;
  const auto& program = graph.programs[graph.ranks[row.rank].program];
  out << "{\"name\":" << quoted_json(row.name) << ",\"lanes\":[";
  const char* separator = "";
  for (const auto& [lane, spans] : lanes) {
    const auto at = static_cast<std::size_t>(lane);
    const std::string name = at < program.lane_names.size() ? program.lane_names[at] : fmt::format("lane {}", lane);
    out << separator << "\n{\"name\":" << quoted_json(name) << ",\"spans\":";
    write_spans(out, spans, graph.labels.size());
    out << '}';
    separator = ",";
  }
  out << "]}";
}

void write_timeline(std::ostream& out, const PageTimeline& one) {
  const EventGraph& graph = one.timeline.graph;
  out << "{\"label\":" << quoted_json(one.label) << ",\"measured\":" << (one.measured ? "true" : "false")
      << ",\"left_out\":" << one.timeline.left_out
      << (graph.updates_per_mark > 1 ? fmt::format(",\"updates_per_mark\":{}", graph.updates_per_mark) : "")
      << ",\"labels\":[";
  for (const Label& label : graph.labels)
    out << "{\"name\":" << quoted_json(label.name) << ",\"class\":\"" << name_of(label.cls) << "\"},";
  out << "{\"name\":\"" << kWait << "\",\"class\":\"wait\"}],\"marks\":[";
  const char* separator = "";
  for (const auto& [mark, time] : one.timeline.marks) {
    out << separator << fmt::format("[{},{}]", nanoseconds(time), mark == Mark::kUpdate ? 1 : 0);
    separator = ",";
  }
  out << "],\"rows\":[";
  const std::map<int, Lanes> ranks = lanes_of(one.timeline);
  separator = "";
  for (const PageRow& row : one.rows) {
    const auto lanes = ranks.find(row.rank);
    if (lanes == ranks.end()) continue;
    out << separator;
    write_row(out, one, row, lanes->second);
    separator = ",";
  }
  out << "]}";
}

}  // namespace

void write_page_timelines(std::ostream& out, const std::vector<PageTimeline>& timelines) {
  out << '[';
  const char* separator = "";
  for (const PageTimeline& timeline : timelines) {
    out << separator;
    write_timeline(out, timeline);
    separator = ",\n";
  }
  out << ']';
}

}  // namespace accosim
