// A ring of pinned places, a queue of updates, a pool of events. All events of an update come after the end of the one
// before, on either stream, since the communication stream waits for what compute has been given.
#include "calibration/device/device_history.hpp"

#include <algorithm>
#include <utility>

namespace accocal {

DeviceHistory::DeviceHistory(int rank, bool spans)
    : rank_(rank),
      enabled_(spans),
      losses_(kSlots * sizeof(float)),
      totals_(kSlots * sizeof(std::int64_t)),
      counts_(kSlots * kMostCounts * sizeof(std::int64_t)),
      anchor_(true) {}

void DeviceHistory::start(Stream& compute, Seconds offset) {
  compute.record(anchor_);
  anchor_time_ = offset;
}

bool DeviceHistory::keeps_more(TrainingSpan::Lane lane) {
  std::int64_t& given = given_[static_cast<int>(lane)];
  if (!enabled_ || given >= static_cast<std::int64_t>(kMostSpans / 2)) return false;
  ++given;
  return true;
}

Event DeviceHistory::take_event() {
  if (free_.empty()) return Event(true);
  Event event = std::move(free_.back());
  free_.pop_back();
  return event;
}

void DeviceHistory::end_update(Stream& compute, std::int64_t own_count) {
  Event end = take_event();
  compute.record(end);
  pending_.push_back({std::move(end), own_count, std::exchange(current_, {})});
  ++update_;
  if (static_cast<std::int64_t>(pending_.size()) > kMostAhead) read_oldest();
}

void DeviceHistory::read_spans(std::vector<PendingSpan>& spans, std::int64_t update) {
  for (PendingSpan& span : spans) {
    spans_.push_back({rank_, span.lane, span.label, anchor_time_ + elapsed(anchor_, span.begin),
                      anchor_time_ + elapsed(anchor_, span.end), update});
    give_back(std::move(span.begin));
    give_back(std::move(span.end));
  }
  spans.clear();
}

void DeviceHistory::read_oldest() {
  Pending oldest = std::move(pending_.front());
  pending_.pop_front();
  oldest.end.synchronise();
  const auto number = static_cast<std::int64_t>(updates_.size());
  read_spans(oldest.spans, number);
  const Seconds duration = elapsed(anchor_, oldest.end);
  updates_.push_back(
      {duration, totals_.as<std::int64_t>()[number % kSlots], oldest.own_count, losses_.as<float>()[number % kSlots]});
  anchor_time_ += duration;
  give_back(std::exchange(anchor_, std::move(oldest.end)));
}

void DeviceHistory::finish(Stream& compute, Stream& communication) {
  communication.synchronise();
  compute.synchronise();
  while (!pending_.empty()) read_oldest();
  read_spans(current_, update_);
  std::ranges::stable_sort(spans_, [](const TrainingSpan& a, const TrainingSpan& b) {
    return a.lane != b.lane ? a.lane < b.lane : a.begin < b.begin;
  });
}

}  // namespace accocal
