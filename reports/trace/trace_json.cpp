// What the viewers make of each field is Perfetto's JSON importer's doing: threads must nest, so spans are cut to whole
// nanoseconds without ever overlapping; a flow binds to the slice around its time stamp.
#include "reports/trace/trace_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "models/base/json.hpp"
#include "reports/op_class_name.hpp"

namespace accosim {
namespace {

std::string microseconds(std::int64_t ns) {
  const std::int64_t size = ns < 0 ? -ns : ns;
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

/// What sums of doubles can be off by, generously; more is a span out of place.
constexpr std::int64_t kRounding = 1000;
/// Meetings kept waiting for parts that may never come (a graph played in part): far more than are ever under way.
constexpr std::size_t kMostMeetings = 4096;

Span repetition(const Span& span, std::int64_t k) {
  Span one = span;
  one.begin = span.begin + static_cast<double>(k) * span.period;
  one.end = one.begin + (span.end - span.begin);
  one.arrived = one.begin;
  one.iteration = span.iteration + static_cast<std::int32_t>(std::min<std::int64_t>(k, INT32_MAX - span.iteration));
  one.repeat = 1;
  return one;
}

/// Whether `span` belongs to the loop body that `first` began: as often, as far apart, and within one repetition (an op
/// without duration may stand at its very end; another loop begins two periods later at least).
bool same_body(const Span& first, const Span& span) {
  return span.repeat == first.repeat && std::fabs((span.period - first.period).value) < 1e-9 &&
         span.begin <= first.begin + first.period + kTie;
}

}  // namespace

TraceWriter::TraceWriter(std::ostream& out, TraceOptions options) : out_(out), options_(options) {
  out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
}

void TraceWriter::begin_schedule(const EventGraph& graph, const std::string& label,
                                 const std::vector<std::string>& rank_names, int first_pid,
                                 std::vector<MemoryCourse> memory, RanksShown shown) {
  end_schedule();
  graph_ = &graph;
  label_ = label;
  rank_names_ = rank_names;
  first_pid_ = first_pid;
  left_ = options_.max_events;
  shown_ = std::move(shown);
  if (shown_.drawn.empty()) {
    shown_.ranks = static_cast<int>(graph.ranks.size());
    for (int rank = 0; rank < shown_.ranks; ++rank) shown_.drawn.push_back({rank});
  }
  for (const Rank& rank : graph.ranks) threads_.emplace_back(graph.programs.at(rank.program).lanes.size());
  process_named_.assign(static_cast<std::size_t>(shown_.ranks) + 1, false);
  if (options_.counters)
    counters_.emplace(graph, std::move(memory), options_.max_repeats,
                      [this](const CounterFigure& figure) { draw(figure); });
}

SpanSink TraceWriter::sink() {
  return [this](const Span& span) { add(span); };
}

void TraceWriter::add(const Span& span) {
  if (graph_ == nullptr) throw std::logic_error("trace: a span outside a schedule");
  draw(span);
  if (counters_ && left_ > 0) counters_->add(span, drawn(span.rank));
}

void TraceWriter::draw(const Span& span) {
  Thread& thread = thread_of(span);
  const Label& label = graph_->labels.at(span.label);
  if (!drawn(span.rank)) {
    if (span.rendezvous >= 0) meet(span, nullptr);
    return;
  }
  if (span.repeat > 1) {
    if (!thread.body.empty() && !same_body(thread.body.front(), span)) draw_body(thread);
    thread.body.push_back(span);
    return;
  }
  draw_body(thread);
  if (span.rendezvous >= 0 && trace_nanoseconds(span.arrived) < trace_nanoseconds(span.begin)) {
    Slice wait{span.rank, span.lane, trace_nanoseconds(span.arrived), trace_nanoseconds(span.begin)};
    draw(span, wait, "wait for ranks", "wait", fmt::format(",\"for\":{}", quoted_json(label.name)));
  }
  Slice slice{span.rank, span.lane, trace_nanoseconds(span.begin), trace_nanoseconds(span.end)};
  const std::string updates =
      label.mark == Mark::kUpdate ? fmt::format(",\"updates\":{}", graph_->updates_per_mark) : "";
  const bool is_slice = draw(span, slice, label.name, name_of(label.cls), updates);
  if (span.rendezvous >= 0) meet(span, is_slice ? &slice : nullptr);
}

void TraceWriter::finish() {
  if (finished_) return;
  end_schedule();
  finished_ = true;
  out_ << fmt::format("\n],\"otherData\":{{\"producer\":\"accosim\",\"truncated\":{}", truncated());
  if (truncated()) {
    const std::string note = fmt::format(
        "{} events are left out: each schedule is drawn up to its first {} events; draw fewer ranks, or "
        "raise the limit, to see more",
        dropped_, options_.max_events);
    out_ << ",\"note\":" << quoted_json(note);
  }
  out_ << "}}\n";
}

TraceWriter::Thread& TraceWriter::thread_of(const Span& span) { return threads_.at(span.rank).at(span.lane); }

void TraceWriter::draw_body(Thread& thread) {
  if (thread.body.empty()) return;
  const std::vector<Span> body = std::move(thread.body);
  thread.body.clear();
  const Span& first = body.front();
  if (first.repeat <= options_.max_repeats) {
    for (int k = 0; k < first.repeat; ++k) {
      for (const Span& span : body) {
        const Span one = repetition(span, k);
        const Label& label = graph_->labels[span.label];
        Slice slice{span.rank, span.lane, trace_nanoseconds(one.begin), trace_nanoseconds(one.end)};
        draw(one, slice, label.name, name_of(label.cls), "");
      }
    }
    return;
  }
  constexpr std::size_t kMostNames = 3;
  std::string name;
  for (std::size_t i = 0; i < std::min(body.size(), kMostNames); ++i) {
    name += (i == 0 ? "" : " + ") + graph_->labels[body[i].label].name;
  }
  if (body.size() > kMostNames) name += " + ...";
  Slice slice{first.rank, first.lane, trace_nanoseconds(first.begin),
              trace_nanoseconds(repetition(body.back(), first.repeat - 1).end)};
  draw(
      first, slice, fmt::format("{} x {}", name, first.repeat), name_of(graph_->labels[first.label].cls),
      fmt::format(",\"repetitions\":{},\"period_us\":{}", first.repeat, microseconds(trace_nanoseconds(first.period))));
}

/// Writes `slice` for each rank that it is drawn for, after cutting it to begin where the lane's last one ends; one
/// without duration as an instant. Returns whether a slice was written.
bool TraceWriter::draw(const Span& span, Slice& slice, const std::string& name, const std::string& category,
                       const std::string& args) {
  Thread& thread = thread_of(span);
  if (thread.last_end != INT64_MIN && thread.last_end > slice.begin + kRounding) {
    throw std::logic_error(fmt::format("trace: \"{}\" of rank {} begins {} us before its lane {} is free", name,
                                       slice.rank, microseconds(thread.last_end - slice.begin), slice.lane));
  }
  slice.begin = std::max(slice.begin, thread.last_end);
  slice.end = std::max(slice.begin, slice.end);
  thread.last_end = slice.end;
  const std::vector<int>& numbers = shown_.drawn[static_cast<std::size_t>(slice.rank)];
  if (!take(static_cast<std::int64_t>(numbers.size()))) return false;
  const bool instant = slice.begin == slice.end;
  for (const int number : numbers) {
    if (!thread.named) name_thread(span, number);
    write(fmt::format(
        R"({{"ph":"{}","pid":{},"tid":{},"ts":{}{},"name":{},"cat":{},"args":{{"iteration":{},"class":{}{}}}}})",
        instant ? "i" : "X", pid_of(number), slice.lane + 1, microseconds(slice.begin),
        instant ? ",\"s\":\"t\"" : ",\"dur\":" + microseconds(slice.end - slice.begin), quoted_json(name),
        quoted_json(category), span.iteration, quoted_json(category), args));
  }
  thread.named = true;
  return !instant;
}

void TraceWriter::name(int pid, int tid, const char* what, const std::string& key, const std::string& value) {
  write(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"ts":0,"name":"{}","cat":"__metadata","args":{{"{}":{}}}}})", pid,
                    tid, what, key, value));
}

