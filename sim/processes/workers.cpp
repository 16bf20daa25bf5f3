// The parent hands each worker one index and waits for all of them with poll(). A worker leads a process group, so that
// what it forked is stopped with it.
#include "sim/processes/workers.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "models/base/stops.hpp"
#include "models/base/text.hpp"
#include "sim/processes/child.hpp"

namespace accosim {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{200};
constexpr const char* kNoMemory = "ran out of memory";
constexpr std::size_t kLongestFailure = 2000;

enum Tag : std::uint8_t { kDone, kFailed };

/// Where memory runs out, the kernel shall end a worker and not the parent with all that it knows.
void be_ended_first() {
  if (std::FILE* const file = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
}

void be_worker(Parent& parent, const WorkerOptions& options, const std::function<std::string(std::size_t)>& work) {
  setpgid(0, 0);
  be_ended_first();
  if (options.memory > Bytes{0}) {
    const auto most = static_cast<rlim_t>(options.memory.value);
    const rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
  }
  std::size_t index = 0;
  while (parent.read(&index, sizeof index)) {
    Tag tag = kDone;
    std::string text = kNoMemory;  // there may be none for it later
    try {
      text = work(index);
    } catch (const std::bad_alloc&) {
      tag = kFailed;
    } catch (const std::exception& error) {
      text = printable(error.what(), kLongestFailure);
      if (text.empty()) text = "failed without a word";
      tag = kFailed;
    }
    parent.send({tag, text});
  }
}

struct Worker {
  std::unique_ptr<Child> child;  ///< none: it has ended
  bool busy = false;
  std::size_t index = 0;
  Clock::time_point since{};
};

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

  void run(const std::function<std::optional<std::size_t>()>& next,
           const std::function<void(std::size_t, Outcome)>& done, const std::function<void()>& tick) {
    for (int i = 0; i < std::max(1, options_.jobs); ++i) {
      const std::optional<std::size_t> index = next();
      if (!index) break;
      order(workers_.emplace_back(), *index);
    }
    Clock::time_point ticked = Clock::now();
    while (std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.busy; })) {
      wait();
      look_for_stop();
      for (Worker& worker : workers_) {
        if (!worker.busy) continue;
        std::optional<Outcome> outcome = outcome_of(worker);
        if (!outcome) continue;
        worker.busy = false;
        done(worker.index, std::move(*outcome));
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
    worker.child = std::make_unique<Child>([this](Parent& parent) { be_worker(parent, options_, work_); });
  }

  void order(Worker& worker, std::size_t index) {
    if (!worker.child) start(worker);
    if (!worker.child->write(as_bytes(index))) {  // it died while it was idle
      start(worker);
      worker.child->write(as_bytes(index));
    }
    worker.busy = true;
    worker.index = index;
    worker.since = Clock::now();
  }

  void wait() {
    std::vector<pollfd> polled;
    for (const Worker& worker : workers_)
      if (worker.busy) polled.push_back({worker.child->socket(), POLLIN, 0});
    poll(polled.data(), polled.size(), static_cast<int>(kTick.count()));
  }

  /// Nothing while it is at work.
  std::optional<Outcome> outcome_of(Worker& worker) {
    const bool lives = worker.child->take(false);
    if (const std::optional<Record> record = worker.child->next()) {
      Outcome outcome;
      (record->tag == kDone ? outcome.text : outcome.failure) = record->bytes;
      return outcome;
    }
    Outcome failed;
    if (!lives) {
      failed.failure = how_it_ended(worker.child->wait());
    } else {
      const std::chrono::duration<double> taken = Clock::now() - worker.since;
      if (options_.timeout <= Seconds{0} || taken.count() < options_.timeout.value) return std::nullopt;
      failed.failure = fmt::format("{}{:g} s", kTookLonger, options_.timeout.value);
    }
    worker.child.reset();
    return failed;
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
