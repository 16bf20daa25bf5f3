#include "models/recorded/recorded_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "models/base/text.hpp"
#include "models/recorded/trace_text.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr Range kMicroseconds{-2e15, 2e15};  // 63 years, so that sums of nanoseconds stay whole numbers
constexpr Range kDuration{0, 2e15};
constexpr double kMostProcesses = 1e9;

std::int64_t nanoseconds(double microseconds) { return std::llround(microseconds * 1e3); }

/// The schedule and whether it was measured, of "acco / rank 3 (A100, node 0)" or accocal's "rank 3 (acco, measured)".
/// None for a process that is no rank.
struct ProcessName {
  std::string label;
  bool measured = false;
};
std::optional<ProcessName> rank_of(const std::string& process) {
  constexpr std::string_view kRank = " / rank ", kOurs = "rank ", kMeasured = ", measured", kPredicted = ", predicted";
  ProcessName name;
  const std::size_t at = process.rfind(kRank), open = process.find(" (");
  if (at != std::string::npos)
    name.label = process.substr(0, at);
  else if (process.rfind(kOurs, 0) == 0 && open != std::string::npos && process.ends_with(")"))
    name.label = process.substr(open + 2, process.size() - open - 3);
  else
    return std::nullopt;
  name.measured = name.label.ends_with(kMeasured);
  if (name.measured) name.label.resize(name.label.size() - kMeasured.size());
  if (name.label.ends_with(kPredicted)) name.label.resize(name.label.size() - kPredicted.size());
  return name;
}

std::optional<RecordedUse> use_of(const std::string& cls) {
  static const std::map<std::string, RecordedUse> kUses = {{"forward", RecordedUse::kComputation},
                                                           {"backward", RecordedUse::kComputation},
                                                           {"optimizer", RecordedUse::kComputation},
                                                           {"pause", RecordedUse::kComputation},
                                                           {"counted", RecordedUse::kComputation},
                                                           {"copy", RecordedUse::kCopy},
                                                           {"host", RecordedUse::kHost},
                                                           {"communication", RecordedUse::kCommunication},
                                                           {"wait", RecordedUse::kWaiting}};
  const auto found = kUses.find(cls);
  return found == kUses.end() ? std::nullopt : std::optional(found->second);
}

