// One worker, one queue of jobs; the mutex guards the queue, the count of those that have ended is read without it.
#include "calibration/train/communication_thread.hpp"

#include <utility>

#include "calibration/base/denormals.hpp"

namespace accocal {

CommunicationThread::CommunicationThread() : thread_([this] { serve(); }) {}

CommunicationThread::~CommunicationThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::int64_t CommunicationThread::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    ++submitted_;
  }
  changed_.notify_all();
  return submitted_;
}

void CommunicationThread::wait(std::int64_t job) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, job] { return done(job); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void CommunicationThread::serve() {
  flush_denormals();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      job();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    std::int64_t ended = ended_ + 1;
    if (failure) {
      failure_ = failure;
      jobs_.clear();
      ended = submitted_;
    }
    ended_.store(ended, std::memory_order_release);
    changed_.notify_all();
  }
}

}  // namespace accocal
