// Networks in namespaces: is the rate what was asked for, is nothing outside touched, is nothing left, and what is said
// where they are not allowed? Names of networks too.
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "calibration/base/tool.hpp"
#include "calibration/ranks/namespaces.hpp"
#include "calibration/ranks/spawn.hpp"
#include "tests/support/thrown.hpp"

namespace accocal {
namespace {

constexpr int kSkip = 77;
constexpr BytesPerSecond kRate{100e6 / 8};

/// Runs something in a process that may be changed at will; its exit status.
int in_a_process(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool write_text(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return static_cast<bool>(file);
}

/// Asked of the kernel itself, lest a fault of ours skip its own tests.
bool namespaces_are_allowed() {
  static const bool kAllowed =
      run_tool({"ip", "-V"}, "").empty() && run_tool({"tc", "-V"}, "").empty() &&
      in_a_process([] { return unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : 1; }) ==
          0;
  return kAllowed;
}

LaunchOptions in_namespaces(int ranks) {
  return {ranks, {NetworkKind::kNamespaces, std::vector<BytesPerSecond>(ranks, kRate)}, Seconds{20}};
}

std::string add_ranks(Transport& transport) {
  std::int64_t sum = transport.rank() + 1;
  transport.all_reduce(buffer_of(std::span(&sum, 1)));
  return std::to_string(sum);
}

std::string own_network() { return std::filesystem::read_symlink("/proc/self/ns/net").string(); }

/// What the host's network consists of.
std::string host_network() {
  std::string text;
  for (const char* command : {"PATH=$PATH:/usr/sbin:/sbin ip -br link", "PATH=$PATH:/usr/sbin:/sbin tc qdisc show",
                              "PATH=$PATH:/usr/sbin:/sbin ip netns list"}) {
    FILE* from = popen(command, "r");
    std::array<char, 4096> more{};
    while (from != nullptr && fgets(more.data(), more.size(), from) != nullptr) text += more.data();
    if (from != nullptr) pclose(from);
  }
  return text;
}

/// The network namespaces of all processes that we may look at.
std::set<std::string> networks_of_processes() {
  std::set<std::string> found;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::error_code hidden;
    const std::filesystem::path net = std::filesystem::read_symlink(process.path() / "ns" / "net", hidden);
    if (!hidden) found.insert(net.string());
  }
  return found;
}

TEST(Networks, AreReadFromText) {
  EXPECT_EQ(parse_network("loopback", {}, 2).kind, NetworkKind::kLoopback);
  const NetworkSpec paced = parse_network("paced:1 Gbit/s", {}, 2);
  EXPECT_EQ(paced.kind, NetworkKind::kPaced);
  EXPECT_EQ(paced.rates, (std::vector<BytesPerSecond>{{125e6}, {125e6}}));
  const NetworkSpec shaped = parse_network("netns:200Mbit/s", {"1=50Mbit/s"}, 3);
  EXPECT_EQ(shaped.kind, NetworkKind::kNamespaces);
  EXPECT_EQ(shaped.rates, (std::vector<BytesPerSecond>{{25e6}, {6.25e6}, {25e6}}));
}

TEST(Networks, ABadOneSaysWhatToWrite) {
  const auto error_of = [](const std::string& network, const std::vector<std::string>& rates) {
    return thrown_by<BadInput>([&] { parse_network(network, rates, 2); });
  };
  EXPECT_EQ(error_of("ethernet", {}),
            "--network ethernet: write loopback, paced:RATE or netns:RATE, such as \"netns:200 Mbit/s\"");
  EXPECT_EQ(error_of("netns", {}), "--network netns: it needs a rate, such as \"netns:200 Mbit/s\"");
  EXPECT_NE(error_of("netns:fast", {}).find("100 Gbit/s"), std::string::npos) << error_of("netns:fast", {});
  EXPECT_NE(error_of("loopback", {"0=1 Gbit/s"}).find("loopback has no rate"), std::string::npos);
  EXPECT_EQ(error_of("netns:1 Gbit/s", {"2=1 Gbit/s"}),
            "--rate 2=1 Gbit/s: write RANK=RATE, such as \"0=50 Mbit/s\"; the ranks are 0 to 1");
  EXPECT_NE(error_of("netns:1 Gbit/s", {"1 Gbit/s"}).find("write RANK=RATE"), std::string::npos);
  EXPECT_NE(error_of("paced:1 bit/s", {}).find("at least 8 kbit/s"), std::string::npos);
}

TEST(Networks, TheBucketIsAMillisecondAndHoldsTwoPackets) {
  EXPECT_EQ(bucket_for({25e6}).max_packet, 25000);       // 1 ms of 200 Mbit/s
  EXPECT_EQ(bucket_for({25e6}).burst, 50000);            // two of them
  EXPECT_EQ(bucket_for({125e6}).max_packet, 65536);      // 1 ms is more than a packet can be
  EXPECT_EQ(bucket_for({125e6}).burst, 131072);          // 128 kB at 1 Gbit/s
  EXPECT_EQ(bucket_for({1.25e9}).burst, 1250000);        // 1 ms of 10 Gbit/s
  EXPECT_EQ(bucket_for({1.25e6}).max_packet, 2 * 1514);  // 1 ms is less than two frames
}

TEST(Networks, ThePayloadsShareCountsAcknowledgements) {
  // 200 Mbit/s: packets of 25,000 bytes hold 17 segments: 17 * 1448 / (17 * 1514 + 66) = 24616 / 25804.
  EXPECT_DOUBLE_EQ(payload_share({25e6}), 24616.0 / 25804);
  // 10 Mbit/s: 2 segments: 2896 / 3094.
  EXPECT_DOUBLE_EQ(payload_share({1.25e6}), 2896.0 / 3094);
}

TEST(NetworkNamespaces, RanksMeetInNamespacesOfTheirOwn) {
  if (!namespaces_are_allowed()) GTEST_SKIP() << "no network namespaces here";
  const std::string before = host_network();
  const std::string ours = own_network();
  const RankResults results =
      run_ranks(in_namespaces(3), [](Transport& transport) { return add_ranks(transport) + " " + own_network(); });
  for (const std::string& error : results.errors) ADD_FAILURE() << error;
  std::set<std::string> networks{ours};
  for (const RankEnd& end : results.ranks) {
    EXPECT_EQ(end.report.substr(0, 2), "6 ");
    networks.insert(end.report.substr(2));
  }
  EXPECT_EQ(networks.size(), 4u) << "ours, and one for each rank";
  EXPECT_EQ(host_network(), before);
  networks.erase(ours);
  for (const std::string& network : networks_of_processes()) EXPECT_EQ(networks.count(network), 0u) << network;
}

TEST(NetworkNamespaces, NothingIsFasterThanItsRate) {
  if (!namespaces_are_allowed()) GTEST_SKIP() << "no network namespaces here";
  LaunchOptions options = in_namespaces(2);
  options.network.rates[1] = 0.5 * kRate;
  const RankResults results = run_ranks(options, [](Transport& transport) {
    std::vector<float> values(500'000);  // 2 MB, of which each of 2 ranks sends 1 MB
    // From before the barrier: another rank may leave it, and begin to send, long before this one runs again.
    const auto begin = std::chrono::steady_clock::now();
    transport.barrier();
    transport.reduce_scatter(buffer_of(std::span(values)));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return std::to_string(time.count());
  });
  ASSERT_EQ(results.code, ExitCode::kDone) << results.errors[0];
  // 1 MB is at least 690 frames of 1514 bytes; the bucket lets its content go at once. Rank 0 receives what rank 1
  // sends at 6.25 MB/s: at least (690 * 1514 - 12500) / 6.25e6 = 0.165 s; rank 1 what rank 0 sends at 12.5 MB/s, 0.082
  // s.
  EXPECT_GE(std::stod(results.ranks[0].report), (690 * 1514 - 12500) / 6.25e6);
  EXPECT_GE(std::stod(results.ranks[1].report), (690 * 1514 - 25000) / 12.5e6);
}

TEST(NetworkNamespaces, WorkForAUserWithoutPrivileges) {
  if (!namespaces_are_allowed()) GTEST_SKIP() << "no network namespaces here";
  if (geteuid() != 0) GTEST_SKIP() << "all the tests of this file are without privileges";
  const int status = in_a_process([] {
    constexpr id_t kNobody = 65534;
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) return 1;
    prctl(PR_SET_DUMPABLE, 1);  // as after a login, whose exec has set it
    if (in_a_process([] { return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : 1; }) != 0) return kSkip;
    const RankResults results = run_ranks(in_namespaces(2), add_ranks);
    for (const std::string& error : results.errors) std::fprintf(stderr, "%s\n", error.c_str());
    return results.code == ExitCode::kDone && results.ranks[1].report == "3" ? 0 : 2;
  });
  if (status == kSkip) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(status, 0);
}

TEST(NetworkNamespaces, ARefusalSaysWhatToUseInstead) {
  // In a user namespace of our own that may have no network namespaces; or in none, where that is not allowed either.
  const int status = in_a_process([] {
    const uid_t uid = geteuid();
    if (unshare(CLONE_NEWUSER) == 0) {
      write_text("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
      if (!write_text("/proc/sys/user/max_net_namespaces", "0")) return kSkip;
    } else if (geteuid() == 0) {
      return kSkip;
    }
    const std::string text = thrown_by<BadEnvironment>([] { make_network(in_namespaces(2).network, 2); });
    return text.find("paced:RATE") != std::string::npos && text.find("namespaces") != std::string::npos ? 0 : 2;
  });
  if (status == kSkip) GTEST_SKIP() << "no way to be refused";
  EXPECT_EQ(status, 0);
}

TEST(NetworkNamespaces, AKilledLauncherLeavesNothing) {
  if (!namespaces_are_allowed()) GTEST_SKIP() << "no network namespaces here";
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const std::string before = host_network();
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    run_ranks(in_namespaces(2), [&](Transport& transport) -> std::string {
      const std::string line = std::to_string(getpid()) + " " + own_network() + "\n";
      if (write(ends[1], line.data(), line.size()) < 0) _exit(1);
      for (;;) transport.barrier();
    });
    _exit(0);
  }
  FILE* from = fdopen(ends[0], "r");
  std::set<std::string> networks;
  std::array<pid_t, 2> ranks{};
  for (pid_t& rank : ranks) {
    std::array<char, 100> network{};
    ASSERT_EQ(fscanf(from, "%d %99s", &rank, network.data()), 2);
    networks.insert(network.data());
  }
  EXPECT_EQ(networks.size(), 2u);
  kill(launcher, SIGKILL);
  EXPECT_EQ(waitpid(launcher, nullptr, 0), launcher);
  for (const pid_t rank : ranks) EXPECT_EQ(waitpid(rank, nullptr, 0), rank);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  for (const std::string& network : networks_of_processes()) EXPECT_EQ(networks.count(network), 0u) << network;
  EXPECT_EQ(host_network(), before);
  fclose(from);
  close(ends[1]);
}

TEST(PacedNetwork, NothingIsFasterThanItsRate) {
  const LaunchOptions options{2, {NetworkKind::kPaced, {kRate, kRate}}};
  const RankResults results = run_ranks(options, [](Transport& transport) {
    std::vector<float> values(500'000);
    transport.barrier();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) transport.all_gather(buffer_of(std::span(values)));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return std::to_string(time.count());
  });
  ASSERT_EQ(results.code, ExitCode::kDone) << results.errors[0];
  // 3 MB at 12.5 MB/s are 0.24 s. TCP sends its first window of 10 segments, here of 64 kB, before it paces.
  for (const RankEnd& end : results.ranks) EXPECT_GE(std::stod(end.report), (3e6 - 10 * 65536) / 12.5e6);
}

}  // namespace
}  // namespace accocal
