// Ranks as processes: does every end come to light, on every rank, by name; and is nothing left?
#include "calibration/ranks/spawn.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "calibration/ranks/report.hpp"
#include "calibration/ranks/ring_transport.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/thrown.hpp"

namespace accocal {
namespace {

LaunchOptions on_loopback(int ranks) { return {ranks, {}, Seconds{20}}; }

/// Never returns.
std::string add_forever(Transport& transport) {
  std::vector<float> values(1000);
  for (;;) transport.all_reduce(buffer_of(std::span(values)));
}

TEST(Spawn, BringsBackWhatEachRankReports) {
  const RankResults results = run_ranks(on_loopback(3), [](Transport& transport) {
    return std::string(5'000'000, static_cast<char>('a' + transport.rank()));  // more than any pipe holds
  });
  EXPECT_EQ(results.code, ExitCode::kDone);
  EXPECT_TRUE(results.errors.empty());
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_TRUE(results.ranks[rank].report == std::string(5'000'000, static_cast<char>('a' + rank)));
}

TEST(Spawn, AKilledRankIsNamedOnEveryOther) {
  // Of four ranks rank 0 is no neighbour of rank 2, and has to be told; of three each is everyone's neighbour.
  for (const int ranks : {4, 3}) {
    const int victim = ranks / 2;
    const RankResults results = run_ranks(on_loopback(ranks), [&](Transport& transport) {
      for (int i = 0; i < 10; ++i) transport.barrier();
      if (transport.rank() == victim) kill(getpid(), SIGKILL);
      return add_forever(transport);
    });
    EXPECT_EQ(results.code, ExitCode::kEnvironment);
    ASSERT_EQ(std::ssize(results.errors), ranks);
    const std::string fate = "rank " + std::to_string(victim) + " was killed by signal 9 (Killed)";
    EXPECT_EQ(results.errors[0], fate);
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(results.ranks[rank].error, rank == victim ? fate : "rank " + std::to_string(rank) + ": " + fate);
  }
}

TEST(Spawn, AWriteToWhatIsGoneKillsNoRank) {
  // A pipe that nobody reads stands for a neighbour that died: by default the kernel would kill the writer (SIGPIPE).
  const RankResults results = run_ranks(on_loopback(1), [](Transport&) -> std::string {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0 || close(ends[0]) != 0) return "no pipe";
    return write(ends[1], "x", 1) < 0 && errno == EPIPE ? "an error" : "written";
  });
  EXPECT_EQ(results.ranks[0].report, "an error");
}

TEST(Spawn, WhatARankThrowsDecidesTheExitCode) {
  const auto code_when = [](const std::function<void()>& fails) {
    const RankResults results = run_ranks(on_loopback(3), [&](Transport& transport) {
      if (transport.rank() == 1) fails();
      return add_forever(transport);
    });
    EXPECT_EQ(results.errors[0], "rank 1: it says why");
    EXPECT_EQ(results.ranks[0].error, "rank 0: rank 1: it says why");
    EXPECT_EQ(results.ranks[2].error, "rank 2: rank 1: it says why");
    return results.code;
  };
  EXPECT_EQ(code_when([] { throw BadInput("it says why"); }), ExitCode::kBadInput);
  EXPECT_EQ(code_when([] { throw std::logic_error("it says why"); }), ExitCode::kOurBug);
  EXPECT_EQ(code_when([] { throw BadEnvironment("it says why"); }), ExitCode::kEnvironment);
}

TEST(Spawn, ACrashIsABugAndAnEarlyExitIsNot) {
  const auto end_when = [](const std::function<void()>& ends) {
    return run_ranks(on_loopback(2), [&](Transport& transport) {
      if (transport.rank() == 0) ends();
      return add_forever(transport);
    });
  };
  EXPECT_EQ(end_when([] { kill(getpid(), SIGABRT); }).code, ExitCode::kOurBug);
  const RankResults early = end_when([] { _exit(0); });
  EXPECT_EQ(early.code, ExitCode::kEnvironment);
  EXPECT_EQ(early.errors[0], "rank 0 ended without a result, exit code 0");
}

TEST(Spawn, ARankThatHangsEndsTheJobAndIsKilled) {
  LaunchOptions options = on_loopback(3);
  options.timeout = Seconds{0.3};
  options.grace = Seconds{0.5};
  const RankResults results = run_ranks(options, [](Transport& transport) -> std::string {
    if (transport.rank() == 1)
      for (;;) pause();
    return add_forever(transport);
  });
  EXPECT_EQ(results.code, ExitCode::kEnvironment);
  EXPECT_NE(results.errors[0].find("nothing came from rank"), std::string::npos) << results.errors[0];
  EXPECT_EQ(results.ranks[1].error, "rank 1 did not stop within 0.5 s, and was killed");
}

TEST(Spawn, LeavesNoChild) {
  run_ranks(on_loopback(3), [](Transport&) { return ""; });
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

/// A launcher of ranks that never end, in a process of its own; what its ranks are called comes through a pipe.
pid_t start_launcher(const LaunchOptions& options, std::vector<pid_t>& ranks) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    run_ranks(options, [&](Transport& transport) -> std::string {
      const pid_t pid = getpid();
      if (write(ends[1], &pid, sizeof pid) != sizeof pid) _exit(1);
      return add_forever(transport);
    });
    _exit(0);
  }
  ranks.resize(options.ranks);
  for (pid_t& pid : ranks) EXPECT_EQ(read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  close(ends[0]);
  close(ends[1]);
  return launcher;
}

TEST(Spawn, ALauncherThatIsKilledTakesItsRanksAlong) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // orphans come to us
  std::vector<pid_t> ranks;
  const pid_t launcher = start_launcher(on_loopback(3), ranks);
  kill(launcher, SIGKILL);
  EXPECT_EQ(waitpid(launcher, nullptr, 0), launcher);
  for (const pid_t rank : ranks) EXPECT_EQ(waitpid(rank, nullptr, 0), rank);  // or the test's time limit
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(RingTransport, StrangersAreTurnedAway) {
  Network network = make_network({}, 2);
  const auto seat_of = [&](int rank) {
    return Seat{.rank = rank,
                .size = 2,
                .listener = network.places[rank].listener.get(),
                .addresses = {network.places[0].address, network.places[1].address},
                .job = 12345};
  };
  const Descriptor stranger(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(network.places[0].address.host);
  to.sin_port = htons(network.places[0].address.port);
  ASSERT_EQ(connect(stranger.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  const std::string greeting = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(write(stranger.get(), greeting.data(), greeting.size()), static_cast<ssize_t>(greeting.size()));
  std::array<std::int64_t, 2> sums{1, 2};
  const auto add = [&](int rank) {
    RingTransport transport(seat_of(rank));
    transport.all_reduce(buffer_of(std::span(&sums[rank], 1)));
  };
  std::thread other(add, 1);
  add(0);
  other.join();
  EXPECT_EQ(sums, (std::array<std::int64_t, 2>{3, 3}));
}

using Texts = std::vector<std::string>;

TEST(Report, TextsComeBackWhateverTheyHold) {
  const std::string zero("a\0b", 3), long_one(70000, '7');
  const Texts texts = {zero, "", "3 one\f", long_one};
  EXPECT_EQ(read_report<Texts>(report_of(texts)), texts);
}

TEST(Report, WhatIsOfSomethingElseIsABug) {
  const std::string two = report_of(Texts{"one", "three"});
  EXPECT_EQ(two, "2 3 one5 three");
  EXPECT_THROW(read_report<std::string>(two), std::logic_error);
  EXPECT_THROW(read_report<std::vector<double>>(two), std::logic_error);
  EXPECT_THROW(read_report<Texts>(two + two), std::logic_error);
  for (const char* wrong : {"", " ", "3", "3 ", "3 on", "3 ones", "-1 ", "x one", "99999999999999999999 one"})
    EXPECT_THROW(read_report<std::string>(wrong), std::logic_error) << wrong;
}

TEST(RingTransport, ANeighbourThatIsGoneIsNamed) {
  Network network = make_network({}, 2);
  Seat seat{.size = 2, .addresses = {network.places[0].address, network.places[1].address}};
  Seat other = seat;
  seat.listener = network.places[0].listener.get();
  other.rank = 1;
  other.listener = network.places[1].listener.get();
  std::thread leaves([&] { RingTransport transport(other); });
  RingTransport transport(seat);
  leaves.join();
  EXPECT_TRUE(holds(thrown_by<TransportError>([&] { transport.barrier(); }), "rank 1 is lost"));
}

}  // namespace
}  // namespace accocal
