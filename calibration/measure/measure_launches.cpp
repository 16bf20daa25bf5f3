// What it costs to say something to the device: launches, graphs, events; and the copies between the host and it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "calibration/base/random.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/measure/measure_items.hpp"
#include "calibration/measure/measure_rank.hpp"

namespace accocal {
namespace {

/// A stream's head that waits until the host has given all of what follows, so that the host's own pace is not seen.
class Gate {
 public:
  /// Loads the kernels, which a device at work might not do.
  explicit Gate(Stream& stream) : stop_(sizeof(std::int32_t)) {
    nothing(stream);
    close(stream);
    open();
    stream.synchronise();
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void close(Stream& stream) {
    *flag() = 0;
    hold_multiprocessors(1, flag(), kLongest, stream);
  }
  void open() { *flag() = 1; }

 private:
  static constexpr Seconds kLongest{50e-3};
  volatile std::int32_t* flag() const { return stop_.as<std::int32_t>(); }
  PinnedMemory stop_;
};

using Values = std::vector<double>;

/// `once` gives seconds of one thing; run once uncounted.
template <typename Once>
Spread repeated(const Effort& effort, Once&& once) {
  once();
  Values values;
  for (int i = 0; i < effort.most_batches; ++i) values.push_back(once());
  return spread_of(values);
}

void launch_many(int count, Stream& stream) {
  for (int i = 0; i < count; ++i) nothing(stream);
}

/// Of one of `count` calls by the host's clock, the queue empty before.
template <typename Call>
Spread by_host(Lab lab, int count, Stream& stream, Call&& call) {
  return repeated(lab.efforts.launch, [&] {
    stream.synchronise();
    const double begin = monotonic_seconds();
    for (int i = 0; i < count; ++i) call();
    const double end = monotonic_seconds();
    stream.synchronise();
    return (end - begin) / count;
  });
}

Spread host_launch(Lab lab) {
  Stream stream;
  return by_host(lab, lab.efforts.launches, stream, [&] { nothing(stream); });
}

Spread back_to_back(Lab lab) {
  Stream stream;
  Gate gate(stream);
  const Event begin(true), end(true);
  const int count = 4 * lab.efforts.launches;
  return repeated(lab.efforts.launch, [&] {
    gate.close(stream);
    stream.record(begin);
    launch_many(count, stream);
    stream.record(end);
    gate.open();
    stream.synchronise();
    return elapsed(begin, end).value / count;
  });
}

/// By the difference of two graphs, so that the launch of the graph itself is not in it.
Spread graph_node(Lab lab) {
  Stream stream;
  const int count = 2 * lab.efforts.launches;
  nothing(stream);
  stream.synchronise();
  Graph shorter(stream, [&] { launch_many(count, stream); });
  Graph longer(stream, [&] { launch_many(2 * count, stream); });
  const Event a(true), b(true), c(true);
  return repeated(lab.efforts.launch, [&] {
    shorter.launch(stream);  // the first of a series also pays for the host's way to the device
    stream.record(a);
    shorter.launch(stream);
    stream.record(b);
    longer.launch(stream);
    stream.record(c);
    stream.synchronise();
    return std::max(0.0, (elapsed(b, c) - elapsed(a, b)).value / count);
  });
}

Spread graph_launch(Lab lab) {
  Stream stream;
  nothing(stream);
  stream.synchronise();
  Graph graph(stream, [&] { nothing(stream); });
  return by_host(lab, std::max(1, lab.efforts.launches / 4), stream, [&] { graph.launch(stream); });
}

Spread event_record(Lab lab) {
  Stream stream;
  const Event event;
  return by_host(lab, lab.efforts.launches, stream, [&] { stream.record(event); });
}

/// Empty kernels that go to and fro between two streams, less as many in one stream.
Spread stream_wait(Lab lab) {
  Stream here, there(Stream::Priority::kHigh);
  Gate gate(here);
  const Event begin(true), end(true), one_stream(true);
  const int trips = std::max(1, lab.efforts.launches / 2);
  std::vector<Event> outs(static_cast<std::size_t>(trips)), backs(static_cast<std::size_t>(trips));
  return repeated(lab.efforts.launch, [&] {
    gate.close(here);
    here.record(begin);
    launch_many(2 * trips, here);
    here.record(one_stream);
    for (std::size_t i = 0; i < outs.size(); ++i) {
      const Event &out = outs[i], &back = backs[i];
      nothing(here);
      here.record(out);
      there.wait(out);
      nothing(there);
      there.record(back);
      here.wait(back);
    }
    here.record(end);
    gate.open();
    here.synchronise();
    there.synchronise();
    return std::max(0.0, (elapsed(one_stream, end) - elapsed(begin, one_stream)).value / (2 * trips));
  });
}

/// Random bytes, since a link may do better on zeros.
template <typename Bytes>
void scramble(Bytes* to, std::size_t bytes) {
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    const std::uint64_t value = mixed({11, i});
    std::memcpy(to + i, &value, 8);
  }
}

/// Copies of one sort: their memory at both ends, a stream a direction, and the events of a batch.
class Copies {
 public:
  explicit Copies(const CopyCase& one) : one_(one), device_(one.bytes) {
    const bool on_device = one.direction == CopyDirection::kOnDevice;
    if (on_device || both()) device2_ = DeviceMemory(one.bytes);
    if (both()) pinned2_ = PinnedMemory(one.bytes);
    if (!on_device && one.pinned) {
      pinned_ = PinnedMemory(one.bytes);
      scramble(pinned_.as<char>(), one.bytes);
    } else if (!on_device) {
      pageable_.resize(one.bytes);
      scramble(pageable_.data(), one.bytes);
    }
    if (device_.size() > 0) fill_random(device_.as<float>(), one.bytes / 4, 1.0F, 1, stream_);
    if (device2_.size() > 0) fill_random(device2_.as<float>(), one.bytes / 4, 1.0F, 2, stream_);
  }

