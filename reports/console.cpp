// Schedules side by side; see console.hpp. Columns are in the order of the questions: how long, how much faster, at
// what cost, how near to what was published, at what rate, where the time goes, does it fit. A column about which no
// schedule has anything to say is left out. One screen shows those that decide, as many as fit; --wide shows all.
#include "reports/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "models/spec/frameworks.hpp"
#include "models/spec/parallel_words.hpp"
#include "reports/console_rows.hpp"
#include "reports/fair_text.hpp"
#include "reports/human.hpp"
#include "reports/unsteady.hpp"
#include "sim/evaluation/chosen.hpp"

namespace accosim {
namespace {

/// Gibibytes without the unit.
std::string gib(Bytes bytes) { return fmt::format("{:.1f}", bytes.value / (1024.0 * 1024 * 1024)); }

std::string published_time(const RunResult& r, const ColumnText& clock) {
  if (!r.published_time) return "-";
  return fmt::format("{} ({})", clock.text_of(r.published_time->value), human_error(*r.time_error()));
}

std::string published_speedup(const RunResult& r) {
  if (!r.published_speedup) return "-";
  if (!r.speedup) return human_factor(*r.published_speedup);
  return fmt::format("{} ({})", human_factor(*r.published_speedup), human_error(*r.speedup_error()));
}

std::string speedup_to_loss(const RunResult& r) {
  if (!r.to_loss) return "-";
  if (!r.to_loss->reached) return "< " + human_factor(r.to_loss->speedup);
  return fmt::format("{} ({})", human_factor(r.to_loss->speedup),
                     human_range(human_factor(r.to_loss->speedup_low), human_factor(r.to_loss->speedup_high), " - "));
}

/// The warnings say so of most of what the interval rests on.
bool extrapolates(const RunResult& result) {
  return std::ranges::any_of(result.warnings, [](const Warning& warning) {
    return warning.code == "extrapolated" || warning.code == "inherited_constants";
  });
}

/// Places of the columns by which one decides, the most important first; the others come behind them in their order.
constexpr int kDecide[] = {10, 160, 20, 70, 40, 46, 15, 80, 90, 30, 45, 50};

/// When the column at `place` gets room.
int turn_of(int place) {
  const auto* const decides = std::find(std::begin(kDecide), std::end(kDecide), place);
  return static_cast<int>(decides - kDecide) + (decides == std::end(kDecide) ? place : 0);
}

/// Columns of the comparison: the metrics that have one, and what is no single figure at its place among them.
class Columns {
 public:
  Columns(const Scenario& scenario, const std::vector<RunResult>& results) : scenario_(scenario), results_(results) {}

  Table table() && {
    add_all();
    Table table;
    table.rows.resize(results_.size());
    for (const auto& [place, column] : columns_) {
      const auto& [head, cells] = column;
      table.heads.push_back(head);
      for (std::size_t i = 0; i < cells.size(); ++i) table.rows[i].push_back(cells[i]);
      if (place > 0) table.turns.push_back(turn_of(place));
    }
    return table;
  }

 private:
  void add_all() {
    add(0, left("schedule"), [&](const RunResult& r) {
      return Value(r.label, r.label == scenario_.baseline ? Style::kDim : Style::kPlain);
    });
    for (const Metric* const metric : metrics_by(&Metric::column)) add_metric(*metric);
    add_interval();
    if (any([](const RunResult& r) { return r.to_loss.has_value(); })) add_to_loss();
    add_published();
    add(160, right("memory", "GiB of"), [](const RunResult& r) {
      const std::string figures = gib(r.memory_resident) + " / " + gib(r.memory_capacity);
      return Value(figures + verdict_mark(r.fit.verdict), style_of(r.fit.verdict));
    });
  }

  void add(int place, const Value& head, const std::function<Value(const RunResult&)>& cell) {
    Values cells;
    for (const RunResult& result : results_) cells.push_back(cell(result));
    columns_.emplace(place, std::pair(head, std::move(cells)));
  }

  bool any(auto test) const { return std::ranges::any_of(results_, test); }

  ColumnText text_of(const Metric& metric) const {
    std::vector<double> values;
    for (const RunResult& result : results_)
      if (const std::optional<double> value = metric.figure.of(result)) values.push_back(*value);
    return column_text(metric.format, values);
  }

