// Counter tracks of a trace: figures that change in time, such as the memory that a rank holds. Changes come in the
// order in which ops end, and each track is written in the order of time, so a change waits here until none can come
// that is earlier.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "models/spec/trace.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// What a rank's memory is while it computes: what stays, and what a micro-batch fills op by op in its forward pass and
/// frees in its backward pass.
struct MemoryCourse {
  Bytes stays, of_micro_batch;
};

/// A figure in time. Times are whole nanoseconds.
class CounterTrack {
 public:
  void change(std::int64_t time, double amount);
  /// Gives `write` the sum of the changes so far after each that is earlier than `time`, in order; where they cancel
  /// but for rounding, 0.
  void flush(std::int64_t time, const std::function<void(std::int64_t time, double sum)>& write);

 private:
  std::map<std::int64_t, double> changes_;
  double sum_ = 0, largest_ = 0;
  std::int64_t last_ = INT64_MIN;
};

/// The share of its micro-batch's forward or backward pass that each op is of a program: by lane and op; 0 for what is
/// neither.
std::vector<std::vector<double>> shares_of_passes(const Program& program, const std::vector<Label>& labels);

/// A figure to be written: of a rank, or of a link where `rank` is negative.
struct CounterFigure {
  int rank = -1, link = -1;
  const char* name = "";  ///< "memory"; of a link its name says it
  const char* unit = "";  ///< "GiB"
  std::int64_t time = 0;
  double value = 0;
};

/// The tracks of one schedule: the memory of each rank and the multiprocessors that collectives hold on it, and how
/// much of its bandwidth each link gives. A collective's bytes are spread evenly over the time from its first flow to
/// its end, so the area below a link's track is what went over it.
class TraceCounters {
 public:
  using Write = std::function<void(const CounterFigure&)>;

  /// `memory`: by rank; empty: not known. Loops that repeat more than `max_repeats` times are one block. `graph`
  /// outlives this.
  TraceCounters(const EventGraph& graph, std::vector<MemoryCourse> memory, int max_repeats, Write write);

  /// As they come, of all ranks. `drawn`: whether the rank has tracks.
  void add(const Span& span, bool drawn);
  /// Writes what is pending.
  void finish();

 private:
  struct RankTracks {
    CounterTrack memory, sms;
    std::vector<std::int64_t> ended;           // by lane: no span to come begins earlier
    std::vector<bool> computes, communicates;  // by lane
  };
  void add_memory(const Span& span, double share, RankTracks& tracks);
  void add_flows(const Span& span, const Plan& plan);
  void flush_rank(int rank, bool all);
  void flush_links(bool all);

  const EventGraph& graph_;
  std::vector<MemoryCourse> memory_;
  int max_repeats_;
  Write write_;
  std::vector<std::vector<std::vector<double>>> shares_;  // by program, lane and op
  std::vector<RankTracks> ranks_;
  std::map<int, CounterTrack> links_;  // those that have carried something
};

/// Whole nanoseconds. Throws std::logic_error for what is not finite, std::range_error beyond 9e9 s.
std::int64_t trace_nanoseconds(Seconds time);

}  // namespace accosim
