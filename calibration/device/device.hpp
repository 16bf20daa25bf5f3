// What runs on a GPU, seen from the host: its memory, its streams, its events. No CUDA header is needed to say it; so
// what is built on it compiles everywhere, and tests run it on a device that is played on the host (tests/on_host),
// which takes the work of its streams in any order that the events allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "calibration/base/hidden.hpp"
#include "calibration/base/names.hpp"
#include "models/base/units.hpp"

namespace accocal {

/// A call of CUDA, cuBLAS or NCCL that failed: which, where and why, in words for the user.
class DeviceError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// 0 where there is no device, no driver, or CUDA was not built in; never throws. Starts CUDA in this process, which
/// must then not fork.
int device_count() noexcept;
/// One line why there is no device: "this accocal was built without CUDA; ...", "the driver is too old...".
std::string why_no_device();

/// All that a sample means nothing without; 0 or empty where the system does not say.
struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int sm_count = 0;
  std::int64_t memory = 0;            ///< bytes, of the whole device
  std::int64_t l2 = 0;                ///< bytes
  double memory_bandwidth = 0;        ///< B/s by the bus width and the memory's highest clock
  double sm_clock = 0;                ///< Hz, the highest
  double memory_clock = 0;            ///< Hz, the highest
  double power_limit = 0;             ///< W
  std::string driver{}, runtime{};    ///< versions of CUDA
  std::string products{}, network{};  ///< versions of cuBLASLt and of NCCL
};
DeviceInfo device_info(int device);

/// The current state of the device; 0 where the system does not say.
struct DeviceState {
  double sm_clock = 0, memory_clock = 0;  ///< Hz
  double power = 0;                       ///< W
  double temperature = 0;                 ///< degrees C
  std::string throttled;                  ///< why the clocks are held down, empty when they are not
};
DeviceState device_state(int device);

/// Makes this the calling thread's device, for all that follows.
void use_device(int device);
/// Bytes of the device in use, by anybody.
std::int64_t device_memory_used();
/// Waits until the device has finished everything that it was given. Not to be called inside a round.
void synchronise_device();

/// Bytes that `allocate` gives, if there are any to give, and `release` takes back.
template <void* (*allocate)(std::size_t bytes), void (*release)(void* data, std::size_t bytes) noexcept>
class OwnedMemory {
 public:
  OwnedMemory() = default;
  explicit OwnedMemory(std::size_t bytes) : data_(bytes > 0 ? allocate(bytes) : nullptr), size_(bytes) {}
  ~OwnedMemory() {
    if (data_ != nullptr) release(data_, size_);
  }
  OwnedMemory(OwnedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  OwnedMemory& operator=(OwnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    const OwnedMemory old(std::move(other));
    return *this;
  }

  std::size_t size() const { return size_; }
  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Throws DeviceError with what was free when there are not enough.
void* allocate_on_device(std::size_t bytes);
void release_on_device(void* data, std::size_t bytes) noexcept;
void* allocate_pinned(std::size_t bytes);
void release_pinned(void* data, std::size_t bytes) noexcept;

/// Bytes on the device, aligned to 256.
using DeviceMemory = OwnedMemory<allocate_on_device, release_on_device>;
/// Bytes of the host that the device copies from and to by itself.
using PinnedMemory = OwnedMemory<allocate_pinned, release_pinned>;

/// A point in a stream's work. Timed ones cost more. Movable; a moved-from event may only be destroyed.
class Event {
 public:
  explicit Event(bool timed = false);

  /// Has everything before the last record() ended? True before the first.
  bool done() const;
  /// Blocks the calling thread until done().
  void synchronise() const;

  struct Handle;
  Handle& handle() const { return *handle_; }

 private:
  Hidden<Handle> handle_;
};

/// From one timed event to a later one, both done.
Seconds elapsed(const Event& from, const Event& to);

/// Work in order; ordered with other streams by events alone. Of two, the one of high priority gets free
/// multiprocessors first.
class Stream {
 public:
  enum class Priority : std::uint8_t { kLow, kHigh };
  explicit Stream(Priority priority = Priority::kLow);

  void record(const Event& event);
  /// Work given after this call starts only when the work before the event's last record() has ended.
  void wait(const Event& event);
  void synchronise();

  /// Throw DeviceError where CUDA refuses; what fails on the device later is thrown by a later call.
  void copy_to_device(void* device, const void* host, std::size_t bytes);
  void copy_to_host(void* host, const void* device, std::size_t bytes);
  void copy_on_device(void* to, const void* from, std::size_t bytes);
  void set_zero(void* device, std::size_t bytes);

  struct Handle;
  Handle& handle() const { return *handle_; }

 private:
  Hidden<Handle> handle_;
};

/// A stream's work between begin and end, recorded once, launched as one (a CUDA graph).
class Graph {
 public:
  /// Records instead of running what `body` gives to the stream.
  template <typename Body>
  Graph(Stream& stream, Body&& body) : Graph() {
    begin(stream);
    body();
    end(stream);
  }
  void launch(Stream& stream);

  struct Handle;

 private:
  Graph();
  void begin(Stream& stream);
  void end(Stream& stream);
  Hidden<Handle> handle_;
};

}  // namespace accocal