  void add_metric(const Metric& metric) {
    if (!any([&](const RunResult& r) { return metric.figure.of(r).has_value(); })) return;
    ColumnText text = text_of(metric);
    if (std::string_view(metric.key) == "cost") text.unit = scenario_.cluster.currency;
    const auto head = [&](const char* line) { return fmt::format(fmt::runtime(line), text.unit); };
    const bool praised = std::string_view(metric.key) == "speedup";
    add(metric.column.place, right(head(metric.column.name), head(metric.column.says)), [&](const RunResult& r) {
      const std::optional<double> value = metric.figure.of(r);
      return Value(value ? text.text_of(*value) : "-", praised && value > 1.005 ? Style::kGood : Style::kPlain);
    });
  }

  void add_interval() {
    if (!any([](const RunResult& r) { return r.update_time_high > Seconds{0}; })) return;
    const ColumnText update = text_of(metric_named("update_time_s"));
    add(15, right("80 %", "interval"), [&](const RunResult& r) {
      return Value((extrapolates(r) ? "~" : "") + human_range(update.text_of(r.update_time_low.value),
                                                              update.text_of(r.update_time_high.value), " - "),
                   extrapolates(r) ? Style::kDim : Style::kPlain);
    });
  }

  void add_to_loss() {
    add(45, right("samples", "to loss"), [](const RunResult& r) {
      return r.to_loss ? (r.to_loss->reached ? "" : "> ") + human_factor(r.to_loss->samples) : "-";
    });
    add(46, right("speedup", "to loss"), speedup_to_loss);
  }

  void add_published() {
    const bool another = any([](const RunResult& r) { return r.published_of_another_run; });
    const char* const ours = another ? "of another run" : "(our error)";
    if (any([](const RunResult& r) { return r.published_time.has_value(); })) {
      const ColumnText clock = text_of(metric_named("published_time_s"));
      add(80, right("published " + clock.unit, ours), [&](const RunResult& r) { return published_time(r, clock); });
    }
    if (any([](const RunResult& r) { return r.published_speedup.has_value(); }))
      add(90, right("published", ours), published_speedup);
  }

