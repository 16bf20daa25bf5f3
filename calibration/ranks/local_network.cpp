// What networks are called, and those that need no namespace.
#include "calibration/ranks/local_network.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "calibration/ranks/namespaces.hpp"
#include "models/base/errors.hpp"
#include "models/base/quantity.hpp"

namespace accocal {
namespace {

BytesPerSecond parse_rate(const std::string& text, const std::string& where) {
  const ParsedQuantity rate = parse_quantity(text, Dimension::kBandwidth);
  if (!rate.error.empty()) throw BadInput(fmt::format("{}: {}", where, rate.error));
  if (rate.value > 1e12) throw BadInput(fmt::format("{}: a rate is at most 8 Tbit/s", where));
  if (rate.value < 1000) throw BadInput(fmt::format("{}: a rate is at least 8 kbit/s", where));
  return {rate.value};
}

}  // namespace

NetworkSpec parse_network(const std::string& network, const std::vector<std::string>& single_rates, int ranks) {
  NetworkSpec spec;
  const std::size_t colon = network.find(':');
  const std::string kind = network.substr(0, colon);
  if (kind == "paced")
    spec.kind = NetworkKind::kPaced;
  else if (kind == "netns")
    spec.kind = NetworkKind::kNamespaces;
  else if (network != "loopback")
    throw BadInput(
        fmt::format("--network {}: write loopback, paced:RATE or netns:RATE, such as \"netns:200 Mbit/s\"", network));
  if (spec.kind != NetworkKind::kLoopback) {
    if (colon == std::string::npos)
      throw BadInput(fmt::format("--network {}: it needs a rate, such as \"{}:200 Mbit/s\"", network, kind));
    spec.rates.assign(ranks, parse_rate(network.substr(colon + 1), "--network " + network));
  }
  for (const std::string& single : single_rates) {
    const std::string where = "--rate " + single;
    if (spec.kind == NetworkKind::kLoopback)
      throw BadInput(fmt::format("{}: loopback has no rate; use --network netns:RATE or paced:RATE", where));
    const std::size_t equals = single.find('=');
    int rank = -1;
    const char* end = single.data() + std::min(equals, single.size());
    const bool number = std::from_chars(single.data(), end, rank).ptr == end;
    if (equals == std::string::npos || !number || rank < 0 || rank >= ranks)
      throw BadInput(
          fmt::format("{}: write RANK=RATE, such as \"0=50 Mbit/s\"; the ranks are 0 to {}", where, ranks - 1));
    spec.rates[rank] = parse_rate(single.substr(equals + 1), where);
  }
  return spec;
}

double payload_share(BytesPerSecond rate) {
  constexpr double kPayload = 1448;  // of a frame: an MTU of 1500 less the headers of IPv4 and of TCP with timestamps
  constexpr double kFrame = 1514;
  constexpr double kHeaders = kFrame - kPayload;  // also what an acknowledgement is
  const double segments = std::max(1.0, std::floor(static_cast<double>(bucket_for(rate).max_packet) / kPayload));
  return segments * kPayload / (segments * kFrame + kHeaders);
}

BytesPerSecond payload_rate(const NetworkSpec& network, int rank) {
  switch (network.kind) {
    case NetworkKind::kLoopback: break;
    case NetworkKind::kPaced: return network.rates[rank];
    case NetworkKind::kNamespaces: return payload_share(network.rates[rank]) * network.rates[rank];
  }
  return {std::numeric_limits<double>::infinity()};
}

Descriptor listen_on(std::uint32_t host, Address& address) {
  Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(host);
  socklen_t size = sizeof at;
  const int buffer = 1 << 20;  // inherited by what is accepted
  if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(fd.get(), 64) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw BadEnvironment(fmt::format("cannot listen on a TCP port for a rank: {}", std::strerror(errno)));
  address = {host, ntohs(at.sin_port)};
  return fd;
}

Network make_network(const NetworkSpec& network, int ranks) {
  if (network.kind == NetworkKind::kNamespaces) return make_namespaces(network.rates);
  Network made;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlace place;
    place.listener = listen_on(INADDR_LOOPBACK, place.address);
    if (network.kind == NetworkKind::kPaced) place.pacing = network.rates[rank];
    made.places.push_back(std::move(place));
  }
  return made;
}

void enter(const Network& network, int rank) {
  const RankPlace& place = network.places[rank];
  if ((network.user && setns(network.user.get(), CLONE_NEWUSER) != 0) ||
      (place.net && setns(place.net.get(), CLONE_NEWNET) != 0))
    throw BadEnvironment(fmt::format("rank {} cannot enter its network namespace: {}", rank, std::strerror(errno)));
}

}  // namespace accocal
