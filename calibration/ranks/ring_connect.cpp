// Each rank connects to the next one's listening socket and accepts the previous one; the first bytes say who it is.
#include "calibration/ranks/ring_connect.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "calibration/ranks/transport.hpp"

namespace accocal {
namespace {

constexpr int kSocketBuffer = 1 << 20;
constexpr std::uint64_t kMagic = 0x6163636f2d726e67;  // "acco-rng"

/// The first bytes on a connection.
struct Hello {
  std::uint64_t magic = kMagic;
  std::uint64_t job = 0;
  std::int64_t rank = 0;
};

[[noreturn]] void fail(const Seat& seat, const std::string& what) {
  const std::string reason = said_by_launcher(seat, Seconds{2});
  throw TransportError(reason.empty() ? what : reason);
}

/// Buffers count before the connection is made: they decide the window that TCP can announce.
void set_buffers(int fd) {
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBuffer, sizeof kSocketBuffer);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof kSocketBuffer);
}

void set_options(const Seat& seat, int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);  // elsewhere the system's own will do
  if (seat.pacing.value > 0) {
    const auto rate = static_cast<std::uint64_t>(std::llround(std::max(1.0, seat.pacing.value)));
    if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate) != 0)
      throw TransportError(fmt::format("the system does not pace sockets ({}); use --network netns:RATE or loopback",
                                       std::strerror(errno)));
  }
}

/// Until `fd` has one of `events`, at most `patience`; throws when the launcher ends the job. False: nothing came.
bool wait_for(const Seat& seat, int fd, short events, Seconds patience) {
  std::array<pollfd, 2> watched{pollfd{fd, events, 0}, pollfd{seat.control, POLLIN, 0}};
  const double ms = std::min(patience.value * 1e3, static_cast<double>(std::numeric_limits<int>::max()));
  const int ready = poll(watched.data(), watched.size(), static_cast<int>(std::ceil(ms)));
  if (ready > 0 && watched[1].revents != 0) throw TransportError(said_by_launcher(seat, Seconds{0}));
  return ready > 0 && watched[0].revents != 0;
}

Descriptor connect_to(const Seat& seat, int rank) {
  Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw TransportError(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  set_buffers(fd.get());
  set_options(seat, fd.get());
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(seat.addresses[rank].host);
  to.sin_port = htons(seat.addresses[rank].port);
  int failure = 0;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    if (errno != EINPROGRESS) fail(seat, fmt::format("cannot connect to rank {}: {}", rank, std::strerror(errno)));
    if (!wait_for(seat, fd.get(), POLLOUT, seat.timeout))
      fail(seat, fmt::format("rank {} could not be connected to within {} s", rank, seat.timeout.value));
    socklen_t size = sizeof failure;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
  }
  if (failure != 0) fail(seat, fmt::format("cannot connect to rank {}: {}", rank, std::strerror(failure)));
  Hello hello;
  hello.job = seat.job;
  hello.rank = seat.rank;
  if (send(fd.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)  // the first bytes always fit
    fail(seat, fmt::format("rank {} closed its connection at once", rank));
  return fd;
}

/// Is it the rank that we wait for? A stranger that says nothing costs a second.
bool introduces_itself(const Seat& seat, int fd, int rank) {
  Hello hello;
  std::size_t got = 0;
  while (got < sizeof hello) {
    if (!wait_for(seat, fd, POLLIN, Seconds{1})) return false;
    const ssize_t more = recv(fd, reinterpret_cast<char*>(&hello) + got, sizeof hello - got, MSG_DONTWAIT);
    if (more <= 0) return false;
    got += static_cast<std::size_t>(more);
  }
  return hello.magic == kMagic && hello.job == seat.job && hello.rank == rank;
}

Descriptor accept_from(const Seat& seat, int rank) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seat.timeout.value);
  for (;;) {
    const std::chrono::duration<double> left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0 || !wait_for(seat, seat.listener, POLLIN, Seconds{left.count()}))
      fail(seat, fmt::format("rank {} did not connect within {} s", rank, seat.timeout.value));
    Descriptor fd(accept4(seat.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd && introduces_itself(seat, fd.get(), rank)) {
      set_options(seat, fd.get());
      return fd;
    }
  }
}

}  // namespace

RingLinks connect_ring(const Seat& seat) {
  fcntl(seat.listener, F_SETFL, fcntl(seat.listener, F_GETFL) | O_NONBLOCK);
  RingLinks links;
  links.to_next = connect_to(seat, (seat.rank + 1) % seat.size);
  links.from_previous = accept_from(seat, (seat.rank + seat.size - 1) % seat.size);
  return links;
}

std::string said_by_launcher(const Seat& seat, Seconds patience) {
  if (seat.control < 0) return "";
  pollfd watched{seat.control, POLLIN, 0};
  if (poll(&watched, 1, static_cast<int>(patience.value * 1e3)) <= 0) return "";
  std::array<char, 4096> text{};
  const ssize_t size = recv(seat.control, text.data(), text.size(), MSG_PEEK | MSG_DONTWAIT);  // to be read again
  if (size <= 0) return "the launcher of this job is gone";
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace accocal