  const Scenario& scenario_;
  const std::vector<RunResult>& results_;
  std::multimap<int, std::pair<Value, Values>> columns_;  // head and cells by place
};

bool ranks_differ(const RunResult& result) {
  return std::ranges::any_of(result.ranks, [&](const RankResult& alike) {
    const double first = result.ranks.front().micro_batches_per_round;
    return std::abs(alike.micro_batches_per_round - first) > 1e-9 * std::max(1.0, std::abs(first));
  });
}

/// One table for each schedule whose ranks do different amounts of work.
void add_device_classes(Document& document, const Scenario& scenario, const std::vector<RunResult>& results) {
  for (const RunResult& result : results) {
    if (!ranks_differ(result)) continue;
    const auto rows = merge_ranks(scenario, result, result.ranks.size(),
                                  [](const RankRow& a, const RankRow& b) { return a.device == b.device; });
    const ScheduleSpec* const spec = schedule_labelled(scenario, result.label);
    const bool by_itself = spec != nullptr && accumulates_while_waiting(*spec);
    document.say({result.label, by_itself ? ": each rank accumulates as many micro-batches as its speed allows"
                                          : ": each node group does the micro-batches that it is given"});
    document.table(rank_table("ranks", rows, [](const RankRow& row) { return human_count(row.ranks); }));
  }
}

/// Under the labels of those for which they hold.
void add_all_warnings(Document& document, const std::vector<RunResult>& results) {
  for (const WarningGroup& group : warning_groups(results)) {
    std::vector<std::string> labels;
    for (const std::size_t i : group.results) labels.push_back(results[i].label);
    const bool all = results.size() > 1 && labels.size() == results.size();
    document.add(Document::Heading{3, all ? "all schedules" : in_words(labels)});
    add_warnings(document, group.warnings, "  ", Above::kNothing);
  }
}

/// "1.5 for ACCO and 2 for DPU", of the schedules that were played; the tightest first.
std::string laws_of(const std::vector<RunResult>& results) {
  std::set<std::pair<double, std::string>> laws;
  for (const RunResult& result : results) {
    const ScheduleTraits& traits = traits_of(result.schedule);
    if (traits.most_same_batch > 0) laws.emplace(traits.most_same_batch, traits.title);
  }
  std::vector<std::string> texts;
  for (const auto& [most, title] : laws) texts.push_back(fmt::format("{:g} for {}", most, title));
  return in_words(texts);
}

/// What stands in the last rows.
void add_tuned(Document& document, const Scenario& scenario, const Tuned& tuned) {
  if (!tuned.synchronous) return;
  const auto written = [](const AddedSchedule& added) {
    return added.repeats() ? std::string(" as written")
           : added.own()   ? fmt::format(": --set {}", fmt::join(added.set, " --set "))
                           : std::string("; --json has its entry");
  };
  const bool divided = can_be_divided(scenario.cluster, scenario.training);
  document.say(
      {fmt::format("best synchronous: {}{}. Tried were the scenario's own synchronous schedules and the forms that {} "
                   "has, each {} that fit.",
                   tuned.synchronous->name(), written(*tuned.synchronous), title_of(scenario.training.framework),
                   divided ? "with load-balanced micro-batches at the same global batch, in several numbers and sizes"
                           : "at all micro-batches that make the same global batch and")});
  if (const std::optional<AddedSchedule>& other = tuned.delayed)
    document.go_on(
        {fmt::format("best delayed or local: {}{}. Where one has no trade-off (stale gradients, a larger batch, local "
                     "updates) it comes before faster ones that have.",
                     other->name(), written(*other))});
  // Tuned are schedules and their micro-batches.
  if (tuned.beyond)
    document.go_on(
        {fmt::format("Other settings would bring more, which accosim advise tries: the best synchronous schedule is at "
                     "least {} as fast with --set {}",
                     human_factor(tuned.beyond->times), fmt::join(tuned.beyond->set, " --set "))});
}

/// What the mark of an interval means.
void add_extrapolation(Document& document, const std::vector<RunResult>& results) {
  if (!std::ranges::any_of(results, extrapolates)) return;
  document.go_on(
      {"extrapolated: much of the time is of kernels that were measured on no such part, or in no such size; the "
       "warnings say which. The interval may be too narrow."},
      "~ ");
}

/// A dash in "same batch" is no figure that was forgotten.
void add_missing(Document& document, const Scenario& scenario, const std::vector<RunResult>& results) {
  std::vector<std::string> labels;
  for (const RunResult& result : results)
    if (result.speedup && !result.speedup_same_batch) labels.push_back(result.label);
  if (labels.empty()) return;
  document.say({fmt::format(
      "\"{}\" cannot be played at the batch of {}: it does at least one micro-batch {}, and may accumulate more by "
      "itself. So there is no speedup at the same batch.",
      scenario.baseline, in_words(labels), micro_batch_owner(scenario.training.parallel))});
}

/// Says what the speedups mean, where a reader could take one for the other.
void add_closing(Document& document, const Scenario& scenario, const std::vector<RunResult>& results) {
  const auto has = [&](auto test) { return std::ranges::any_of(results, test); };
  if (!has([](const RunResult& r) { return r.speedup && r.speedup_same_batch && r.batch_inflation > 1.0005; })) return;
  const ScheduleSpec* const baseline = schedule_labelled(scenario, scenario.baseline);
  std::string text = fmt::format(
      "Speedup per token compares the time for the same tokens with \"{}\". Where the batch has grown, part of it "
      "comes from the larger batch alone, for which the model may need more tokens; \"same batch\" is the speedup over "
      "the baseline played with as many samples per update, so the larger batch brings nothing to it.",
      scenario.baseline);
  if (baseline != nullptr && !(accumulating(*baseline) == *baseline))
    text += fmt::format(" There \"{}\" reduces its gradients once an update.", scenario.baseline);
  const std::string laws = laws_of(results);
  const bool serial = baseline != nullptr && is_serial_sharded(*baseline);
  if (serial && !laws.empty() && !scenario.cluster.nodes.empty() && identical_ranks(scenario.cluster))
    text += fmt::format(" With identical ranks and serial ZeRO-1 as the baseline that can never exceed {}.", laws);
  document.say({text});
}

std::string updates_are(const RunResult& result) {
  switch (result.statistics) {
    case Statistics::kSynchronous: return "synchronous, or corrected";
    case Statistics::kPartlyStale: return "of gradients late in part";
    case Statistics::kStaleGradients: return "of late gradients";
    case Statistics::kReplicasDrift: return "of replicas that drift";
    case Statistics::kLocalEstimate: return "half at local estimates";
  }
  return "";
}

/// The measured multiple of the baseline's samples. An interval of the speedup is one of the samples.
std::string samples_to_loss(const std::optional<TimeToLoss>& loss) {
  if (!loss) return "not measured";
  if (!loss->reached) return fmt::format("at least {:.2f}", loss->samples);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", loss->samples, loss->samples * loss->speedup / loss->speedup_high,
                     loss->samples * loss->speedup / loss->speedup_low);
}

std::string time_to_loss(const RunResult& result) {
  const std::optional<TimeToLoss>& loss = result.to_loss;
  if (!loss) return "-";
  return fmt::format("{}{:.2f}x", loss->reached ? "" : "below ", loss->speedup);
}

std::string eligible(const Caveats& caveats) { return caveats.none() ? "yes" : "no: " + in_words(caveats); }

/// A row a schedule, in that order. `loss`: with what was measured of samples to a loss.
Table page_table(const Comparison& comparison, const std::vector<std::size_t>& order, bool loss) {
  Table table({left("schedule"), right("all tokens"), right("an update"), right("same batch"),
               right("samples an update"), right("states, papers"), right("memory"), left("fits"), right("sent"),
               left("updates")});
  if (loss) append(table.heads, {right("samples to the loss"), right("time to it")});
  table.heads.push_back(left("may win"));
  for (const std::size_t i : order) {
    const RunResult& r = comparison.results[i];
    Values cells{r.label,
                 clock(r.total_time),
                 duration(r.update_time),
                 factor(r.speedup_same_batch),
                 human_count(r.samples_per_update) +
                     (r.batch_inflation > 1.0005 ? fmt::format(" ({:.2f}x)", r.batch_inflation) : ""),
                 memory(r.memory_formula),
                 memory(r.memory_resident),
                 r.fit.verdict == FitVerdict::kFits    ? "yes"
                 : r.fit.verdict == FitVerdict::kTight ? "tight"
                                                       : "no",
                 human_bytes(r.bytes_sent_per_rank_per_update),
                 updates_are(r)};
    if (loss) append(cells, {samples_to_loss(r.to_loss), time_to_loss(r)});
    cells.emplace_back(eligible(comparison.standing.caveats[i]));
    table.add(std::move(cells));
  }
  return table;
}

/// What the columns of that table mean.
Values page_columns(const Scenario& scenario, const Comparison& comparison, bool loss) {
  Values words{
      term("All tokens"),
      ": " + human_count(scenario.training.train_tokens) + ", as h:mm:ss. ",
      term("Same batch"),
      ": speedup over " + scenario.baseline + " at as many samples an update. ",
      term("States, papers"),
      ": what papers count of parameters, gradients, buffers and states, in 16 bits but the optimizer's. ",
      term("Memory"),
      ": resident on a GPU at its peak, of " + human_memory(comparison.results.front().memory_capacity) + ". ",
      term("Sent"),
      ": bytes that a GPU sends in an update, in the mean. ",
      term("May win"),
      fmt::format(": gradients fresh or corrected, batch grown at most {:.3g} times, memory that fits with {}.",
                  comparison.standing.rule.batch_growth, in_percent(comparison.standing.rule.fit_probability))};
  if (loss)
    append(words, {" ", term("Samples to the loss"), ": measured by ", code("accocal converge"),
                   " on small models, as a multiple of those of " + scenario.baseline +
                       ", with the batch's growth, and 90 % intervals; ",
                   term("time to it"),
                   ": the speedup that remains. Another model's samples decide nothing here: they are shown beside the "
                   "times."});
  return words;
}

}  // namespace