/// Before its first event; that of the links where `rank` is the number of ranks.
void TraceWriter::name_process(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (process_named_[at]) return;
  process_named_[at] = true;
  std::string process = rank == shown_.ranks ? label_ + " / links" : fmt::format("{} / rank {}", label_, rank);
  if (at < rank_names_.size() && !rank_names_[at].empty()) process += fmt::format(" ({})", rank_names_[at]);
  name(pid_of(rank), 0, "process_name", "name", quoted_json(process));
  name(pid_of(rank), 0, "process_sort_index", "sort_index", fmt::format("{}", pid_of(rank)));
}

/// Names the process and the thread of `span` before their first event. tid 0 is the idle task to some readers, so
/// lanes count from 1.
void TraceWriter::name_thread(const Span& span, int number) {
  name_process(number);
  const Program& program = graph_->programs[graph_->ranks[span.rank].program];
  const std::string lane =
      span.lane < program.lane_names.size() ? program.lane_names[span.lane] : fmt::format("lane {}", span.lane);
  name(pid_of(number), span.lane + 1, "thread_name", "name", quoted_json(lane));
  name(pid_of(number), span.lane + 1, "thread_sort_index", "sort_index", fmt::format("{}", span.lane));
}

void TraceWriter::draw(const CounterFigure& figure) {
  const std::vector<int> links{shown_.ranks};
  const std::vector<int>& processes = figure.rank < 0 ? links : shown_.drawn[static_cast<std::size_t>(figure.rank)];
  if (!take(static_cast<std::int64_t>(processes.size()))) return;
  const std::string& what = figure.link < 0 ? std::string(figure.name) : graph_->links.at(figure.link).name;
  for (const int process : processes) {
    name_process(process);
    write(fmt::format(R"({{"ph":"C","pid":{},"tid":0,"ts":{},"name":{},"cat":"counter","args":{{"{}":{:.7g}}}}})",
                      pid_of(process), microseconds(figure.time), quoted_json(what), figure.unit, figure.value));
  }
}

