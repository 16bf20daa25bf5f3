// One engine moves a stream out and a stream in, at once and in pieces; the collectives only say which pieces, and how
// much may go out before anything has come in.
#include "calibration/ranks/ring_transport.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "calibration/ranks/elements.hpp"
#include "calibration/ranks/ring_connect.hpp"

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

}  // namespace

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
  RingLinks links = connect_ring(seat_);
  to_next_ = std::move(links.to_next);
  from_previous_ = std::move(links.from_previous);
  arrived_.resize(kChunk);
}

std::span<std::byte> RingTransport::shard_bytes(Buffer data, int owner) const {
  const Shard shard = shard_of(data.count, owner, seat_.size);
  const std::size_t bytes = size_of(data.type);
  return {static_cast<std::byte*>(data.data) + shard.begin * bytes, shard.size() * bytes};
}

void RingTransport::reduce_scatter(Buffer data) {
  Stream stream;
  stream.what = "reduce_scatter";
  stream.added = data.type;
  stream.head = shard_bytes(data, previous()).size();
  for (int step = 1; step < seat_.size; ++step) {
    stream.out.add(shard_bytes(data, (seat_.rank - step + seat_.size) % seat_.size));
    stream.in.add(shard_bytes(data, (seat_.rank - step - 1 + seat_.size) % seat_.size));
  }
  run(stream);
}

void RingTransport::all_gather(Buffer data) {
  Stream stream;
  stream.what = "all_gather";
  stream.head = shard_bytes(data, seat_.rank).size();
  for (int step = 0; step + 1 < seat_.size; ++step) {
    stream.out.add(shard_bytes(data, (seat_.rank - step + seat_.size) % seat_.size));
    stream.in.add(shard_bytes(data, (seat_.rank - step - 1 + seat_.size) % seat_.size));
  }
  run(stream);
}

void RingTransport::all_reduce(Buffer data) {
  reduce_scatter(data);
  all_gather(data);
}

void RingTransport::broadcast(Buffer data, int root) {
  const std::span<std::byte> all{static_cast<std::byte*>(data.data), data.count * size_of(data.type)};
  Stream stream;
  stream.what = "broadcast";
  if (seat_.rank == root) stream.head = all.size();
  if (next() != root) stream.out.add(all);
  if (seat_.rank != root) stream.in.add(all);
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
  const double ms = std::min(seat_.timeout.value * 1e3, static_cast<double>(std::numeric_limits<int>::max()));
  const int ready = poll(watched.data(), watched.size(), static_cast<int>(std::ceil(ms)));
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
  // The neighbour may be gone because of another one: the launcher knows who was first.
  const std::string reason = said_by_launcher(seat_, Seconds{2});
  throw TransportError(reason.empty() ? fmt::format("{}: rank {} is lost: {}", stream.what, neighbour, how) : reason);
}

}  // namespace accocal
