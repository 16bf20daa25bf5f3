// One worker, one slot for a job; the mutex guards the slot, the flag alone is read without it.
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

void CommunicationThread::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
    done_.store(false, std::memory_order_release);
  }
  changed_.notify_all();
}

void CommunicationThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done(); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void CommunicationThread::serve() {
  flush_denormals();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || job_; });
    if (!job_) return;
    const std::function<void()> job = std::exchange(job_, nullptr);
    lock.unlock();
    std::exception_ptr failure;
    try {
      job();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    done_.store(true, std::memory_order_release);
    changed_.notify_all();
  }
}

}  // namespace accocal
