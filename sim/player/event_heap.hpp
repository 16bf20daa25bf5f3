// The player's agenda: a 4-ary heap of (time, id), least first, ties by id, so that the order of events is a function
// of the graph alone. An event that is pushed while the first is being handled takes its place, which saves a sift in
// the common case of an op that ends and starts its successor.
#pragma once

#include <cstdint>
#include <vector>

namespace accosim {

struct Event {
  double time;  ///< seconds
  std::uint32_t id;

  bool before(const Event& other) const { return time < other.time || (time == other.time && id < other.id); }
};

class EventHeap {
 public:
  bool empty() const { return events_.empty(); }
  const Event& top() const { return events_[0]; }

  /// Takes the first event out; its place is filled by the next push() or by close().
  Event take() {
    open_ = true;
    return events_[0];
  }
  /// After the handling of a taken event.
  void close() {
    if (!open_) return;
    open_ = false;
    const Event last = events_.back();
    events_.pop_back();
    if (!events_.empty()) sift_down(last);
  }
  void push(Event event) {
    if (open_) {
      open_ = false;
      sift_down(event);
      return;
    }
    events_.push_back(event);
    std::size_t i = events_.size() - 1;
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (!event.before(events_[parent])) break;
      events_[i] = events_[parent];
      i = parent;
    }
    events_[i] = event;
  }

 private:
  void sift_down(Event event) {
    const std::size_t size = events_.size();
    std::size_t i = 0;
    for (;;) {
      const std::size_t child = 4 * i + 1;
      if (child >= size) break;
      std::size_t least = child;
      const std::size_t stop = child + 4 < size ? child + 4 : size;
      for (std::size_t c = child + 1; c < stop; ++c)
        if (events_[c].before(events_[least])) least = c;
      if (!events_[least].before(event)) break;
      events_[i] = events_[least];
      i = least;
    }
    events_[i] = event;
  }

  std::vector<Event> events_;
  bool open_ = false;  // events_[0] has been taken
};

}  // namespace accosim
