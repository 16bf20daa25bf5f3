// A timeline for Perfetto (ui.perfetto.dev) and chrome://tracing, in Chrome's Trace Event format. Spans are written as
// they come, so that a long run needs no memory; the file is a picture of the first events up to a limit, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/spec/schedule.hpp"
#include "models/spec/trace.hpp"
#include "reports/trace/trace_counters.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

struct TraceOptions {
  std::int64_t max_events = 250'000;  ///< of one schedule, about 40 MB; chrome://tracing stops at 256 MB
  bool counters = false;              ///< tracks of memory, multiprocessors and links
  int max_repeats = 64;               ///< repetitions of a span drawn one by one; more become one slice "x N"
};

/// Which ranks are drawn: of a folded graph (sim/player/fold.hpp) those of the whole one, with the spans of those that
/// stand for them.
struct RanksShown {
  int ranks = 0;                         ///< of the whole graph
  std::vector<std::vector<int>> drawn;   ///< by rank of the folded graph: those drawn of the whole one
  std::vector<std::vector<int>> groups;  ///< by rank of the whole graph: its groups there, by slot; of those drawn
};

/// One process a rank, one thread a lane. Each op is a slice, one without duration an instant; where a rank waited for
/// others a slice "wait for ranks" comes before; arrows join the parts of a collective. The end of updates is a mark
/// that says how many. The links of a schedule are a process of their own. Times are whole nanoseconds, written as
/// microseconds with three decimals.
class TraceWriter {
 public:
  /// Writes the opening of the document. `out` must outlive the writer.
  explicit TraceWriter(std::ostream& out, TraceOptions options = {});

  /// The spans added from now on are of `graph`, which must live until end_schedule(), the next schedule or finish().
  /// Rank r becomes process first_pid + r, "label / rank r (rank_names[r])", without the brackets where there is no
  /// such name; the links become the process after the last rank's. `memory`: by rank, for its track; empty: there is
  /// none. `shown`: where `graph` is folded, or not all of its ranks are drawn.
  void begin_schedule(const EventGraph& graph, const std::string& label, const std::vector<std::string>& rank_names,
                      int first_pid, std::vector<MemoryCourse> memory = {}, RanksShown shown = {});
  /// In order of their ends, as SpanSink. Throws std::logic_error where a span overlaps an earlier one of its lane by
  /// more than rounding explains or no schedule has begun, std::range_error for a time beyond 9e9 s, std::out_of_range
  /// for a rank, lane or label that the graph does not have.
  void add(const Span& span);
  SpanSink sink();
  /// Writes what is pending of the schedule. From here on its graph may be gone.
  void end_schedule();
  /// Writes what is pending and closes the document. A second call does nothing.
  void finish();
  /// Whether events were left out because of TraceOptions::max_events.
  bool truncated() const { return dropped_ > 0; }

 private:
  struct Thread {
    std::int64_t last_end = INT64_MIN;  // of what is drawn, in nanoseconds
    bool named = false;                 // of all ranks that it is drawn for
    std::vector<Span> body;             // repeated spans of one loop body, drawn together: they take turns on the lane
  };
  struct Slice {
    int rank = 0, lane = 0;
    std::int64_t begin = 0, end = 0;
    std::size_t slot = 0;  // of a collective: which of the rank's groups meets
  };
  struct Meeting {
    std::uint16_t label = 0;
    std::size_t parts = 0;      // come so far, of all ranks, drawn or not
    std::vector<Slice> slices;  // those drawn
  };

  Thread& thread_of(const Span& span);
  bool drawn(int rank) const { return !shown_.drawn[static_cast<std::size_t>(rank)].empty(); }
  void draw(const Span& span);
  void draw_body(Thread& thread);
  bool draw(const Span& span, Slice& slice, const std::string& name, const std::string& category,
            const std::string& args);
  void name(int pid, int tid, const char* what, const std::string& key, const std::string& value);
  void name_process(int rank);
  void name_thread(const Span& span, int number);
  void draw(const CounterFigure& figure);
  void meet(const Span& span, Slice* slice);
  void draw_flows(const Meeting& meeting);
  void draw_flows(std::vector<Slice> slices, std::uint16_t of);
  bool take(std::int64_t events);
  void write(const std::string& event);
  int pid_of(int rank) const { return first_pid_ + rank; }

  std::ostream& out_;
  TraceOptions options_;
  const char* separator_ = "\n";
  std::int64_t left_ = 0;     // events that the schedule may still write
  std::int64_t dropped_ = 0;  // events left out, of all schedules
  std::int64_t next_flow_ = 1;
  bool finished_ = false;

  // of the schedule under way
  const EventGraph* graph_ = nullptr;
  std::string label_;
  std::vector<std::string> rank_names_;
  int first_pid_ = 0;
  RanksShown shown_;
  std::vector<std::vector<Thread>> threads_;  // by rank and lane
  std::vector<bool> process_named_;           // by rank, and of the links
  std::map<std::int64_t, Meeting> meetings_;  // not complete, by number
  std::optional<TraceCounters> counters_;
};

}  // namespace accosim
