// Spans as numbers: a hundred thousand of them in a megabyte and a half. Of pipelines a row a stage, with its passes
// and, between them, what else it does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "reports/op_class_name.hpp"
#include "reports/page.hpp"

namespace accosim {
namespace {

constexpr const char* kWait = "wait for ranks";

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }
std::int64_t nanoseconds(Seconds time) { return nanoseconds(time.value); }

/// `write` of each, with `separator` between two.
template <typename Items, typename Write>
void write_joined(std::ostream& out, const Items& items, const char* separator, const Write& write) {
  const char* before = "";
  for (const auto& item : items) {
    out << before;
    write(item);
    before = separator;
  }
}

/// [gap, duration, label, ...]: none begins before the last one's end, but the first, which may begin before 0.
class SpanNumbers {
 public:
  void add(std::int64_t begin, std::int64_t end, std::size_t label) {
    if (!text_.empty()) begin = std::max(begin, last_);
    end = std::max(begin, end);
    fmt::format_to(std::back_inserter(text_), "{}{},{},{}", text_.empty() ? "" : ",", begin - last_, end - begin,
                   label);
    last_ = end;
  }
  std::string list() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
  std::int64_t last_ = 0;
};

using Lanes = std::map<int, std::vector<const Span*>>;  // of a rank, each in order

std::map<int, Lanes> lanes_of(const Timeline& timeline) {
  std::map<int, Lanes> ranks;
  for (const Span& span : timeline.spans) ranks[span.rank][span.lane].push_back(&span);
  for (auto& [rank, lanes] : ranks)
    for (auto& [lane, spans] : lanes)
      std::ranges::stable_sort(spans, [](const Span* a, const Span* b) { return a->begin < b->begin; });
  return ranks;
}

/// What a rank waited at a collective is a span of its own, of the label `wait`.
std::string spans_of(const std::vector<const Span*>& spans, std::size_t wait) {
  SpanNumbers numbers;
  for (const Span* span : spans) {
    if (span->rendezvous >= 0 && nanoseconds(span->arrived) < nanoseconds(span->begin))
      numbers.add(nanoseconds(span->arrived), nanoseconds(span->begin), wait);
    numbers.add(nanoseconds(span->begin), nanoseconds(span->end), span->label);
  }
  return numbers.list();
}

void write_row(std::ostream& out, const PageTimeline& one, const PageRow& row, const Lanes& lanes) {
  const EventGraph& graph = one.timeline.graph;
  const auto& program = graph.programs[graph.ranks[row.rank].program];
  out << "{\"name\":" << quoted_json(row.name) << ",\"lanes\":[";
  write_joined(out, lanes, ",", [&](const auto& each) {
    const auto at = static_cast<std::size_t>(each.first);
    const std::string name =
        at < program.lane_names.size() ? program.lane_names[at] : fmt::format("lane {}", each.first);
    out << "\n{\"name\":" << quoted_json(name) << ",\"spans\":" << spans_of(each.second, graph.labels.size()) << '}';
  });
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
  write_joined(out, one.timeline.marks, ",", [&](const auto& each) {
    out << fmt::format("[{},{}]", nanoseconds(each.second), each.first == Mark::kUpdate ? 1 : 0);
  });
  out << "],\"rows\":[";
  const std::map<int, Lanes> ranks = lanes_of(one.timeline);
  std::vector<PageRow> rows = one.rows;
  std::erase_if(rows, [&](const PageRow& row) { return !ranks.contains(row.rank); });
  write_joined(out, rows, ",", [&](const PageRow& row) { write_row(out, one, row, ranks.at(row.rank)); });
  out << "]}";
}

constexpr std::size_t kMostPasses = 100'000;  // of a chart

OpClass class_of(Activity activity) {
  switch (activity) {
    case Activity::kForward: return OpClass::kForward;
    case Activity::kBackward: return OpClass::kBackward;
    case Activity::kOptimizer: return OpClass::kOptimizer;
    case Activity::kCopy: return OpClass::kCopy;
    case Activity::kPause: return OpClass::kPause;
    case Activity::kCounted: return OpClass::kCounted;
    case Activity::kHiddenCommunication:
    case Activity::kExposedCommunication: return OpClass::kCommunication;
    case Activity::kHost:
    case Activity::kWaiting: return OpClass::kHost;
  }
  return OpClass::kHost;
}

/// What a span is called, what is written in it and how dark it is, each once.
class Labels {
 public:
  explicit Labels(const PipelineChart& chart) : chunks_(chart.parallel.chunks) {}

