// Does the second actor run what it is given, one job at a time, and hand its failures over?
#include "calibration/train/communication_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace accocal {
namespace {

TEST(CommunicationThread, RunsAJobWhileTheCallerGoesOn) {
  CommunicationThread thread;
  EXPECT_TRUE(thread.done());
  std::atomic<bool> released = false;
  std::thread::id ran_on;
  thread.submit([&] {
    while (!released.load()) std::this_thread::yield();
    ran_on = std::this_thread::get_id();
  });
  EXPECT_FALSE(thread.done());  // it cannot have ended: we hold it
  released = true;
  thread.wait();
  EXPECT_TRUE(thread.done());
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(CommunicationThread, IsTheSameThreadEveryTime) {
  CommunicationThread thread;
  std::thread::id first;
  thread.submit([&] { first = std::this_thread::get_id(); });
  thread.wait();
  for (int i = 0; i < 100; ++i) {
    std::thread::id other;
    thread.submit([&] { other = std::this_thread::get_id(); });
    thread.wait();
    EXPECT_EQ(other, first);
  }
}

TEST(CommunicationThread, DoesJobsInTheirOrder) {
  CommunicationThread thread;
  std::vector<int> done;
  std::vector<std::int64_t> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(thread.submit([&done, i] { done.push_back(i); }));
  thread.wait(jobs[40]);
  EXPECT_TRUE(thread.done(jobs[40]));
  thread.wait();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(CommunicationThread, DropsWhatIsBehindAFailure) {
  CommunicationThread thread;
  std::atomic<bool> released = false;
  bool ran = false;
  thread.submit([&] {
    while (!released.load()) std::this_thread::yield();
    throw std::runtime_error("rank 2 is gone");
  });
  const std::int64_t behind = thread.submit([&] { ran = true; });
  released = true;
  EXPECT_THROW(thread.wait(behind), std::runtime_error);
  EXPECT_FALSE(ran);
}

TEST(CommunicationThread, ThrowsWhatTheJobThrewOnceAndGoesOn) {
  CommunicationThread thread;
  thread.submit([] { throw std::runtime_error("rank 2 is gone"); });
  EXPECT_THROW(thread.wait(), std::runtime_error);
  EXPECT_NO_THROW(thread.wait());
  bool ran = false;
  thread.submit([&] { ran = true; });
  thread.wait();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace accocal
