// The parent hands each worker one index and waits for all of them with poll(). A worker leads a process group, so that
// what it forked is stopped with it, and dies with its parent.
#include "sim/sweep/workers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "models/base/text.hpp"

namespace accosim {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{200};
constexpr const char* kNoMemory = "ran out of memory";
constexpr std::size_t kLongestFailure = 2000;

/// What goes before a worker's text.
struct Head {
  std::uint64_t length = 0;
  std::uint8_t failed = 0;
};

/// False at the end of the pipe.
bool read_all(int from, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t count = read(from, at, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

bool write_all(int to, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t count = write(to, at, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    at += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

/// Where memory runs out, the kernel shall end a worker and not the parent with all that it knows.
void be_ended_first() {
  if (std::FILE* const file = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
}

/// Nothing may leave it: a worker must never go on as its parent.
[[noreturn]] void be_worker(int orders, int answers, const WorkerOptions& options,
                            const std::function<std::string(std::size_t)>& work) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  std::signal(SIGPIPE, SIG_IGN);
  be_ended_first();
  if (options.memory > Bytes{0}) {
    const auto most = static_cast<rlim_t>(options.memory.value);
    const rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
  }
  std::uint64_t index = 0;
  while (read_all(orders, &index, sizeof index)) {
    Head head;
    std::string text = kNoMemory;  // there may be none for it later
    try {
      text = work(index);
    } catch (const std::bad_alloc&) {
      head.failed = 1;
    } catch (const std::exception& error) {
      text = printable(error.what(), kLongestFailure);
      if (text.empty()) text = "failed without a word";
      head.failed = 1;
    }
    head.length = text.size();
    if (!write_all(answers, &head, sizeof head) || !write_all(answers, text.data(), text.size())) _exit(0);
  }
  _exit(0);
}

struct Worker {
  pid_t pid = -1;
  int orders = -1, answers = -1;
  bool busy = false;
  std::size_t index = 0;
  Clock::time_point since{};
  std::string arrived{};  ///< of its answer
};

/// Takes what is there, never waiting for more: who answers may stop in the middle. False at the end of the pipe.
bool take(Worker& worker) {
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t count = read(worker.answers, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    worker.arrived.append(part.data(), static_cast<std::size_t>(count));
  }
}

/// The answer, once all of it has arrived.
std::optional<Outcome> answer_of(Worker& worker) {
  Head head;
  if (worker.arrived.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, worker.arrived.data(), sizeof head);
  if (worker.arrived.size() < sizeof head + head.length) return std::nullopt;
  Outcome outcome{worker.arrived.substr(sizeof head), {}};
  worker.arrived.clear();
  if (head.failed != 0) std::swap(outcome.text, outcome.failure);
  return outcome;
}

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("its process ended with code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGKILL) return "its process was killed, as it is where memory runs out";
  return fmt::format("its process died of signal {} ({})", signal, strsignal(signal));
}

class Pool {
 public:
  Pool(const WorkerOptions& options, const std::function<std::string(std::size_t)>& work)
      : options_(options), work_(work) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (Worker& worker : workers_) end(worker);
  }

  void run(const std::function<std::optional<std::size_t>()>& next,
           const std::function<void(std::size_t, Outcome)>& done, const std::function<void()>& tick) {
    for (int i = 0; i < std::max(1, options_.jobs); ++i) {
      const std::optional<std::size_t> index = next();
      if (!index) break;
      workers_.emplace_back();
      order(workers_.back(), *index);
    }
    Clock::time_point ticked = Clock::now();
    while (std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.busy; })) {
      wait();
      for (Worker& worker : workers_) {
        if (!worker.busy) continue;
        const std::size_t index = worker.index;  // one that died has forgotten it
        std::optional<Outcome> outcome = outcome_of(worker);
        if (!outcome) continue;
        worker.busy = false;
        done(index, std::move(*outcome));
        if (const std::optional<std::size_t> more = next()) order(worker, *more);
      }
      if (tick && Clock::now() - ticked >= kTick) {
        ticked = Clock::now();
        tick();
      }
    }
  }

 private:
  void start(Worker& worker) {
    std::array<int, 2> orders{}, answers{};
    if (pipe2(orders.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    if (pipe2(answers.data(), O_CLOEXEC) != 0) {
      const int why = errno;
      for (const int each : orders) close(each);
      throw std::system_error(why, std::generic_category(), "pipe");
    }
    std::cout.flush();
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      for (const Worker& other : workers_)
        for (const int each : {other.orders, other.answers})
          if (each >= 0) close(each);
      close(orders[1]);
      close(answers[0]);
      be_worker(orders[0], answers[1], options_, work_);
    }
    const int why = errno;
    close(orders[0]);
    close(answers[1]);
    if (pid < 0) {
      close(orders[1]);
      close(answers[0]);
      throw std::system_error(why, std::generic_category(), "fork");
    }
    fcntl(answers[0], F_SETFL, O_NONBLOCK);
    worker = {pid, orders[1], answers[0]};
  }

  /// Returns the status with which it ended.
  static int end(Worker& worker) {
    if (worker.pid < 0) return 0;
    kill(-worker.pid, SIGKILL);
    kill(worker.pid, SIGKILL);
    int status = 0;
    while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(worker.orders);
    close(worker.answers);
    worker = {};
    return status;
  }

  void order(Worker& worker, std::size_t index) {
    if (worker.pid < 0) start(worker);
    const std::uint64_t number = index;
    if (!write_all(worker.orders, &number, sizeof number)) {  // it died while it was idle
      end(worker);
      start(worker);
      write_all(worker.orders, &number, sizeof number);
    }
    worker.busy = true;
    worker.index = index;
    worker.since = Clock::now();
  }

  void wait() {
    std::vector<pollfd> polled;
    for (const Worker& worker : workers_)
      if (worker.busy) polled.push_back({worker.answers, POLLIN, 0});
    poll(polled.data(), polled.size(), static_cast<int>(kTick.count()));
  }

  /// Nothing while it is at work.
  std::optional<Outcome> outcome_of(Worker& worker) {
    const bool lives = take(worker);
    if (std::optional<Outcome> outcome = answer_of(worker)) return outcome;
    if (lives) {
      const std::chrono::duration<double> taken = Clock::now() - worker.since;
      if (options_.timeout <= Seconds{0} || taken.count() < options_.timeout.value) return std::nullopt;
      end(worker);
      return Outcome{{}, fmt::format("took longer than {:g} s", options_.timeout.value)};
    }
    int status = 0;
    while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    kill(-worker.pid, SIGKILL);
    close(worker.orders);
    close(worker.answers);
    worker = {};
    return Outcome{{}, how_it_ended(status)};
  }

  const WorkerOptions& options_;
  const std::function<std::string(std::size_t)>& work_;
  std::vector<Worker> workers_;
};

}  // namespace

void in_workers(const WorkerOptions& options, const std::function<std::optional<std::size_t>()>& next,
                const std::function<std::string(std::size_t)>& work,
                const std::function<void(std::size_t, Outcome)>& done, const std::function<void()>& tick) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  struct Restore {
    void (*handler)(int);
    ~Restore() { std::signal(SIGPIPE, handler); }
  } const restore{before};
  Pool(options, work).run(next, done, tick);
}

}  // namespace accosim
