// The second of the two actors of ACCO: a thread that lives as long as the rank and runs communication jobs one after
// the other (reduce-scatter, the shard's optimizer step, all-gather) while the first one computes. It is one lane: jobs
// are done in the order in which they were given, which is the same on every rank.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace accocal {

/// A persistent thread, since starting one every step costs milliseconds. Used by one other thread.
class CommunicationThread {
 public:
  CommunicationThread();
  /// Waits for the job that runs; those behind it are dropped.
  ~CommunicationThread();
  CommunicationThread(const CommunicationThread&) = delete;
  CommunicationThread& operator=(const CommunicationThread&) = delete;

  /// Puts a job behind those before; its number, from 1 on.
  std::int64_t submit(std::function<void()> job);
  /// The number of the job that was submitted last; 0: none.
  std::int64_t last() const { return submitted_; }
  /// Have all jobs, or that one and those before it, ended? Costs one atomic load, so it may be asked after every
  /// micro-batch.
  bool done() const { return done(submitted_); }
  bool done(std::int64_t job) const { return ended_.load(std::memory_order_acquire) >= job; }
  /// Waits until they have; throws what one of them threw, after which those behind it are dropped.
  void wait() { wait(submitted_); }
  void wait(std::int64_t job);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::exception_ptr failure_;
  std::int64_t submitted_ = 0;  // changed by the other thread alone
  std::atomic<std::int64_t> ended_ = 0;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace accocal