Document comparison_document(const Scenario& scenario, const Comparison& comparison) {
  const std::vector<RunResult>& results = comparison.results;
  Document document = beginning_of(scenario, comparison);
  document.table(Columns(scenario, results).table());
  add_tuned(document, scenario, comparison.tuned);
  add_extrapolation(document, results);
  add_unsteady(document, results);
  add_device_classes(document, scenario, results);
  for (const RunResult& result : results)
    if (result.fit.verdict != FitVerdict::kFits) add_memory_by_kind(document, result);
  add_fair_comparison(document, comparison.fair);
  add_all_warnings(document, results);
  add_missing(document, scenario, results);
  add_closing(document, scenario, results);
  return document;
}

Document comparison_page(const Scenario& scenario, const Comparison& comparison, const std::string& command) {
  const std::vector<RunResult>& results = comparison.results;
  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return results[a].tokens_per_second > results[b].tokens_per_second; });
  const bool loss = std::ranges::any_of(results, [](const RunResult& r) { return r.to_loss.has_value(); });
  Document document;
  document.title(scenario.name);
  document.say({"Written by ", code(command), "; not to be edited by hand."});
  document.say({scenario.description});
  document.table(page_table(comparison, order, loss));
  document.say(page_columns(scenario, comparison, loss));
  return document;
}

}  // namespace accosim
