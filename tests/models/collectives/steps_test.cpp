// Does a ring or a tree between nodes take what its messages add up to?
#include "models/collectives/steps.hpp"

#include <gtest/gtest.h>

namespace accosim {
namespace {

constexpr double kKiB = 1024;

/// One channel over one adapter of 10 GB/s, 2 us inside at 20 GB/s, 10 us between nodes, chunks of 2 MiB in two slices.
StepLinks links() {
  StepLinks links;
  links.inner_hop = Seconds{2e-6};
  links.inner = BytesPerSecond{20e9};
  links.net_hop = Seconds{10e-6};
  links.wire = BytesPerSecond{10e9};
  links.chunk = Bytes{2048 * kKiB};
  links.slices = 2;
  return links;
}

TEST(Steps, AShortRingWaitsForEachStep) {
  // 4 nodes of 2, 8 ranks, all-reduce of 64 KiB: a chunk of 8 KiB is one message of 8192 B. 14 steps, 7 between nodes:
  // 7 x (2 us + 8192 / 20e9) + 7 x (10 us + 8192 / 20e9 + 8192 / 10e9).
  const StepTime time = ring_time(links(), Bytes{64 * kKiB}, 8, 14, 7);
  EXPECT_NEAR(time.time().value, 7 * (2e-6 + 8192 / 20e9) + 7 * (10e-6 + 8192 / 20e9 + 8192 / 10e9), 1e-15);
  EXPECT_EQ(time.message.value, 8192);
  EXPECT_EQ(time.turns, 1);
  EXPECT_EQ(bound_of(time.terms), StepBound::kLatency);
}

TEST(Steps, AMessageIsASliceOfAtLeast32KiB) {
  // Chunks of 48 KiB go as 32 KiB first, of 96 KiB as two of 48.
  EXPECT_EQ(ring_time(links(), Bytes{8 * 48 * kKiB}, 8, 14, 7).message.value, 32 * kKiB);
  EXPECT_EQ(ring_time(links(), Bytes{8 * 96 * kKiB}, 8, 14, 7).message.value, 48 * kKiB);
  EXPECT_EQ(ring_time(links(), Bytes{8 * 9e6}, 8, 14, 7).message.value, 1024 * kKiB);
}

TEST(Steps, ALongRingIsAsLongAsItsWireIsBusy) {
  // 16 chunks of 2 MiB for each of 8 ranks: 16 turns of 14 steps, each 2 MiB / 10 GB/s, and a hop each.
  const StepTime time = ring_time(links(), Bytes{8 * 16 * 2048 * kKiB}, 8, 14, 7);
  EXPECT_NEAR(time.time().value, 16 * (14 * 2048 * kKiB / 10e9 + 10e-6), 1e-12);
  EXPECT_EQ(time.turns, 16);
  EXPECT_EQ(bound_of(time.terms), StepBound::kWire);
}

TEST(Steps, TheFirstSliceGoesOnAtOnceAndTheLastComesBehind) {
  // 8 ranks with chunks of 128 KiB in two slices s, 30 us between nodes: 14 steps wait for the first slice; the last is
  // on the slower of the two links, the wire of 10 GB/s, after it.
  StepLinks far = links();
  far.net_hop = Seconds{30e-6};
  const double s = 64 * kKiB;
  EXPECT_NEAR(ring_time(far, Bytes{8 * 2 * s}, 8, 14, 7).time().value,
              7 * (2e-6 + s / 20e9) + 7 * (30e-6 + s / 20e9 + s / 10e9) + s / 10e9, 1e-15);
}

TEST(Steps, ARankIsBusyWithEachStepInItsNode) {
  // At 2 GB/s inside, the two slices of a chunk of 2 MiB keep a rank busy for longer than the first of them needs for
  // the step, and its hop hides behind the second: 14 x 2 MiB / 2 GB/s.
  StepLinks slow = links();
  slow.inner = BytesPerSecond{2e9};
  const StepTime time = ring_time(slow, Bytes{8 * 2048 * kKiB}, 8, 14, 7);
  EXPECT_NEAR(time.time().value, 14 * 2048 * kKiB / 2e9, 1e-12);
  EXPECT_EQ(bound_of(time.terms), StepBound::kInside);
}

TEST(Steps, ManySmallMessagesWaitForTheirThread) {
  // Two channels over one adapter, 40 us a message: 14 steps x 2 channels x 40 us, and the last hop, are longer than 14
  // steps of 12 us at the most.
  StepLinks two = links();
  two.channels = 2;
  two.post = Seconds{40e-6};
  const StepTime time = ring_time(two, Bytes{8 * kKiB}, 8, 14, 7);
  EXPECT_NEAR(time.time().value, 14 * 2 * 40e-6 + 10e-6, 1e-15);
  EXPECT_EQ(bound_of(time.terms), StepBound::kMessages);
}

TEST(Steps, FlagsDoubleWhatGoesOverTheWireAndNothingElse) {
  StepLinks ll = links();
  ll.flags = 2;
  ll.chunk = Bytes{32 * kKiB};
  ll.slices = 1;
  const double m = 8192;
  EXPECT_NEAR(ring_time(ll, Bytes{64 * kKiB}, 8, 14, 7).time().value,
              7 * (2e-6 + m / 20e9) + 7 * (10e-6 + m / 20e9 + 2 * m / 10e9), 1e-15);
}

TEST(Steps, ChunksFollowEachOtherThroughATree) {
  // 4 chunks of 512 KiB; 6 inner steps and 4 between nodes for the first, and of the others each as long as the wire
  // needs for it twice: m / 20 GB/s = 26.2 us inside, 52.4 us on the wire.
  StepLinks tree = links();
  tree.chunk = Bytes{512 * kKiB};
  tree.slices = 1;
  Pipeline pipeline;
  pipeline.inner_steps = 6;
  pipeline.net_steps = 4;
  pipeline.wire_passes = 2;
  const double m = 512 * kKiB;
  const StepTime time = pipeline_time(tree, Bytes{4 * m}, pipeline);
  EXPECT_NEAR(time.time().value, 6 * (2e-6 + m / 20e9) + 4 * (10e-6 + m / 20e9 + m / 10e9) + 3 * 2 * m / 10e9, 1e-15);
  EXPECT_EQ(time.turns, 4);
}

TEST(Steps, TheLastChunkIsWhatIsLeft) {
  // A chain to one other node, 512 KiB and then 1 KiB: both leave one after the other, and the last arrives a hop
  // later.
  StepLinks chain = links();
  chain.inner = BytesPerSecond{0};
  chain.chunk = Bytes{512 * kKiB};
  chain.slices = 1;
  Pipeline pipeline;
  pipeline.net_steps = 1;
  const StepTime time = pipeline_time(chain, Bytes{513 * kKiB}, pipeline);
  EXPECT_NEAR(time.time().value, 513 * kKiB / 10e9 + 10e-6, 1e-15);
  EXPECT_EQ(time.turns, 2);
}

TEST(Steps, TheLongestWayAroundARingLeavesOutInnerEdges) {
  // Two nodes of 4: of an all-reduce's 16 edges a chunk takes 14; the two that it leaves out can both be inner ones,
  // so it may cross all 4 edges between nodes. With 2 a node one left out is between nodes, with 1 both are.
  EXPECT_EQ(net_steps_of_ring(true, 2, 4), 4);
  EXPECT_EQ(net_steps_of_ring(true, 2, 2), 3);
  EXPECT_EQ(net_steps_of_ring(true, 4, 1), 6);
  EXPECT_EQ(net_steps_of_ring(false, 4, 8), 4);
  EXPECT_EQ(net_steps_of_ring(false, 4, 1), 3);
}

}  // namespace
}  // namespace accosim
