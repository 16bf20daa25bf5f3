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

/// What one sort of copy needs.
struct CopyPlace {
  PinnedMemory pinned, pinned2;
  std::vector<char> pageable;
  DeviceMemory device, device2;
};

CopyPlace place_for(const CopyCase& one) {
  CopyPlace place;
  place.device = DeviceMemory(one.bytes);
  if (one.direction == CopyDirection::kOnDevice || one.direction == CopyDirection::kBoth)
    place.device2 = DeviceMemory(one.bytes);
  if (one.direction == CopyDirection::kBoth) place.pinned2 = PinnedMemory(one.bytes);
  if (one.direction == CopyDirection::kOnDevice) return place;
  if (one.pinned) {
    place.pinned = PinnedMemory(one.bytes);
    scramble(place.pinned.as<char>(), one.bytes);
  } else {
    place.pageable.resize(one.bytes);
    scramble(place.pageable.data(), one.bytes);
  }
  return place;
}

/// A stream a direction, and the events of a batch.
struct CopyStreams {
  Stream stream, other;
  Event begin{true}, end{true}, other_end{true};
};

/// `count` copies, or as many pairs at once; seconds of one. Pageable ones keep the host busy, so its clock counts.
double copy_batch(const CopyCase& one, int count, CopyPlace& place, CopyStreams& on) {
  void* host = one.pinned ? place.pinned.as<void>() : place.pageable.data();
  on.stream.synchronise();
  on.other.synchronise();
  const double host_begin = monotonic_seconds();
  on.stream.record(on.begin);
  on.other.wait(on.begin);
  for (int i = 0; i < count; ++i) {
    switch (one.direction) {
      case CopyDirection::kToDevice: on.stream.copy_to_device(place.device.data(), host, one.bytes); break;
      case CopyDirection::kToHost: on.stream.copy_to_host(host, place.device.data(), one.bytes); break;
      case CopyDirection::kOnDevice:
        on.stream.copy_on_device(place.device.data(), place.device2.data(), one.bytes);
        break;
      case CopyDirection::kBoth:
        on.stream.copy_to_device(place.device.data(), host, one.bytes);
        on.other.copy_to_host(place.pinned2.as<void>(), place.device2.data(), one.bytes);
        break;
    }
  }
  on.stream.record(on.end);
  on.other.record(on.other_end);
  on.stream.synchronise();
  on.other.synchronise();
  if (!one.pinned) return (monotonic_seconds() - host_begin) / count;
  const double took = elapsed(on.begin, on.end).value;
  const bool both = one.direction == CopyDirection::kBoth;
  return (both ? std::max(took, elapsed(on.begin, on.other_end).value) : took) / count;
}

std::optional<ItemTimes> copy_time(const CopyCase& one, const Effort& effort, Seconds most) {
  constexpr double kBatch = 200e-6;
  const double asked = monotonic_seconds();
  CopyPlace place = place_for(one);
  CopyStreams on;
  if (place.device.size() > 0) fill_random(place.device.as<float>(), one.bytes / 4, 1.0F, 1, on.stream);
  if (place.device2.size() > 0) fill_random(place.device2.as<float>(), one.bytes / 4, 1.0F, 2, on.stream);
  copy_batch(one, 1, place, on);
  const double each = std::max(copy_batch(one, 1, place, on), 1e-6);
  const int count = std::clamp(static_cast<int>(kBatch / each), 1, 100);
  const double left = most.value - (monotonic_seconds() - asked), batch = each * count;
  if (effort.least_batches * batch > left) return std::nullopt;
  const double wanted = std::min({effort.counted.value / batch, left / batch, 1e6});
  const int runs = std::clamp(static_cast<int>(wanted), effort.least_batches, effort.most_batches);
  Values values;
  for (int i = 0; i < runs; ++i) values.push_back(copy_batch(one, count, place, on));
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
