#include "sim/processes/child.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <system_error>

namespace accosim {
namespace {

constexpr std::size_t kAtOnce = 65536;  // bytes that are taken

// Before each record: its tag and its length.
constexpr std::size_t kHead = sizeof(std::uint8_t) + sizeof(std::size_t);

/// Calls again what a signal has interrupted.
template <class Call>
auto uninterrupted(const Call& call) {
  for (;;)
    if (const auto result = call(); result >= 0 || errno != EINTR) return result;
}

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted([&] { return write(to, bytes.data(), bytes.size()); });
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Nothing may leave it: a child must never go on as its parent.
[[noreturn]] void be_child(int socket, pid_t parent, const std::function<void(Parent&)>& body) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would hear of what it does
  if (getppid() != parent) _exit(0);
  std::signal(SIGPIPE, SIG_IGN);
  Parent to(socket);
  body(to);
  _exit(0);  // no destructors, no atexit: what the parent opened is the parent's to close
}

}  // namespace

void Parent::send(const Record& record) const {
  const std::string head = std::string(as_bytes(record.tag)) + std::string(as_bytes(record.bytes.size()));
  if (!write_all(socket_, head) || !write_all(socket_, record.bytes)) _exit(0);
}

bool Parent::read(void* to, std::size_t bytes) const {
  const ssize_t count = uninterrupted([&] { return recv(socket_, to, bytes, MSG_WAITALL); });
  return count == static_cast<ssize_t>(bytes);
}

Child::Child(const std::function<void(Parent&)>& body) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  std::cout.flush();
  std::fflush(nullptr);  // or the child would print the parent's buffer again
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    be_child(ends[1], parent, body);
  }
  const int why = errno;
  close(ends[1]);
  socket_ = ends[0];
  if (pid_ > 0) return;
  close(socket_);
  throw std::system_error(why, std::generic_category(), "fork");
}

Child::~Child() { end(); }

bool Child::write(std::string_view bytes) const { return write_all(socket_, bytes); }

bool Child::take(bool waits) {
  taken_.erase(0, read_);
  read_ = 0;
  std::array<char, kAtOnce> part{};
  const ssize_t count =
      uninterrupted([&] { return recv(socket_, part.data(), part.size(), waits ? 0 : MSG_DONTWAIT); });
  if (count > 0) taken_.append(part.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EAGAIN);
}

std::optional<Record> Child::next() {
  const std::string_view here = std::string_view(taken_).substr(read_);
  if (here.size() < kHead) return std::nullopt;
  const auto length = from_bytes<std::size_t>(here.substr(sizeof(std::uint8_t)));
  if (here.size() - kHead < length) return std::nullopt;
  read_ += kHead + length;
  return Record{from_bytes<std::uint8_t>(here), here.substr(kHead, length)};
}

int Child::wait() {
  siginfo_t info{};
  uninterrupted([&] { return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT); });
  return end();  // also what it has left behind
}

int Child::end() {
  int status = 0;
  if (pid_ < 0) return status;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  uninterrupted([&] { return waitpid(pid_, &status, 0); });
  close(socket_);
  pid_ = -1;
  return status;
}

}  // namespace accosim