/// "forward + backward x 500" without the number.
std::string without_count(std::string name, std::int64_t count) {
  const std::string end = fmt::format(" x {}", count);
  if (count > 1 && name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  return name;
}

/// Reads the events one by one into schedules.
class TraceReader {
 public:
  /// `all` is of `text`; places are of `source`.
  void read(const TraceText& all, std::string_view text, const std::string& source, Diagnostics& diagnostics) {
    const auto each = [&](std::string_view with, auto&& read_one) {
      for (std::size_t i = 0; i < all.events.size() && !diagnostics.enough(); ++i) {
        if (all.events[i].find(with) == std::string_view::npos) continue;
        diagnostics_.errors.clear();
        if (read_piece(all.events[i], i, source, read_one)) continue;
        diagnostics_.errors.clear();  // again, where it stands: that is slow, and errors are few
        read_piece(in_its_place(text, all.events[i]), i, source, read_one);
        diagnostics.errors.insert(diagnostics.errors.end(), diagnostics_.errors.begin(), diagnostics_.errors.end());
      }
    };
    each("process_name", [&](ObjectReader& event) { read_name(event); });
    each("", [&](ObjectReader& event) { read_event(event); });
  }

  std::vector<RecordedSchedule> take() {
    for (RecordedSchedule& schedule : schedules_)
      for (RecordedRank& rank : schedule.ranks)
        std::ranges::stable_sort(rank.marks,
                                 [](const RecordedMark& a, const RecordedMark& b) { return a.time < b.time; });
    return std::move(schedules_);
  }

 private:
  struct Process {
    std::size_t schedule = 0, rank = 0;
  };

  /// Whether nothing is wrong with it.
  bool read_piece(std::string_view piece, std::size_t i, const std::string& source, const auto& read_one) {
    JsonDocument document = parse_json(piece, source);
    if (!document.errors.empty()) {
      diagnostics_.errors = document.errors;
      return false;
    }
    ObjectReader event(document.root, "/traceEvents" + pointer_part(i), diagnostics_);
    if (event.good()) read_one(event);
    return diagnostics_.errors.empty();
  }

  static std::string text_of(const JsonValue* value) {
    return value != nullptr && value->kind == JsonKind::kText ? value->text : std::string();
  }

  void read_name(ObjectReader& event) {
    if (text_of(event.find("ph")) != "M" || text_of(event.find("name")) != "process_name") return;
    const double pid = event.whole("pid", 0, kMostProcesses);
    const JsonValue* const args = event.find("args");
    const std::string name = args == nullptr ? "" : text_of(args->find("name"));
    const std::optional<ProcessName> rank = rank_of(name);
    if (!rank || !event.good() || processes_.count(pid) > 0) return;
    const auto known = std::ranges::find_if(schedules_, [&](const RecordedSchedule& one) {
      return one.label == rank->label && one.measured == rank->measured;
    });
    const auto index = static_cast<std::size_t>(known - schedules_.begin());
    constexpr std::size_t kMostSchedules = 1000;
    if (known == schedules_.end() && schedules_.size() == kMostSchedules)
      return event.fail("args",
                        fmt::format("names more than {} schedules; no trace of ours has so many", kMostSchedules));
    if (known == schedules_.end()) schedules_.push_back({rank->label, rank->measured, {}});
    schedules_[index].ranks.emplace_back();
    processes_[pid] = {index, schedules_[index].ranks.size() - 1};
  }

  void read_event(ObjectReader& event) {
    const std::string phase = event.text("ph");
    if (phase != "X" && phase != "i") return;
    const double pid = event.whole("pid", 0, kMostProcesses);
    const std::string name = event.text("name", {}, kAllOfIt);
    const double begin = event.number("ts", kMicroseconds);
    const double lasts = phase == "X" ? event.number("dur", kDuration) : 0;
    JsonValue none = json_object({});
    JsonValue* const written = event.find("args");
    ObjectReader args(written == nullptr ? none : *written, event.pointer("args"), diagnostics_);
    const auto process = processes_.find(pid);
    if (process == processes_.end()) {
      if (event.good()) event.fail("pid", "is of a process that no event names as a rank; write the trace anew");
      return;
    }
    RecordedSchedule& schedule = schedules_[process->second.schedule];
    RecordedRank& rank = schedule.ranks[process->second.rank];
    if (phase == "i") {
      const int updates = args.has("updates") ? args.integer("updates", 1, kMaxInteger) : 0;
      if (updates > 0 && event.good() && args.good()) rank.marks.push_back({nanoseconds(begin), updates});
      return;
    }
    RecordedSpan span{.count = args.integer("repetitions", 1, kMaxInteger, 1)};
    span.name = without_count(name, span.count);
    span.begin = nanoseconds(begin);
    span.end = nanoseconds(begin + lasts);
    const std::string cls = schedule.measured && !args.has("class") ? "" : args.text("class");
    const std::optional<RecordedUse> use = cls.empty() ? std::optional(use_of_measured(name)) : use_of(cls);
    if (cls == "mark" || !event.good() || !args.good()) return;
    if (!use) return args.fail("class", "is none of an op; write the trace anew");
    span.use = *use;
    if (span.use == RecordedUse::kWaiting) span.waits_for = text_of(args.find("for"));
    rank.spans.push_back(std::move(span));
  }

  Diagnostics diagnostics_;  ///< of one event
  std::map<double, Process> processes_;
  std::vector<RecordedSchedule> schedules_;
};

/// Who wrote it, and whether all of it is there.
void check_whole(ObjectReader& top) {
  const JsonValue* const other = top.find("otherData");
  const JsonValue* const producer = other == nullptr ? nullptr : other->find("producer");
  if (producer == nullptr || (producer->text != "accosim" && producer->text != "accocal"))
    return top.fail("otherData",
                    "does not say that accosim or accocal wrote this trace; name one that `run`, `compare` or `accocal "
                    "train` wrote with --trace");
  const JsonValue* const truncated = other->find("truncated");
  if (truncated != nullptr && truncated->boolean)
    top.fail("otherData",
             "says that only the first events are there; write the trace with fewer --trace-ranks or --trace-updates, "
             "or with more --trace-events");
}

}  // namespace

