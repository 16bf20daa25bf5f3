// The device that is played on the host: what its streams leave unordered really comes in different orders, what an
// event orders never does; and kernels' threads meet at their barriers.
#include "tests/on_host/on_host.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>
#include <string>
#include <thread>

#include "calibration/cuda/kernel_language.hpp"

namespace accocal {
namespace {

// What two streams of three items each did, by the order of their ends.
std::string order_of_two(std::uint64_t seed, bool wait) {
  set_interleaving(seed);
  std::string order;
  Stream a, b;
  Event event;
  for (int i = 0; i < 3; ++i) give(a, {"a", [&] { order += 'a'; }});
  a.record(event);
  if (wait) b.wait(event);
  for (int i = 0; i < 3; ++i) give(b, {"b", [&] { order += 'b'; }});
  b.synchronise();
  a.synchronise();
  return order;
}

TEST(OnHost, NothingRunsBeforeSomebodyAsks) {
  bool ran = false;
  Stream stream;
  Event event;
  give(stream, {"item", [&] { ran = true; }});
  stream.record(event);
  EXPECT_FALSE(ran);
  event.synchronise();
  EXPECT_TRUE(ran);
}

TEST(OnHost, UnorderedStreamsComeInManyOrders) {
  // Of 6 items, 3 of each, there are 20 orders.
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 300; ++seed) orders.insert(order_of_two(seed, false));
  EXPECT_EQ(orders.size(), 20u);
}

TEST(OnHost, AWaitOrdersThem) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) EXPECT_EQ(order_of_two(seed, true), "aaabbb");
}

TEST(OnHost, EqualSeedsGiveEqualOrders) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(order_of_two(seed, false), order_of_two(seed, false));
}

TEST(OnHost, AWaitIsForTheRecordBeforeIt) {
  // The event is recorded again, behind an item that can only begin after b has ended: a wait that had moved would
  // hang.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    set_interleaving(seed);
    std::string order;
    Stream a, b;
    Event event;
    give(a, {"first", [&] { order += '1'; }});
    a.record(event);
    b.wait(event);
    give(b, {"b", [&] { order += 'b'; }});
    give(a, {"second", [&] { order += '2'; }, [&] { return order.find('b') != std::string::npos; }});
    a.record(event);
    event.synchronise();
    EXPECT_EQ(order, "1b2");
  }
}

TEST(OnHost, AnEventThatWasNeverRecordedIsDoneAndOrdersNothing) {
  Stream stream;
  const Event event;
  EXPECT_TRUE(event.done());
  stream.wait(event);
  stream.synchronise();
}

TEST(OnHost, PollingEnds) {
  Stream stream;
  Event event;
  int ran = 0;
  for (int i = 0; i < 100; ++i) give(stream, {"item", [&] { ++ran; }});
  stream.record(event);
  int asked = 0;
  while (!event.done()) ++asked;
  EXPECT_EQ(ran, 100);
  EXPECT_GE(asked, 30);  // an answer does at most three pieces of work
}

