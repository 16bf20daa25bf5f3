// calibration/device/device.hpp without a device: streams are queues, and nothing runs before somebody asks or waits.
// Then the next piece of work is drawn among the heads of all queues that the events allow, in favour of now one, now
// another stream; so that what no event orders comes out in different orders, and a missing wait in wrong results.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "calibration/base/random.hpp"
#include "calibration/cuda/kernel_language.hpp"
#include "calibration/device/device.hpp"
#include "tests/on_host/fibers.hpp"
#include "tests/on_host/on_host.hpp"

namespace accocal {
namespace {

// How long a thread waits for the others to give what it waits for, and between two looks at whether something may
// begin that could not; beyond them they hang.
constexpr std::chrono::milliseconds kLook{50};
constexpr int kLooks = 400;
constexpr std::int64_t kMemory = std::int64_t{1} << 30;
constexpr std::size_t kAlignment = 256;

// One call of record().
struct Record {
  bool passed = false;
  Seconds at;
};

// An item, or a record, or a wait.
struct Queued {
  Item item;
  std::shared_ptr<Record> record;
  std::shared_ptr<const Record> wait;
};

}  // namespace

struct Event::Handle {
  bool timed = false;
  std::shared_ptr<const Record> last;
};

struct Stream::Handle {
  std::deque<Queued> queue;
  std::uint64_t given = 0, ended = 0;
  std::uint64_t weight = 1;
  std::thread::id owner = std::this_thread::get_id();
  std::vector<Queued>* recording = nullptr;
  ~Handle();
};

struct Graph::Handle {
  std::vector<Queued> work;
  Stream::Handle* recording = nullptr;
  ~Handle() {
    if (recording != nullptr) recording->recording = nullptr;
  }
};

namespace {

// All of it behind the mutex.
class PlayedDevice {
 public:
  std::mutex mutex;
  std::vector<Stream::Handle*> streams;
  int count = 1;
  std::int64_t memory = kMemory, used = 0;
  Seconds clock, item_time{1e-6};
  bool logging = false;
  std::vector<std::string> log;

  void set_seed(std::uint64_t seed) {
    seed_ = seed;
    drawn_ = favours_left_ = 0;
  }
  std::uint64_t draw() { return mixed({seed_, drawn_++}); }

  void give(Stream::Handle& stream, Queued work) {
    if (stream.recording != nullptr) {
      if (work.record || work.wait) throw DeviceError("an event in the middle of a graph that is being recorded");
      stream.recording->push_back(std::move(work));
      return;
    }
    stream.queue.push_back(std::move(work));
    ++stream.given;
    changed_.notify_all();
  }

  // Does one piece of work of any stream; false where none may begin.
  bool step() {
    Stream::Handle* stream = choose();
    if (stream == nullptr) return false;
    const Queued work = std::move(stream->queue.front());
    stream->queue.pop_front();
    ++stream->ended;
    changed_.notify_all();
    if (work.wait) return true;
    clock += item_time;
    if (work.record) {
      work.record->passed = true;
      work.record->at = clock;
    } else {
      work.item.work();
    }
    return true;
  }

  // Until done(), which is asked after every look: what it waits for may have ended while another thread held the lock
  // for longer than a look takes. False when nothing has become able to begin for very long.
  template <typename Done>
  bool run_until(std::unique_lock<std::mutex>& lock, const Done& done) {
    for (int look = 0; !done(); ++look) {
      if (look == kLooks) return false;
      if (step() || changed_.wait_for(lock, kLook) == std::cv_status::no_timeout) look = 0;
    }
    return true;
  }

  template <typename Done>
  void run_until(std::unique_lock<std::mutex>& lock, const char* what, const Done& done) {
    if (!run_until(lock, done)) throw std::logic_error(std::string(what) + " is waited for in vain: " + heads());
  }

 private:
  Stream::Handle* choose() {
    if (favours_left_ == 0) {
      for (Stream::Handle* stream : streams) stream->weight = std::uint64_t{1} << (draw() % 8);
      favours_left_ = 1 + draw() % 32;
    }
    --favours_left_;
    std::vector<Stream::Handle*> able;
    std::uint64_t all = 0;
    for (Stream::Handle* stream : streams) {
      if (stream->queue.empty() || !may_begin(stream->queue.front())) continue;
      able.push_back(stream);
      all += stream->weight;
    }
    if (able.empty()) return nullptr;
    std::uint64_t at = draw() % all;
    auto chosen = able.begin();
    for (; at >= (*chosen)->weight; ++chosen) at -= (*chosen)->weight;
    return *chosen;
  }