RecordedUse use_of_measured(const std::string& label) {
  if (label == "micro-batch" || label == "optimizer" || label == "outer optimizer" || label == "quantise" ||
      label == "dequantise")
    return RecordedUse::kComputation;
  if (label == "wait") return RecordedUse::kWaiting;  // on the compute lane, for the rank's own communication
  if (label == "swap" || label == "save state" || label == "restore state") return RecordedUse::kCopy;
  return RecordedUse::kCommunication;
}

bool is_trace(std::string_view text) { return trace_text(text).has_value(); }

std::vector<RecordedSchedule> read_recorded_trace(std::string_view text, const std::string& source) {
  const std::optional<TraceText> trace = trace_text(text);
  JsonDocument frame = parse_json(trace ? trace->frame : text, source);
  if (!frame.whole) throw ScenarioError(frame.errors);
  Diagnostics diagnostics{frame.errors};
  ObjectReader top(frame.root, "", diagnostics);
  if (top.find("traceEvents") == nullptr || !trace)
    top.fail("traceEvents", "is no list of events; name a trace that was written with --trace");
  else
    check_whole(top);
  std::vector<RecordedSchedule> schedules;
  if (diagnostics.errors.empty()) {
    TraceReader reader;
    reader.read(*trace, text, source, diagnostics);
    schedules = reader.take();
    if (schedules.empty() && diagnostics.errors.empty()) top.fail("traceEvents", "names no rank; write the trace anew");
  }
  for (const RecordedSchedule& schedule : schedules)
    if (std::ranges::any_of(schedule.ranks, [](const RecordedRank& rank) { return rank.marks.size() < 2; }))
      top.fail("traceEvents", fmt::format("hold fewer than two ends of updates of a rank of {}; write the trace with "
                                          "--trace-updates 2 or more",
                                          in_quotes(schedule.label)));
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return schedules;
}

RecordedSchedule recorded_run(const MeasuredRun& run, const std::string& name) {
  const Seconds all = sum_of<Seconds>(run.updates, &MeasuredUpdate::duration);
  if (all > Seconds{kMicroseconds.most * 1e-6})
    throw ScenarioError({printable(name, 300) + ": /updates: last more than 63 years together; make the run again"});
  RecordedSchedule schedule{run.algorithm, true, std::vector<RecordedRank>(static_cast<std::size_t>(run.ranks))};
  const auto ns = [](Seconds time) { return nanoseconds(time.value * 1e6); };
  for (const MeasuredSpan& span : run.spans)
    schedule.ranks.at(static_cast<std::size_t>(span.rank))
        .spans.push_back({span.label, "", use_of_measured(span.label), ns(span.begin), ns(span.end), 1});
  const int phase = updates_per_mark(run);
  std::vector<RecordedMark> marks;
  if (run.left_out == 0) marks.push_back({0, phase});
  Seconds end;
  for (int i = 1; i <= static_cast<int>(run.updates.size()); ++i) {
    end += run.updates[static_cast<std::size_t>(i - 1)].duration;
    if (i % phase == 0 && i >= run.left_out) marks.push_back({ns(end), phase});
  }
  for (RecordedRank& rank : schedule.ranks) rank.marks = marks;
  return schedule;
}

}  // namespace accosim
