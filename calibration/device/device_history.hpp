// What the device did when, and what it counted: kept as events and in pinned memory while the work is on its way, read
// once it is done, so that nobody waits for it in a round.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "calibration/device/device.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

class DeviceHistory {
 public:
  /// The host is at most so many updates ahead of the device.
  static constexpr std::int64_t kMostAhead = 32;
  /// Counts are sent at most so often an update.
  static constexpr std::int64_t kMostCounts = 2;

  /// `spans`: whether to keep any. The streams outlive this.
  DeviceHistory(int rank, bool spans);

  /// Call it while the device is idle, `offset` after the common start.
  void start(Stream& compute, Seconds offset);

  /// Records what `body` gives to the stream as a span.
  template <typename Body>
  void span(TrainingSpan::Lane lane, const char* label, Stream& stream, Body&& body) {
    if (!keeps_more(lane)) return body();
    Event begin = take_event();
    stream.record(begin);
    body();
    Event end = take_event();
    stream.record(end);
    current_.push_back({lane, label, std::move(begin), std::move(end)});
  }

  /// Where the device writes, in pinned memory, for the update under way: the sum of this rank's losses, and the number
  /// of micro-batches of all ranks. Valid once the update has ended on the device.
  float* loss() { return &losses_.as<float>()[update_ % kSlots]; }
  std::int64_t* total() { return &totals_.as<std::int64_t>()[update_ % kSlots]; }
  /// A place for a number that is sent to the device; stays as it is until it has arrived.
  std::int64_t* next_count() { return &counts_.as<std::int64_t>()[counted_++ % (kSlots * kMostCounts)]; }

  /// All of the update has been given to streams that `compute` waits for; `own_count` of its micro-batches are this
  /// rank's.
  void end_update(Stream& compute, std::int64_t own_count);
  /// Waits for everything that was given to both streams. The spans are then those of the compute lane, then those of
  /// the other one, in order.
  void finish(Stream& compute, Stream& communication);

  struct Update {
    Seconds duration;
    std::int64_t total = 0;      ///< micro-batches of all ranks
    std::int64_t own_count = 0;  ///< of this rank
    double loss = 0;             ///< their sum
  };
  /// Those that have been read; after finish() all.
  const std::vector<Update>& updates() const { return updates_; }
  const std::vector<TrainingSpan>& spans() const { return spans_; }

 private:
  static constexpr std::int64_t kSlots = kMostAhead + 1;
  struct PendingSpan {
    TrainingSpan::Lane lane;
    const char* label;
    Event begin, end;
  };
  struct Pending {
    Event end;
    std::int64_t own_count;
    std::vector<PendingSpan> spans;
  };

  bool keeps_more(TrainingSpan::Lane lane);
  Event take_event();
  void give_back(Event event) { free_.push_back(std::move(event)); }
  void read_spans(std::vector<PendingSpan>& spans, std::int64_t update);
  /// Waits for the oldest update that has not been read.
  void read_oldest();

  int rank_;
  bool enabled_;
  PinnedMemory losses_, totals_, counts_;
  std::int64_t update_ = 0;
  std::int64_t counted_ = 0;
  std::int64_t given_[2] = {0, 0};  ///< spans of each lane
  std::vector<PendingSpan> current_;
  std::deque<Pending> pending_;
  std::vector<Event> free_;
  // Times are sums of short differences: events count in single precision.
  Event anchor_;
  Seconds anchor_time_;
  std::vector<Update> updates_;
  std::vector<TrainingSpan> spans_;
};

}  // namespace accocal
