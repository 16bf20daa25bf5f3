#include "sim/explain/pipeline_chart.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "models/base/errors.hpp"
#include "sim/explain/played_spans.hpp"
#include "sim/explain/split_costs.hpp"

namespace accosim {
namespace {

/// Fills one row from the spans of its rank.
class RowFiller {
 public:
  /// `own`: the rank's last update. `shown`: what is drawn, the first stage's. `under_way`: micro-batches whose
  /// backward passes are to come when the update begins.
  RowFiller(const EventGraph& graph, Stretch own, Stretch shown, int under_way)
      : graph_(graph), own_(own), shown_(shown), under_way_(under_way) {}

  void add(const Span& span) {
    const Label& label = graph_.labels[span.label];
    if (label.cls == OpClass::kForward || label.cls == OpClass::kBackward)
      add_pass(span, label.cls == OpClass::kForward);
    else if (label.mark == Mark::kNone && !is_message(span))
      add_other(span, label.cls);
  }

  PipelineRow take() && {
    // The numbers of passes ascend with their chunks.
    for (std::size_t i = 0; i < row_.passes.size(); ++i) {
      PipelinePass& pass = row_.passes[i];
      const auto& numbers = done_[pass.forward ? 1 : 0];
      pass.chunk = static_cast<int>(std::distance(numbers.begin(), numbers.find(numbers_[i])));
    }
    return std::move(row_);
  }

 private:
  bool is_message(const Span& span) const {
    return span.rendezvous >= 0 && graph_.requests[op_of(graph_, span).plan].kind == CollectiveKind::kSend;
  }

  void add_pass(const Span& span, bool forward) {
    constexpr double kRounding = 1e-12;
    if (span.begin.value < own_.first - kRounding || span.begin.value >= own_.second) return;
    const Op& op = op_of(graph_, span);
    int& done = done_[forward ? 1 : 0].try_emplace(op.pass, forward ? under_way_ : 0).first->second;
    const double begin = span.begin.value - shown_.first, end = end_of(span) - shown_.first;
    const bool goes_on = !numbers_.empty() && numbers_.back() == op.pass && row_.passes.back().micro_batch == done &&
                         begin <= row_.passes.back().end + kRounding;
    if (goes_on) {
      row_.passes.back().end = end;
    } else {
      row_.passes.push_back({forward, 0, done, begin, end});
      numbers_.push_back(op.pass);
    }
    if (op.ends_pass) ++done;
  }

  void add_other(const Span& span, OpClass cls) {
    const double begin = std::max(span.begin.value, shown_.first), end = std::min(end_of(span), shown_.second);
    if (begin >= end) return;
    Activity activity = activity_of(cls);
    if (activity == Activity::kHiddenCommunication) activity = Activity::kExposedCommunication;
    row_.others.push_back({activity, span.label, begin - shown_.first, end - shown_.first, 1});
  }

  const EventGraph& graph_;
  Stretch own_, shown_;
  int under_way_;
  PipelineRow row_;
  std::map<int, int> done_[2];  // by direction and number of a pass, how many micro-batches
  std::vector<int> numbers_;    // of each pass of the row
};

}  // namespace

PipelineChart pipeline_chart(const ScheduleSpec& spec, const SteadyPlay& play) {
  const Layout& layout = play.costs->layout;
  const std::vector<Stretch> updates = last_updates(play);
  PipelineChart chart{.label = spec.label, .parallel = play.costs->parallel};
  const Stretch shown = updates[play.folded.class_of[0]];
  chart.length = Seconds{shown.second - shown.first};
  if (const std::optional<SplitCosts> costs = split_costs(play); costs && costs->pipeline)
    chart.bubble = costs->pipeline->bubble / costs->update_time;
  for (int stage = 0; stage < chart.parallel.pipeline; ++stage) {
    GridCoordinates at = coordinates_of(layout, 0);
    at[static_cast<std::size_t>(Dim::kPipeline)] = stage;
    const int folded = play.folded.class_of[rank_at(layout, at)];
    RowFiller filler(play.folded.graph, updates[folded], shown,
                     spec.pipeline_flush ? 0 : chart.parallel.pipeline - 1 - stage);
    for (const Span& span : play.spans)
      if (span.rank == folded) filler.add(span);
    chart.rows.push_back(std::move(filler).take());
    chart.rows.back().stage = stage;
  }
  return chart;
}

std::vector<PipelineChart> pipeline_charts(const Scenario& scenario, const std::vector<int>& indices,
                                           const Evaluations& evaluations) {
  if (scenario.training.parallel.pipeline == 1)
    throw BadInput(
        "/training/parallel/pipeline_parallel_size: the model is not split into stages, so there is no "
        "pipeline to draw; set it to their number, or draw a timeline (--kind timeline)");
  std::vector<PipelineChart> charts;
  for (const int index : indices) {
    const ScheduleSpec& spec = scenario.schedules[index];
    charts.push_back(pipeline_chart(spec, *evaluations.play(scenario, spec)));
  }
  return charts;
}

}  // namespace accosim