  std::size_t of(const PipelinePass& pass) {
    constexpr double kLightest = 0.4;
    const double shade = chunks_ == 1 ? 1 : 1 - (1 - kLightest) * pass.chunk / (chunks_ - 1);
    const std::string chunk = chunks_ == 1 ? "" : fmt::format(", chunk {} of {}", pass.chunk + 1, chunks_);
    return number_of(fmt::format(R"({{"name":"micro-batch {0}, {1}{2}","class":"{1}","text":"{0}","shade":{3:.3g}}})",
                                 pass.micro_batch + 1, name_of(pass.forward ? OpClass::kForward : OpClass::kBackward),
                                 chunk, shade));
  }
  std::size_t of(Activity activity) {
    return number_of(
        fmt::format(R"({{"name":{},"class":"{}"}})", quoted_json(name_of(activity)), name_of(class_of(activity))));
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::size_t number_of(const std::string& text) {
    const auto [known, anew] = numbers_.try_emplace(text, texts_.size());
    if (anew) texts_.push_back(text);
    return known->second;
  }

  int chunks_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

struct Drawn {
  double begin = 0, end = 0;
  std::size_t label = 0;
};

/// What is done beside passes is seen where they leave the stage alone: computation before communication.
std::vector<Drawn> row_of(const PipelineRow& row, double length, std::size_t most, Labels& labels) {
  std::vector<Drawn> drawn;
  std::vector<std::pair<double, double>> gaps;
  double free = 0;
  const auto leave = [&](double until) {
    if (until > free) gaps.emplace_back(free, until);
  };
  for (const PipelinePass& pass : row.passes) {
    if (drawn.size() == most) break;
    drawn.push_back({pass.begin, pass.end, labels.of(pass)});
    leave(pass.begin);
    free = std::max(free, pass.end);
  }
  if (drawn.size() == row.passes.size()) leave(length);
  for (const bool sent : {false, true})
    for (const TimelineSpan& span : row.others) {
      if ((span.activity == Activity::kExposedCommunication) != sent) continue;
      std::vector<std::pair<double, double>> left;
      for (const auto& [from, to] : gaps) {
        const double begin = std::max(from, span.begin), end = std::min(to, span.end);
        if (begin >= end) {
          left.emplace_back(from, to);
          continue;
        }
        drawn.push_back({begin, end, labels.of(span.activity)});
        if (from < begin) left.emplace_back(from, begin);
        if (end < to) left.emplace_back(end, to);
      }
      gaps = std::move(left);
    }
  std::ranges::sort(drawn, [](const Drawn& a, const Drawn& b) { return a.begin < b.begin; });
  return drawn;
}

void write_chart(std::ostream& out, const PipelineChart& chart) {
  Labels labels(chart);
  const std::size_t most = kMostPasses / chart.rows.size();
  std::string rows;
  std::size_t left_out = 0;
  for (const PipelineRow& row : chart.rows) {
    SpanNumbers spans;
    for (const Drawn& one : row_of(row, chart.length.value, most, labels))
      spans.add(std::max<std::int64_t>(0, nanoseconds(one.begin)), nanoseconds(one.end), one.label);
    rows += fmt::format(R"({}{{"name":"stage {}","lanes":[{{"name":"","spans":{}}}]}})", rows.empty() ? "" : ",\n",
                        row.stage, spans.list());
    left_out += row.passes.size() - std::min(most, row.passes.size());
  }
  out << fmt::format("{{\"label\":{},\"measured\":false,\"left_out\":{},\"labels\":[{}],\"marks\":[],\n\"rows\":[{}]}}",
                     quoted_json(chart.label), left_out, fmt::join(labels.texts(), ","), rows);
}

}  // namespace

void write_page_timelines(std::ostream& out, const std::vector<PageTimeline>& timelines) {
  out << '[';
  write_joined(out, timelines, ",\n", [&](const PageTimeline& one) { write_timeline(out, one); });
  out << ']';
}

void write_page_pipelines(std::ostream& out, const std::vector<PipelineChart>& charts) {
  out << '[';
  write_joined(out, charts, ",\n", [&](const PipelineChart& one) { write_chart(out, one); });
  out << ']';
}

}  // namespace accosim