  /// `count` copies, or as many pairs at once; seconds of one. Pageable ones keep the host busy, so its clock counts.
  double batch(int count) {
    stream_.synchronise();
    other_.synchronise();
    const double host_begin = monotonic_seconds();
    stream_.record(begin_);
    other_.wait(begin_);
    for (int i = 0; i < count; ++i) give();
    stream_.record(end_);
    other_.record(other_end_);
    stream_.synchronise();
    other_.synchronise();
    if (!one_.pinned) return (monotonic_seconds() - host_begin) / count;
    const double took = elapsed(begin_, end_).value;
    return (both() ? std::max(took, elapsed(begin_, other_end_).value) : took) / count;
  }

 private:
  bool both() const { return one_.direction == CopyDirection::kBoth; }
  void give() {
    void* const host = one_.pinned ? pinned_.as<void>() : pageable_.data();
    switch (one_.direction) {
      case CopyDirection::kToDevice: stream_.copy_to_device(device_.data(), host, one_.bytes); break;
      case CopyDirection::kToHost: stream_.copy_to_host(host, device_.data(), one_.bytes); break;
      case CopyDirection::kOnDevice: stream_.copy_on_device(device_.data(), device2_.data(), one_.bytes); break;
      case CopyDirection::kBoth:
        stream_.copy_to_device(device_.data(), host, one_.bytes);
        other_.copy_to_host(pinned2_.data(), device2_.data(), one_.bytes);
        break;
    }
  }

  CopyCase one_;
  PinnedMemory pinned_, pinned2_;
  std::vector<char> pageable_;
  DeviceMemory device_, device2_;
  Stream stream_, other_;
  Event begin_{true}, end_{true}, other_end_{true};
};

std::optional<ItemTimes> copy_time(const CopyCase& one, const Effort& effort, Seconds most) {
  constexpr double kBatch = 200e-6;
  const double asked = monotonic_seconds();
  Copies copies(one);
  copies.batch(1);
  const double each = std::max(copies.batch(1), 1e-6);
  const int count = std::clamp(static_cast<int>(kBatch / each), 1, 100);
  const double left = most.value - (monotonic_seconds() - asked), batch = each * count;
  if (effort.least_batches * batch > left) return std::nullopt;
  const double wanted = std::min({effort.counted.value / batch, left / batch, 1e6});
  const int runs = std::clamp(static_cast<int>(wanted), effort.least_batches, effort.most_batches);
  Values values;
  for (int i = 0; i < runs; ++i) values.push_back(copies.batch(count));
  return ItemTimes{spread_of(values), {}};
}

}  // namespace

std::vector<MeasureItem> launch_items(Lab lab) {
  const std::vector<std::pair<std::string, Spread (*)(Lab)>> kinds = {
      {"host_launch", host_launch},   {"back_to_back", back_to_back}, {"graph_node", graph_node},
      {"graph_launch", graph_launch}, {"event_record", event_record}, {"stream_wait", stream_wait}};
  std::vector<MeasureItem> items;
  for (const auto& kind : kinds)
    items.push_back({"launch: " + kind.first,
                     "launch: " + kind.first,
                     {{"what", "launch"}, {"kind", kind.first}},
                     [measure = kind.second, lab](Seconds, bool) {
                       return ItemTimes{measure(lab), {}};
                     }});
  return items;
}

std::vector<MeasureItem> copy_items(const std::vector<CopyCase>& cases, Lab lab) {
  std::vector<MeasureItem> items;
  for (const CopyCase& one : cases) {
    const char* memory = one.direction == CopyDirection::kOnDevice ? "device" : one.pinned ? "pinned" : "pageable";
    items.push_back({fmt::format("copy {} {} {} B", name_of(one.direction), memory, one.bytes),
                     fmt::format("copies {} {}", name_of(one.direction), memory),
                     {{"what", "copy"},
                      {"direction", name_of(one.direction)},
                      {"memory", memory},
                      {"bytes", static_cast<std::int64_t>(one.bytes)}},
                     [one, lab](Seconds most, bool) { return copy_time(one, lab.efforts.copy, most); }});
  }
  return items;
}

}  // namespace accocal
