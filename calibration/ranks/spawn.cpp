// A socket pair a rank: up goes the report or the error, down goes the reason to stop. The launcher sees a death as the
// end of the stream, and asks the kernel how it came about.
#include "calibration/ranks/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "calibration/ranks/ring_transport.hpp"

namespace accocal {
namespace {

using Clock = std::chrono::steady_clock;

/// A rank as the launcher sees it.
struct Process {
  pid_t pid = -1;
  Descriptor control;
  std::string stream;  ///< what it has sent: a byte of its exit code, then the report or the error
  bool ended = false;
};

bool send_all(int to, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t sent = send(to, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) at += static_cast<std::size_t>(sent);
  }
  return true;
}

RankEnd run_body(const Network& network, const Seat& seat, const RankBody& body) {
  std::signal(SIGPIPE, SIG_IGN);  // a write to what has ended is an error to be told, by whatever library it is done
  try {
    enter(network, seat.rank);
    // Only now: the kernel forgets it when a process changes its user namespace.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string reason = said_by_launcher(seat, Seconds{0});
    if (!reason.empty()) throw TransportError(reason);  // it is over before we began, or nobody is there to hear of it
    RingTransport transport(seat);
    return {ExitCode::kDone, body(transport), ""};
  } catch (const BadInput& error) {
    return {ExitCode::kBadInput, "", error.what()};
  } catch (const std::logic_error& error) {
    return {ExitCode::kOurBug, "", error.what()};
  } catch (const std::exception& error) {
    return {ExitCode::kEnvironment, "", error.what()};
  } catch (...) {
    return {ExitCode::kOurBug, "", "threw what is no exception"};
  }
}

[[noreturn]] void be_rank(const Network& network, const Seat& seat, const RankBody& body) {
  const RankEnd end = run_body(network, seat, body);
  std::cout.flush();
  std::fflush(nullptr);
  send_all(seat.control, static_cast<char>('0' + static_cast<int>(end.code)) + end.report + end.error);
  _exit(static_cast<int>(end.code));
}

/// How a process ended that said nothing.
RankEnd end_of(int rank, int status) {
  RankEnd end;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const bool ours =
        signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT;
    end.code = ours ? ExitCode::kOurBug : ExitCode::kEnvironment;
    end.error = fmt::format("rank {} was killed by signal {} ({})", rank, signal, strsignal(signal));
  } else {
    end.code = ExitCode::kEnvironment;
    end.error = fmt::format("rank {} ended without a result, exit code {}", rank, WEXITSTATUS(status));
  }
  return end;
}

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options) : options_(options), processes_(options.ranks) {
    results_.ranks.resize(options.ranks);
  }
  ~Launcher() {
    for (Process& process : processes_)
      if (process.pid > 0 && !process.ended) kill(process.pid, SIGKILL), reap(process);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void start(const Network& network, const RankBody& body) {
    Seat seat{.size = options_.ranks, .timeout = options_.timeout};
    if (getrandom(&seat.job, sizeof seat.job, 0) != sizeof seat.job) throw BadEnvironment("no random numbers");
    for (const RankPlace& place : network.places) seat.addresses.push_back(place.address);
    std::cout.flush();
    std::fflush(nullptr);  // or the ranks would write it again
    for (int rank = 0; rank < options_.ranks; ++rank) {
      std::array<int, 2> ends{};
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw BadEnvironment(fmt::format("cannot make the sockets of rank {}: {}", rank, std::strerror(errno)));
      processes_[rank].control = Descriptor(ends[0]);
      const Descriptor down(ends[1]);
      const pid_t pid = fork();
      if (pid < 0) throw BadEnvironment(fmt::format("cannot start rank {}: {}", rank, std::strerror(errno)));
      if (pid == 0) {
        for (Process& process : processes_) process.control.close();  // the others' ends must end with the launcher
        seat.rank = rank;
        seat.control = down.get();
        seat.listener = network.places[rank].listener.get();
        seat.pacing = network.places[rank].pacing;
        be_rank(network, seat, body);
      }
      processes_[rank].pid = pid;
    }
  }

  RankResults watch() {
    while (!std::ranges::all_of(processes_, [](const Process& each) { return each.ended; })) {
      std::vector<pollfd> watched;
      for (const Process& process : processes_)
        watched.push_back({process.ended ? -1 : process.control.get(), POLLIN, 0});
      if (poll(watched.data(), watched.size(), patience_ms()) < 0 && errno != EINTR)
        throw BadEnvironment(fmt::format("the ranks cannot be watched: {}", std::strerror(errno)));
      for (int rank = 0; rank < options_.ranks; ++rank)
        if (watched[rank].revents != 0) read_from(rank);
      if (failed_ && Clock::now() >= deadline_) kill_the_rest();
    }
    return std::move(results_);
  }

 private:
  int patience_ms() const {
    if (!failed_) return -1;
    const std::chrono::duration<double, std::milli> left = deadline_ - Clock::now();
    return std::max(0, static_cast<int>(std::ceil(left.count())));
  }

  static int reap(Process& process) {
    int status = 0;
    while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
    }
    process.ended = true;
    return status;
  }

  void read_from(int rank) {
    Process& process = processes_[rank];
    std::array<char, 65536> more;
    const ssize_t got = recv(process.control.get(), more.data(), more.size(), MSG_DONTWAIT);
    if (got > 0) process.stream.append(more.data(), static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
    take_end(rank, reap(process));
  }

  void take_end(int rank, int status) {
    const std::string& stream = processes_[rank].stream;
    RankEnd& end = results_.ranks[rank];
    // A rank that was killed while it told its result has none.
    if (WIFEXITED(status) && !stream.empty() && stream[0] - '0' == WEXITSTATUS(status)) {
      end.code = static_cast<ExitCode>(WEXITSTATUS(status));
      (end.code == ExitCode::kDone ? end.report : end.error) = stream.substr(1);
      if (end.code != ExitCode::kDone) end.error = fmt::format("rank {}: {}", rank, end.error);
    } else {
      end = end_of(rank, status);
    }
    if (end.code == ExitCode::kDone) return;
    results_.errors.push_back(end.error);
    if (failed_) return;
    failed_ = true;
    results_.code = end.code;
    deadline_ =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.grace.value));
    for (const Process& process : processes_)
      if (!process.ended) send_all(process.control.get(), end.error.substr(0, 2000));
  }

  void kill_the_rest() {
    for (int rank = 0; rank < options_.ranks; ++rank) {
      Process& process = processes_[rank];
      if (process.ended) continue;
      kill(process.pid, SIGKILL);
      reap(process);
      RankEnd& end = results_.ranks[rank];
      end.code = ExitCode::kEnvironment;
      end.error = fmt::format("rank {} did not stop within {} s, and was killed", rank, options_.grace.value);
      results_.errors.push_back(end.error);
    }
  }

  LaunchOptions options_;
  std::vector<Process> processes_;
  RankResults results_;
  bool failed_ = false;
  Clock::time_point deadline_;
};

}  // namespace

RankResults run_ranks(const LaunchOptions& options, const RankBody& body) {
  const Network network = make_network(options.network, options.ranks);
  Launcher launcher(options);
  launcher.start(network, body);
  return launcher.watch();
}

}  // namespace accocal
