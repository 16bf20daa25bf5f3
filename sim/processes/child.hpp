// A process forked from this one, and what it sends back: for what may crash, hang or use up its memory, for SimGrid,
// which allows one simulation a process, and for all cores of a machine.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace accosim {

/// Plain values travel as their bytes: both ends are the same binary.
template <class T>
std::string_view as_bytes(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
T from_bytes(std::string_view bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

struct Record {
  std::uint8_t tag = 0;  ///< what it is, as the two ends have agreed
  std::string_view bytes;
};

/// The parent as its child sees it. A child whose parent is gone ends.
class Parent {
 public:
  explicit Parent(int socket) : socket_(socket) {}

  void send(const Record& record) const;
  /// What the parent writes next, so many bytes; false where nothing more will come.
  bool read(void* to, std::size_t bytes) const;

 private:
  int socket_;
};

/// Ended, with what it leads as a process group, and waited for however its owner leaves.
class Child {
 public:
  /// Does `body` in a forked process, which ends when it returns and dies with this one. What `body` throws ends it as
  /// std::terminate() does. Throws std::system_error where no process can be started.
  explicit Child(const std::function<void(Parent&)>& body);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// Readable once something has arrived or nothing more will.
  int socket() const { return socket_; }
  /// For its read(). False where it is gone.
  bool write(std::string_view bytes) const;
  /// Takes some of what has arrived; with `waits` not before there is anything: who sends may stop in the middle. False
  /// where nothing more will come.
  bool take(bool waits);
  /// The next record of which all has been taken; its bytes stay until the next take().
  std::optional<Record> next();
  /// The status with which it ends by itself, as waitpid() gives it.
  int wait();

 private:
  int end();

  pid_t pid_ = -1;
  int socket_ = -1;
  std::string taken_;
  std::size_t read_ = 0;  ///< of these bytes
};

}  // namespace accosim