/// A part of a meeting has come; its arrows are drawn when all have.
void TraceWriter::meet(const Span& span, Slice* slice) {
  Meeting& meeting = meetings_[span.rendezvous];
  meeting.label = span.label;
  ++meeting.parts;
  const Rank& rank = graph_->ranks[span.rank];
  const auto& ops = graph_->programs[rank.program].lanes[span.lane];
  const auto op = static_cast<std::size_t>(span.op);
  const int slot = op < ops.size() ? ops[op].slot : -1;
  const bool known = slot >= 0 && static_cast<std::size_t>(slot) < rank.groups.size();
  if (slice != nullptr) {
    slice->slot = known ? static_cast<std::size_t>(slot) : 0;
    meeting.slices.push_back(*slice);
  }
  const std::size_t expected = known ? graph_->groups.at(rank.groups[slot]).members.size() : 0;
  if (meeting.parts == expected) {
    draw_flows(meeting);
    meetings_.erase(span.rendezvous);
  } else if (meetings_.size() > kMostMeetings) {
    draw_flows(meetings_.begin()->second);
    meetings_.erase(meetings_.begin());
  }
}

/// Of each group of the whole graph that the meeting stands for, between those of its ranks that are drawn.
void TraceWriter::draw_flows(const Meeting& meeting) {
  std::map<int, std::vector<Slice>> groups;
  for (Slice slice : meeting.slices)
    for (const int number : shown_.drawn[static_cast<std::size_t>(slice.rank)]) {
      slice.rank = number;
      groups[shown_.groups.empty() ? 0 : shown_.groups[static_cast<std::size_t>(number)].at(slice.slot)].push_back(
          slice);
    }
  for (auto& [group, slices] : groups) draw_flows(std::move(slices), meeting.label);
}

/// From the part of the first rank over the others to the last. All begin together unless rounding cut one, so the
/// latest begin lies in every slice; if not, each arrow stands at its own slice's begin, still in order.
void TraceWriter::draw_flows(std::vector<Slice> slices, std::uint16_t of) {
  if (slices.size() < 2 || !take(static_cast<std::int64_t>(slices.size()))) return;
  std::ranges::sort(
      slices, [](const Slice& a, const Slice& b) { return std::pair(a.begin, a.rank) < std::pair(b.begin, b.rank); });
  const std::int64_t latest = slices.back().begin;
  const bool common = std::ranges::all_of(slices, [&](const Slice& s) { return latest < s.end; });
  const std::string name = quoted_json(graph_->labels[of].name);
  for (const Slice& slice : slices) {
    const char* phase = &slice == &slices.front() ? "s" : &slice == &slices.back() ? "f" : "t";
    write(fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{},"name":{},"cat":"collective","id":{}{}}})", phase,
                      pid_of(slice.rank), slice.lane + 1, microseconds(common ? latest : slice.begin), name, next_flow_,
                      *phase == 'f' ? ",\"bp\":\"e\"" : ""));
  }
  ++next_flow_;
}

void TraceWriter::end_schedule() {
  for (auto& lanes : threads_) {
    for (Thread& thread : lanes) draw_body(thread);
  }
  for (const auto& [number, meeting] : meetings_) draw_flows(meeting);
  if (counters_) counters_->finish();
  counters_.reset();
  threads_.clear();
  meetings_.clear();
  graph_ = nullptr;
}

/// Whether the schedule may write `events` more; once it may not, nothing more of it is written.
bool TraceWriter::take(std::int64_t events) {
  if (events <= left_) {
    left_ -= events;
    return true;
  }
  left_ = 0;
  dropped_ += events;
  return false;
}

void TraceWriter::write(const std::string& event) {
  out_ << separator_ << event;
  separator_ = ",\n";
}

}  // namespace accosim