  static bool may_begin(const Queued& work) {
    if (work.wait) return work.wait->passed;
    return !work.item.ready || work.item.ready();
  }

  std::string heads() const {
    std::string text = "nothing that was given to the played device can begin; first in its streams stand:";
    for (const Stream::Handle* stream : streams) {
      if (stream->queue.empty()) continue;
      const Queued& head = stream->queue.front();
      text += head.wait ? " a wait for an event;" : " " + head.item.name + ";";
    }
    return text;
  }

  std::condition_variable changed_;
  std::uint64_t seed_ = 1, drawn_ = 0, favours_left_ = 0;
};

// Never destroyed: what is held to the very end gives itself back later.
PlayedDevice& played() {
  static auto* device = new PlayedDevice;
  return *device;
}

/// The same with its mutex held, for as long as this lasts.
class Held {
 public:
  PlayedDevice* operator->() const { return &played(); }

 private:
  std::unique_lock<std::mutex> lock_{played().mutex};
};

thread_local int device_in_use = 0;

void check_device(int device) {
  if (device < 0 || device >= played().count)
    throw DeviceError("there is no device " + std::to_string(device) + " on the played host");
}

void refuse_recording(const Stream::Handle& stream, const char* what) {
  if (stream.recording != nullptr) throw DeviceError(std::string("a stream is ") + what + " while it is recorded");
}

void give_bytes(Stream& stream, const char* name, std::size_t bytes, std::function<void()> work) {
  log_launch(std::string(name) + " " + std::to_string(bytes));
  if (bytes > 0) give(stream, {name, std::move(work)});
}

// Giving memory back waits for the whole device, here as there.
void* filled_memory(std::size_t bytes) {
  void* const data = ::operator new (bytes, std::align_val_t{kAlignment});
  std::memset(data, 0xff, bytes);  // a NaN in every type
  return data;
}

void run_all() {
  const Held device;
  while (std::uncaught_exceptions() == 0 && device->step()) {
  }
}

}  // namespace

bool device_is_played() { return true; }
void set_interleaving(std::uint64_t seed) { Held()->set_seed(seed); }
void set_device_count(int count) { Held()->count = count; }
void set_device_memory(std::int64_t bytes) { Held()->memory = bytes; }
void set_item_time(Seconds time) { Held()->item_time = time; }
std::uint64_t draw() { return played().draw(); }

void start_launch_log() {
  const Held device;
  device->log.clear();
  device->logging = true;
}
std::vector<std::string> end_launch_log() {
  const Held device;
  device->logging = false;
  return std::exchange(device->log, {});
}
void log_launch(const std::string& line) {
  if (const Held device; device->logging) device->log.push_back(line);
}
void note_kernel(const char* name, std::int64_t rows, std::int64_t columns) {
  log_launch(std::string(name) + " " + std::to_string(rows) + " x " + std::to_string(columns));
}

void give(Stream& stream, Item item) { Held()->give(stream.handle(), {std::move(item), nullptr, nullptr}); }

void give_kernel(const char* what, Stream& stream, std::int64_t blocks, unsigned threads, bool together,
                 std::function<void()> thread) {
  const KernelShape shape{static_cast<unsigned>(blocks), threads, together};
  give(stream, {what, [shape, thread = std::move(thread)] { run_kernel(shape, thread, draw()); }});
}

// Fast, so that kernels that last for a time do not: only items ask, one at a time.
std::uint64_t timer_ns() {
  static std::uint64_t now = 0;
  return now += 50'000'000;
}

int device_count() noexcept { return played().count; }
std::string why_no_device() { return "no device: the played host has none"; }

DeviceInfo device_info(int device) {
  check_device(device);
  DeviceInfo info{.name = "Played on the host",
                  .major = 9,
                  .sm_count = 4,
                  .memory = played().memory,
                  .l2 = 64 << 10,
                  .memory_bandwidth = 1e12,
                  .sm_clock = 1e9,
                  .memory_clock = 2e9,
                  .power_limit = 300};
  info.driver = info.runtime = info.products = info.network = "0.0";
  return info;
}

DeviceState device_state(int device) {
  check_device(device);
  return {1e9, 2e9, 200, 50, ""};
}

void use_device(int device) {
  check_device(device);
  device_in_use = device;
}

std::int64_t device_memory_used() { return Held()->used; }

// A rank is a process on a device and may be a thread here: it waits for its own streams.
void synchronise_device() {
  std::unique_lock lock(played().mutex);
  played().run_until(lock, "the device", [] {
    return std::all_of(played().streams.begin(), played().streams.end(), [](const Stream::Handle* stream) {
      return stream->queue.empty() || stream->owner != std::this_thread::get_id();
    });
  });
}

void* allocate_on_device(std::size_t bytes) {
  check_device(device_in_use);
  const Held device;
  const std::int64_t free = device->memory - device->used;
  if (static_cast<std::int64_t>(bytes) > free)
    throw DeviceError("no " + std::to_string(bytes) + " bytes on the device, of which " + std::to_string(free) +
                      " are free");
  device->used += static_cast<std::int64_t>(bytes);
  return filled_memory(bytes);
}

void release_on_device(void* data, std::size_t bytes) noexcept {
  run_all();
  Held()->used -= static_cast<std::int64_t>(bytes);
  ::operator delete (data, std::align_val_t{kAlignment});
}

void* allocate_pinned(std::size_t bytes) { return filled_memory(bytes); }

void release_pinned(void* data, std::size_t) noexcept {
  run_all();
  ::operator delete (data, std::align_val_t{kAlignment});
}

Event::Event(bool timed) : handle_(make_hidden<Handle>()) { handle_->timed = timed; }

bool Event::done() const {
  bool idle = false;
  {
    const std::unique_lock lock(played().mutex);
    for (std::uint64_t steps = played().draw() % 4; steps > 0 && !idle; --steps) idle = !played().step();
    if (!handle_->last || handle_->last->passed) return true;
  }
  // Another thread has to give something first.
  if (idle) std::this_thread::sleep_for(std::chrono::microseconds(20));
  return false;
}

void Event::synchronise() const {
  std::unique_lock lock(played().mutex);
  const std::shared_ptr<const Record> last = handle_->last;
  played().run_until(lock, "an event", [&] { return !last || last->passed; });
}

Seconds elapsed(const Event& from, const Event& to) {
  const std::unique_lock lock(played().mutex);
  for (const Event* event : {&from, &to}) {
    const Event::Handle& handle = event->handle();
    if (!handle.timed) throw DeviceError("the time of an event that is not timed");
    if (!handle.last || !handle.last->passed) throw DeviceError("the time of an event that is not done");
  }
  return to.handle().last->at - from.handle().last->at;
}

Stream::Stream(Priority) : handle_(make_hidden<Handle>()) {
  check_device(device_in_use);
  Held()->streams.push_back(handle_.get());
}

Stream::Handle::~Handle() {
  std::unique_lock lock(played().mutex);
  // When something has failed, what is left may wait for those who are gone.
  if (std::uncaught_exceptions() == 0) played().run_until(lock, [this] { return queue.empty(); });
  std::erase(played().streams, this);
}

void Stream::record(const Event& event) {
  const Held device;
  auto record = std::make_shared<Record>();
  device->give(*handle_, {{}, record, nullptr});
  event.handle().last = std::move(record);
}

void Stream::wait(const Event& event) {
  const Held device;
  if (event.handle().last) device->give(*handle_, {{}, nullptr, event.handle().last});
}

void Stream::synchronise() {
  std::unique_lock lock(played().mutex);
  refuse_recording(*handle_, "waited for");
  played().run_until(lock, "a stream", [this, given = handle_->given] { return handle_->ended >= given; });
}

void Stream::copy_to_device(void* device, const void* host, std::size_t bytes) {
  give_bytes(*this, "copy_to_device", bytes, [=] { std::memcpy(device, host, bytes); });
}
void Stream::copy_to_host(void* host, const void* device, std::size_t bytes) {
  give_bytes(*this, "copy_to_host", bytes, [=] { std::memcpy(host, device, bytes); });
}
void Stream::copy_on_device(void* to, const void* from, std::size_t bytes) {
  give_bytes(*this, "copy_on_device", bytes, [=] { std::memcpy(to, from, bytes); });
}
void Stream::set_zero(void* device, std::size_t bytes) {
  give_bytes(*this, "set_zero", bytes, [=] { std::memset(device, 0, bytes); });
}

Graph::Graph() : handle_(make_hidden<Handle>()) {}

void Graph::begin(Stream& stream) {
  refuse_recording(stream.handle(), "recorded");
  handle_->recording = &stream.handle();
  stream.handle().recording = &handle_->work;
}
void Graph::end(Stream&) { std::exchange(handle_->recording, nullptr)->recording = nullptr; }

void Graph::launch(Stream& stream) {
  const Held device;
  refuse_recording(stream.handle(), "given a graph");
  for (const Queued& work : handle_->work) device->give(stream.handle(), work);
}

}  // namespace accocal
