// Pipelines as timelines: a row a stage, with its passes and, between them, what else it does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "models/base/json.hpp"
#include "reports/op_class_name.hpp"
#include "reports/page.hpp"

namespace accosim {
namespace {

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
    const auto [known, anew] = passes_.try_emplace({pass.forward, pass.chunk, pass.micro_batch}, texts_.size());
    if (anew) {
      constexpr double kLightest = 0.4;
      const double shade = chunks_ == 1 ? 1 : 1 - (1 - kLightest) * pass.chunk / (chunks_ - 1);
      const std::string chunk = chunks_ == 1 ? "" : fmt::format(", chunk {} of {}", pass.chunk + 1, chunks_);
      texts_.push_back(fmt::format(R"({{"name":"micro-batch {0}, {1}{2}","class":"{1}","text":"{0}","shade":{3:.3g}}})",
                                   pass.micro_batch + 1, name_of(pass.forward ? OpClass::kForward : OpClass::kBackward),
                                   chunk, shade));
    }
    return known->second;
  }
  std::size_t of(Activity activity) {
    const auto [known, anew] = others_.try_emplace(activity, texts_.size());
    if (anew)
      texts_.push_back(
          fmt::format(R"({{"name":{},"class":"{}"}})", quoted_json(name_of(activity)), name_of(class_of(activity))));
    return known->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  int chunks_;
  std::map<std::tuple<bool, int, int>, std::size_t> passes_;
  std::map<Activity, std::size_t> others_;
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
  std::sort(drawn.begin(), drawn.end(), [](const Drawn& a, const Drawn& b) { return a.begin < b.begin; });
  return drawn;
}

void write_chart(std::ostream& out, const PipelineChart& chart) {
  Labels labels(chart);
  const std::size_t most = kMostPasses / chart.rows.size();
  std::string rows;
  std::size_t left_out = 0;
  for (const PipelineRow& row : chart.rows) {
    fmt::format_to(std::back_inserter(rows), R"({}{{"name":"stage {}","lanes":[{{"name":"","spans":[)",
                   rows.empty() ? "" : ",\n", row.stage);
    std::int64_t last = 0;
    const char* separator = "";
    for (const Drawn& one : row_of(row, chart.length.value, most, labels)) {
      const auto begin = std::max<std::int64_t>(last, std::llround(one.begin * 1e9));
      const auto end = std::max<std::int64_t>(begin, std::llround(one.end * 1e9));
      fmt::format_to(std::back_inserter(rows), "{}{},{},{}", separator, begin - last, end - begin, one.label);
      last = end;
      separator = ",";
    }
    rows += "]}]}";
    left_out += row.passes.size() - std::min(most, row.passes.size());
  }
  out << fmt::format("{{\"label\":{},\"measured\":false,\"left_out\":{},\"labels\":[{}],\"marks\":[],\n\"rows\":[{}]}}",
                     quoted_json(chart.label), left_out, fmt::join(labels.texts(), ","), rows);
}

}  // namespace

void write_page_pipelines(std::ostream& out, const std::vector<PipelineChart>& charts) {
  out << '[';
  const char* separator = "";
  for (const PipelineChart& chart : charts) {
    out << separator;
    write_chart(out, chart);
    separator = ",\n";
  }
  out << ']';
}

}  // namespace accosim