TEST(OnHost, ThreadsShareTheDevice) {
  // Each of two threads gives an item that can begin only when the other's is there.
  std::atomic<int> given{0};
  std::atomic<int> ran{0};
  const auto work = [&] {
    Stream stream;
    ++given;
    give(stream, {"meeting", [&] { ++ran; }, [&] { return given == 2; }});
    stream.synchronise();
    EXPECT_GE(ran, 1);
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(ran, 2);
}

TEST(OnHost, TimeGoesByWhatIsDone) {
  // Two items and the second record: three times 1 us.
  Stream stream;
  Event begin(true), end(true);
  stream.record(begin);
  for (int i = 0; i < 2; ++i) give(stream, {"item", [] {}});
  stream.record(end);
  EXPECT_THROW(elapsed(begin, end), DeviceError);
  stream.synchronise();
  EXPECT_NEAR(elapsed(begin, end).value, 3e-6, 1e-15);
  const Event untimed;
  EXPECT_THROW(elapsed(untimed, end), DeviceError);
}

TEST(OnHost, MemoryIsPoisonedCountedAndBounded) {
  set_device_memory(1000);
  DeviceMemory first(900);
  EXPECT_EQ(device_memory_used(), 900);
  EXPECT_TRUE(std::isnan(first.as<float>()[7]));
  EXPECT_THROW(DeviceMemory(101), DeviceError);
  first = DeviceMemory(100);
  EXPECT_EQ(device_memory_used(), 100);
  first = DeviceMemory();
  EXPECT_EQ(device_memory_used(), 0);
  EXPECT_EQ(DeviceMemory(0).data(), nullptr);
  set_device_memory(std::int64_t{1} << 30);
}

TEST(OnHost, ThereMayBeNoDevice) {
  set_device_count(0);
  EXPECT_EQ(device_count(), 0);
  EXPECT_THROW(use_device(0), DeviceError);
  EXPECT_THROW(Stream(), DeviceError);
  EXPECT_FALSE(why_no_device().empty());
  set_device_count(1);
  EXPECT_EQ(device_count(), 1);
  EXPECT_THROW(use_device(1), DeviceError);
}

TEST(OnHost, CopiesAndSetsAreWork) {
  std::vector<float> from = {1, 2, 3}, to(3);
  const std::size_t bytes = 3 * sizeof(float);
  const DeviceMemory a(bytes), b(bytes);
  Stream stream;
  start_launch_log();
  stream.copy_to_device(a.data(), from.data(), bytes);
  stream.copy_on_device(b.data(), a.data(), bytes);
  stream.copy_to_host(to.data(), b.data(), bytes);
  EXPECT_EQ(to, std::vector<float>(3));
  stream.synchronise();
  EXPECT_EQ(to, from);
  stream.set_zero(b.data(), 2 * sizeof(float));
  stream.copy_to_host(to.data(), b.data(), bytes);
  stream.synchronise();
  EXPECT_EQ(to, (std::vector<float>{0, 0, 3}));
  EXPECT_EQ(end_launch_log(), (std::vector<std::string>{"copy_to_device 12", "copy_on_device 12", "copy_to_host 12",
                                                        "set_zero 8", "copy_to_host 12"}));
}

TEST(OnHost, AGraphRunsWhatItRecordedWhenItIsLaunched) {
  int ran = 0;
  Stream stream;
  const Event event;
  Graph graph(stream, [&] {
    for (int i = 0; i < 3; ++i) give(stream, {"item", [&] { ++ran; }});
    EXPECT_THROW(stream.record(event), DeviceError);
    EXPECT_THROW(stream.synchronise(), DeviceError);
  });
  stream.synchronise();
  EXPECT_EQ(ran, 0);
  for (int i = 0; i < 2; ++i) graph.launch(stream);
  stream.synchronise();
  EXPECT_EQ(ran, 6);
}

// Of a block of 64 threads and two warps.

struct Seen {
  float sums[2], most[2];
  int mine[64];
};

ACCOSIM_KERNEL meeting_kernel(Seen* seen, int* shared) {
  const unsigned i = thread_index();
  // 0 + ... + 31 = 496; the second warp's numbers are 32 more each, 1520. Several in a row, so that buffers are reused.
  for (int round = 0; round < 5; ++round) {
    const float sum = warp_sum(static_cast<float>(i)), most = warp_max(static_cast<float>(i));
    if (round == 4 && i % 32 == i / 32) {
      seen->sums[i / 32] = sum;
      seen->most[i / 32] = most;
    }
  }
  shared[i] = static_cast<int>(i);
  sync_block();
  seen->mine[i] = shared[63 - i];
}

TEST(OnHost, ThreadsOfABlockMeet) {
  Stream stream;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    set_interleaving(seed);
    Seen seen{};
    std::vector<int> shared(64);
    launch_together("meeting", stream, 1, 64, meeting_kernel, &seen, shared.data());
    stream.synchronise();
    EXPECT_EQ(seen.sums[0], 496);
    EXPECT_EQ(seen.sums[1], 1520);
    EXPECT_EQ(seen.most[0], 31);
    EXPECT_EQ(seen.most[1], 63);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(seen.mine[i], 63 - i);
  }
}

ACCOSIM_KERNEL racing_kernel(int* shared, int* read) {
  const unsigned i = thread_index();
  shared[i] = static_cast<int>(i);
  read[i] = shared[(i + 1) % 64];  // what a barrier in between would make i + 1
}

TEST(OnHost, AMissingBarrierShows) {
  Stream stream;
  std::vector<int> shared(64, -1), read(64);
  launch_together("racing", stream, 1, 64, racing_kernel, shared.data(), read.data());
  stream.synchronise();
  int missed = 0;
  for (int i = 0; i < 64; ++i) missed += read[static_cast<std::size_t>(i)] == -1 ? 1 : 0;
  EXPECT_GT(missed, 0);
}

ACCOSIM_KERNEL parting_kernel() {
  if (thread_index() < 32) sync_block();
}

TEST(OnHost, ThreadsThatWaitForThoseWhoHaveReturnedAreFound) {
  Stream stream;
  launch_together("parting", stream, 1, 64, parting_kernel);
  EXPECT_THROW(stream.synchronise(), std::logic_error);
  launch("alone", stream, 1, 64, parting_kernel);
  EXPECT_THROW(stream.synchronise(), std::logic_error);
  // And the fibers are in order again.
  Seen seen{};
  std::vector<int> shared(64);
  launch_together("meeting", stream, 1, 64, meeting_kernel, &seen, shared.data());
  stream.synchronise();
  EXPECT_EQ(seen.sums[1], 1520);
}

}  // namespace
}  // namespace accocal
