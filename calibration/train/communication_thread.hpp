// The second of the two actors of ACCO: a thread that lives as long as the rank and runs one communication job at a
// time (reduce-scatter, the shard's optimizer step, all-gather) while the first one computes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace accocal {

/// One job at a time. A persistent thread, since starting one every step costs milliseconds.
class CommunicationThread {
 public:
  CommunicationThread();
  /// Waits for the job that runs.
  ~CommunicationThread();
  CommunicationThread(const CommunicationThread&) = delete;
  CommunicationThread& operator=(const CommunicationThread&) = delete;

  /// Starts a job; the one before must have been waited for.
  void submit(std::function<void()> job);
  /// Has the job ended? Costs one atomic load, so it may be asked after every micro-batch.
  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Waits until the job has ended; throws what it threw.
  void wait();

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  std::exception_ptr failure_;
  std::atomic<bool> done_ = true;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace accocal
