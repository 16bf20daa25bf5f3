// Each rank connects to the next one's listening socket and accepts the previous one; the first bytes say who it is.
// One engine then moves a stream out and a stream in, at once and in pieces; the collectives only say which pieces, and
// how much may go out before anything has come in.
#include "calibration/ranks/ring_transport.hpp"

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
#include <optional>

#include "calibration/ranks/elements.hpp"

namespace accocal {
namespace {

/// Bytes a system call: large enough for its cost not to count, small enough for additions to overlap with receiving.
constexpr std::size_t kChunk = 256 << 10;

/// Bytes in a row of pieces, passed one by one.
class Cursor {
 public:
  void add(std::span<std::byte> piece) {
    if (!piece.empty()) pieces_.push_back(piece);
    left_ += piece.size();
  }
  std::size_t left() const { return left_; }
  std::size_t passed() const { return passed_; }
  /// What is left of the piece it is in.
  std::span<std::byte> here() const { return pieces_[index_].subspan(offset_); }
  void pass(std::size_t bytes) {
    passed_ += bytes;
    left_ -= bytes;
    offset_ += bytes;
    if (offset_ == pieces_[index_].size()) ++index_, offset_ = 0;
  }

 private:
  std::vector<std::span<std::byte>> pieces_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;
  std::size_t passed_ = 0;
  std::size_t left_ = 0;
};

std::span<std::byte> bytes_in(Buffer data) {
  return {static_cast<std::byte*>(data.data), data.count * size_of(data.type)};
}

constexpr int kSocketBuffer = 1 << 20;
constexpr std::uint64_t kMagic = 0x6163636f2d726e67;  // "acco-rng"

/// The first bytes on a connection.
struct Hello {
  std::uint64_t magic = kMagic;
  std::uint64_t job = 0;
  std::int64_t rank = 0;
};

/// A neighbour may be gone because of another rank: the launcher knows which was first.
[[noreturn]] void fail(const Seat& seat, const std::string& what) {
  const std::string reason = said_by_launcher(seat, Seconds{2});
  throw TransportError(reason.empty() ? what : reason);
}

int poll_milliseconds(Seconds patience) {
  return static_cast<int>(std::ceil(std::min(patience.value * 1e3, double{std::numeric_limits<int>::max()})));
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
  const int ready = poll(watched.data(), watched.size(), poll_milliseconds(patience));
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
  Hello hello{.job = seat.job, .rank = seat.rank};
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

std::string said_by_launcher(const Seat& seat, Seconds patience) {
  if (seat.control < 0) return "";
  pollfd watched{seat.control, POLLIN, 0};
  if (poll(&watched, 1, static_cast<int>(patience.value * 1e3)) <= 0) return "";
  std::array<char, 4096> text{};
  const ssize_t size = recv(seat.control, text.data(), text.size(), MSG_PEEK | MSG_DONTWAIT);  // to be read again
  if (size <= 0) return "the launcher of this job is gone";
  return {text.data(), static_cast<std::size_t>(size)};
}

struct RingTransport::Stream {
  const char* what = "";  ///< for messages
  Cursor out;
  Cursor in;                         ///< passes what is added, or in place
  std::size_t head = 0;              ///< bytes of `out` that need nothing from `in`
  std::optional<ElementType> added;  ///< the type that arriving elements are added in; none: they replace
  std::size_t waiting = 0;           ///< bytes at the front of arrived_: an element that is not whole yet

  /// Bytes that may go out now: those that do not depend on what comes in, and as many more as have come in.
  std::size_t sendable() const { return std::min(out.left(), head + in.passed() - out.passed()); }
};

RingTransport::RingTransport(const Seat& seat) : seat_(seat) {
  if (seat_.size < 2) return;
  fcntl(seat_.listener, F_SETFL, fcntl(seat_.listener, F_GETFL) | O_NONBLOCK);
  to_next_ = connect_to(seat_, next());
  from_previous_ = accept_from(seat_, previous());
  arrived_.resize(kChunk);
}

std::span<std::byte> RingTransport::shard_bytes(Buffer data, int owner) const {
  const Shard shard = shard_of(data.count, owner, seat_.size);
  const std::size_t bytes = size_of(data.type);
  return {static_cast<std::byte*>(data.data) + shard.begin * bytes, shard.size() * bytes};
}

void RingTransport::pass_on(Stream& stream, Buffer data, int first) {
  const auto shard = [&](int step) { return shard_bytes(data, (seat_.rank - step + seat_.size) % seat_.size); };
  stream.head = shard(first).size();
  for (int step = first; step + 1 < first + seat_.size; ++step) {
    stream.out.add(shard(step));
    stream.in.add(shard(step + 1));
  }
  run(stream);
}

void RingTransport::reduce_scatter(Buffer data) {
  Stream stream;
  stream.what = "reduce_scatter";
  stream.added = data.type;
  pass_on(stream, data, 1);
}

void RingTransport::all_gather(Buffer data) {
  Stream stream;
  stream.what = "all_gather";
  pass_on(stream, data, 0);
}

void RingTransport::all_reduce(Buffer data) {
  reduce_scatter(data);
  all_gather(data);
}

void RingTransport::broadcast(Buffer data, int root) {
  const std::span<std::byte> all = bytes_in(data);
  Stream stream;
  stream.what = "broadcast";
  if (seat_.rank == root) stream.head = all.size();
  if (next() != root) stream.out.add(all);
  if (seat_.rank != root) stream.in.add(all);
  if (seat_.size > 1) run(stream);
}

void RingTransport::pass(Buffer data, int from) {
  Stream stream;
  stream.what = "pass";
  if (seat_.rank == from) stream.out.add(bytes_in(data)), stream.head = stream.out.left();
  if (previous() == from) stream.in.add(bytes_in(data));
  if (seat_.size > 1) run(stream);
}

void RingTransport::barrier() {
  std::int64_t nothing = 0;  // its sum is known to nobody before all have come
  all_reduce(buffer_of(std::span(&nothing, 1)));
}

void RingTransport::run(Stream& stream) {
  while (stream.out.left() > 0 || stream.in.left() > 0) {
    const bool sent = stream.sendable() > 0 && send_some(stream);
    const bool received = stream.in.left() > 0 && receive_some(stream);
    if (!sent && !received && (stream.out.left() > 0 || stream.in.left() > 0)) wait(stream);
  }
}

bool RingTransport::send_some(Stream& stream) {
  const std::span<std::byte> here = stream.out.here();
  const std::size_t bytes = std::min({here.size(), stream.sendable(), kChunk});
  const ssize_t sent = send(to_next_.get(), here.data(), bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    lost(stream, next(), std::strerror(errno));
  }
  stream.out.pass(static_cast<std::size_t>(sent));
  return sent > 0;
}

bool RingTransport::receive_some(Stream& stream) {
  const std::span<std::byte> here = stream.in.here();
  std::byte* to = stream.added ? arrived_.data() + stream.waiting : here.data();
  const std::size_t bytes = std::min(here.size(), kChunk) - stream.waiting;
  const ssize_t received = recv(from_previous_.get(), to, bytes, MSG_DONTWAIT);
  if (received < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    lost(stream, previous(), std::strerror(errno));
  }
  if (received == 0) lost(stream, previous(), "it closed the connection");
  if (!stream.added) {
    stream.in.pass(static_cast<std::size_t>(received));
    return true;
  }
  const std::size_t element = size_of(*stream.added);
  const std::size_t whole = (stream.waiting + static_cast<std::size_t>(received)) / element * element;
  const std::size_t rest = stream.waiting + static_cast<std::size_t>(received) - whole;
  if (whole > 0) {
    add_elements(*stream.added, here.data(), arrived_.data(), here.data(), whole / element);
    stream.in.pass(whole);
    std::memmove(arrived_.data(), arrived_.data() + whole, rest);
  }
  stream.waiting = rest;
  return true;
}

void RingTransport::wait(const Stream& stream) {
  // A neighbour that nothing is wanted of any more may close; the launcher tells of those that we do not look at.
  std::array<pollfd, 3> watched{};
  watched[0] = {stream.in.left() > 0 ? from_previous_.get() : -1, POLLIN, 0};
  watched[1] = {stream.out.left() > 0 ? to_next_.get() : -1, POLLRDHUP, 0};
  if (stream.sendable() > 0) watched[1].events |= POLLOUT;
  watched[2] = {seat_.control, POLLIN, 0};
  const int ready = poll(watched.data(), watched.size(), poll_milliseconds(seat_.timeout));
  if (ready == 0) {
    const bool receiving = stream.in.left() > 0;
    throw TransportError(
        fmt::format("{}: nothing {} rank {} for {} s: it, or a rank {} it, is stuck; where computing takes as long, "
                    "raise --timeout",
                    stream.what, receiving ? "came from" : "went to", receiving ? previous() : next(),
                    seat_.timeout.value, receiving ? "before" : "after"));
  }
  if (ready < 0) return;  // a signal: look again
  if (watched[2].revents != 0) throw TransportError(said_by_launcher(seat_, Seconds{0}));
  if ((watched[1].revents & (POLLRDHUP | POLLERR | POLLHUP)) != 0) lost(stream, next(), "it closed the connection");
}

void RingTransport::lost(const Stream& stream, int neighbour, const std::string& how) const {
  fail(seat_, fmt::format("{}: rank {} is lost: {}", stream.what, neighbour, how));
}

}  // namespace accocal
