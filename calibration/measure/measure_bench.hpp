// How a kernel's time is taken on a GPU: events around batches of launches, after a warm-up, on random data, with
// operands that change from launch to launch so that the L2 holds what it would hold in a step, or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/device/device.hpp"
#include "calibration/measure/measure_samples.hpp"
#include "models/base/units.hpp"
#include "models/spec/accocal_step.hpp"

namespace accocal {

enum class Content : std::uint8_t { kFloat, kBf16, kFp16, kFp8, kZeros, kGiven };

/// One array that a kernel reads or writes.
struct Operand {
  std::size_t bytes = 0;
  Content content = Content::kZeros;
  float deviation = 0.1F;  ///< of the normal values of kFloat and kBf16; kFp16 and kFp8 are of about that size
  bool fresh = false;      ///< a step has just written it: all launches share one copy, unless the L2 is to be cold
  std::vector<std::byte> given{};  ///< of kGiven, which is one and the same always
};

struct DeviceWork {
  std::vector<Operand> operands;
  /// Launches the kernel once, on arrays in the order of `operands`.
  std::function<void(const std::vector<void*>& at, Stream& stream)> launch;
};

struct BenchOptions {
  std::size_t beyond = std::size_t{128} << 20;  ///< bytes after which nothing older is left in the L2: twice its size
  // Long beside the 1 to 2 us that an event takes, and the 5 us of a graph's launch.
  Seconds batch{400e-6};  ///< a batch takes at least
  Seconds replay{1e-3};   ///< a batch of short kernels, which is one graph, takes about
  Seconds is_short = accosim::kReplayedBelow;
  int most_nodes = 256;  ///< of a graph
  int most_graphs = 8;
};

/// How much is run.
struct Effort {
  Seconds warm_up{5e-3}, counted{15e-3};
  int least_batches = 7, most_batches = 40;
};

/// A kernel made ready: its operands lie filled on the device.
class Runner {
 public:
  Seconds each() const { return each_; }        ///< estimated time of one launch
  int per_batch() const { return per_batch_; }  ///< launches
  Seconds batch_time() const { return per_batch_ * each_; }
  /// Launches the next batch.
  void batch(Stream& stream);

 private:
  friend class Bench;
  void launch(Stream& stream);

  const DeviceWork* work_ = nullptr;
  std::vector<std::vector<void*>> sets_;
  std::vector<Graph> graphs_;
  std::size_t next_ = 0, next_graph_ = 0;
  int per_batch_ = 1;
  Seconds each_;
};

/// Timed events, made once.
class Events {
 public:
  const Event& at(int i);

 private:
  std::deque<Event> events_;
};

/// `count` runs of `once` between events, number i between the events i and i + 1, without a wait of the host.
template <typename Once>
void give_timed(int count, Stream& stream, Events& events, Once&& once) {
  stream.record(events.at(0));
  for (int i = 0; i < count; ++i) {
    once();
    stream.record(events.at(i + 1));
  }
}

/// Seconds of each of them.
template <typename Once>
std::vector<double> timed(int count, Stream& stream, Events& events, Once&& once) {
  give_timed(count, stream, events, once);
  stream.synchronise();
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(elapsed(events.at(i), events.at(i + 1)).value);
  return seconds;
}

/// Fills an array on the device with `bytes` of what the operand holds.
void fill(void* at, const Operand& operand, std::size_t bytes, std::uint64_t seed, Stream& stream);

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {}

  /// Valid until the next is made ready; `work` must live as long. Throws DeviceError where the operands do not fit.
  Runner make_ready(const DeviceWork& work, bool cold);
  /// Seconds of one launch, each value the mean of a batch. Nothing where even the least would take longer than `most`.
  std::optional<Spread> time(Runner& runner, const Effort& effort, Seconds most);
  Stream& stream() { return stream_; }
  Events& events() { return events_; }
  /// Gives the operands' memory back.
  void release() { arena_ = DeviceMemory(); }

 private:
  void* place(std::size_t bytes);
  void reserve(std::size_t bytes);

  BenchOptions options_;
  Stream stream_;
  Events events_;
  DeviceMemory arena_;
  std::size_t used_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace accocal
