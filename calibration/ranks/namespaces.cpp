// A child makes the namespaces, hands their descriptors over, and ends: from then on they live by these descriptors and
// by the processes inside, so that there is nothing to take down. The host's own network is not touched.
#include "calibration/ranks/namespaces.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

#include "calibration/base/tool.hpp"
#include "models/base/errors.hpp"

namespace accocal {
namespace {

constexpr const char* kInstead = "use --network paced:RATE, which needs no permission, or loopback";

[[noreturn]] void refuse(const std::string& what) {
  throw BadEnvironment(fmt::format("the network of --network netns cannot be made: {}; {}", what, kInstead));
}

/// What the kernel's refusals mean here.
std::string why_not(int error) {
  switch (error) {
    case EPERM:
    case EACCES: return "this user may not make network namespaces here (neither as root nor through a user namespace)";
    case ENOSPC: return "the limit of namespaces is reached (/proc/sys/user/max_net_namespaces, max_user_namespaces)";
    case EINVAL:
    case ENOSYS: return "this kernel has no network or user namespaces";
    default: return std::strerror(error);
  }
}

bool write_file(const char* path, const std::string& text) {
  const Descriptor file(open(path, O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Descriptor own_namespace(const char* kind) {
  Descriptor fd(open(fmt::format("/proc/self/ns/{}", kind).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) refuse(fmt::format("/proc/self/ns/{}: {}", kind, std::strerror(errno)));
  return fd;
}

/// The first network namespace: as we are, if we may; else as root of a user namespace of our own, which is returned.
Descriptor leave_the_host() {
  if (unshare(CLONE_NEWNET) == 0) return {};
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) refuse(why_not(errno));
  write_file("/proc/self/setgroups", "deny");
  if (!write_file("/proc/self/uid_map", fmt::format("0 {} 1\n", uid)) ||
      !write_file("/proc/self/gid_map", fmt::format("0 {} 1\n", gid)))
    refuse(fmt::format("the user's id cannot be mapped into a user namespace: {}", std::strerror(errno)));
  return own_namespace("user");
}

void tool(const std::vector<std::string>& arguments, const std::string& input) {
  const std::string wrong = run_tool(arguments, input);
  if (!wrong.empty()) refuse(wrong + " (ip and tc come with the package iproute2)");
}

void join(const Descriptor& net) {
  if (setns(net.get(), CLONE_NEWNET) != 0) refuse(why_not(errno));
}

/// 10.0.0.1 and on, 250 a block.
std::uint32_t host_of(int rank) {
  return (10u << 24) + (static_cast<std::uint32_t>(rank / 250) << 8) + static_cast<std::uint32_t>(1 + rank % 250);
}

std::string text_of(std::uint32_t host) {
  return fmt::format("{}.{}.{}.{}", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255);
}

Network build(const std::vector<BytesPerSecond>& rates) {
  Network network;
  network.user = leave_the_host();
  network.bridge = own_namespace("net");
  std::string wiring = "link add br0 type bridge\nlink set br0 up\n";
  for (std::size_t rank = 0; rank < rates.size(); ++rank) {
    RankPlace place;
    if (unshare(CLONE_NEWNET) != 0) refuse(why_not(errno));
    place.net = own_namespace("net");
    wiring +=
        fmt::format("link add v{0} type veth peer name eth0 netns /proc/{1}/fd/{2}\nlink set v{0} master br0 up\n",
                    rank, getpid(), place.net.get());
    network.places.push_back(std::move(place));
  }
  join(network.bridge);
  tool({"ip", "-batch", "-"}, wiring);
  for (std::size_t rank = 0; rank < rates.size(); ++rank) {
    RankPlace& place = network.places[rank];
    const std::uint32_t host = host_of(static_cast<int>(rank));
    const Bucket bucket = bucket_for(rates[rank]);
    join(place.net);
    tool({"ip", "-batch", "-"},
         fmt::format("link set lo up\naddr add {}/16 dev eth0\nlink set eth0 gso_max_size {} up\n", text_of(host),
                     bucket.max_packet));
    tool({"tc", "-batch", "-"}, fmt::format("qdisc add dev eth0 root tbf rate {}bit burst {} limit 64mb\n",
                                            std::llround(rates[rank].value * 8), bucket.burst));
    place.listener = listen_on(host, place.address);
  }
  return network;
}

/// One message: a status byte and a text or an address, with descriptors.
void send_message(int to, const std::string& text, const std::vector<int>& descriptors) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  iovec data{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
  }
  sendmsg(to, &message, MSG_NOSIGNAL);
}

/// The text; empty when there is no more. Descriptors are appended.
std::string receive_message(int from, std::vector<Descriptor>& descriptors) {
  pollfd watched{from, POLLIN, 0};
  if (poll(&watched, 1, 60'000) <= 0) return "";
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  std::array<char, 4096> text{};
  iovec data{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

constexpr char kMade = '+';
constexpr char kRefused = '-';

[[noreturn]] void make_and_send(const std::vector<BytesPerSecond>& rates, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    const Network network = build(rates);
    std::vector<int> common{network.bridge.get()};
    if (network.user) common.push_back(network.user.get());
    send_message(to, std::string(1, kMade), common);
    for (const RankPlace& place : network.places)
      send_message(to, fmt::format("{}{} {}", kMade, place.address.host, place.address.port),
                   {place.net.get(), place.listener.get()});
  } catch (const std::exception& error) {
    send_message(to, kRefused + std::string(error.what()), {});
  }
  _exit(0);
}

/// One of the child's messages, which must come with `least` descriptors.
std::string expect_message(int from, std::vector<Descriptor>& descriptors, std::size_t least) {
  std::string text = receive_message(from, descriptors);
  if (!text.empty() && text[0] == kRefused) throw BadEnvironment(text.substr(1));
  if (text.empty() || descriptors.size() < least) refuse("the process that makes it did not finish");
  return text.substr(1);
}

Network receive(int from, std::size_t ranks) {
  Network network;
  std::vector<Descriptor> common;
  expect_message(from, common, 1);
  network.bridge = std::move(common[0]);
  if (common.size() > 1) network.user = std::move(common[1]);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<Descriptor> own;
    const std::string address = expect_message(from, own, 2);
    network.places.push_back(
        {.net = std::move(own[0]),
         .listener = std::move(own[1]),
         .address = {.host = static_cast<std::uint32_t>(std::stoul(address)),
                     .port = static_cast<std::uint16_t>(std::stoul(address.substr(address.find(' '))))}});
  }
  return network;
}

}  // namespace

Bucket bucket_for(BytesPerSecond rate) {
  constexpr double kPeriod = 1e-3;  // seconds of the rate in a packet: few enough packets, little credit
  constexpr double kLargestPacket = 65536;
  constexpr double kSmallestPacket = 2 * 1514;
  Bucket bucket;
  bucket.max_packet = std::llround(std::clamp(kPeriod * rate.value, kSmallestPacket, kLargestPacket));
  // A packet that does not fit into the bucket is cut up, at a fraction of the rate; one that just fits loses tokens
  // that arrive while the bucket is full.
  bucket.burst = std::llround(std::max(2.0 * static_cast<double>(bucket.max_packet), kPeriod * rate.value));
  return bucket;
}

Network make_namespaces(const std::vector<BytesPerSecond>& rates) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) refuse(std::strerror(errno));
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t child = fork();
  if (child < 0) refuse(std::strerror(errno));
  if (child == 0) make_and_send(rates, theirs.get());
  theirs.close();
  const auto reap = [child] {
    kill(child, SIGKILL);  // it has ended, or hangs
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  };
  try {
    Network network = receive(ours.get(), rates.size());
    reap();
    return network;
  } catch (...) {
    reap();
    throw;
  }
}

}  // namespace accocal
