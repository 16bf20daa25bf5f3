// Are the ring's sums right: by hand, against the definition at random, and against another implementation?
#include "calibration/ranks/ring_transport.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "calibration/base/names.hpp"
#include "calibration/ranks/local_transport.hpp"
#include "calibration/ranks/spawn.hpp"
#include "tests/device/reals.hpp"
#include "tests/support/random.hpp"

namespace accocal {
namespace {

LaunchOptions ranks_on_loopback(int ranks) { return {ranks, {}, Seconds{20}}; }

/// What each rank reports; the test fails where one did not get there.
std::vector<std::string> reports(const LaunchOptions& options, const RankBody& body) {
  const RankResults results = run_ranks(options, body);
  std::vector<std::string> texts = mapped<std::string>(results.ranks, &RankEnd::report);
  for (const std::string& error : results.errors) ADD_FAILURE() << error;
  return texts;
}

std::string text_of(const std::vector<double>& values) {
  std::ostringstream text;
  for (const double value : values) text << value << ' ';
  return text.str();
}

TEST(RingTransport, SumsAreRightByHand) {
  // Rank r holds (r + 1) * {1, 10, 100, 1000, 10000}: the sums are 1 + .. + N times that.
  const std::vector<std::string> sums = {"1 10 100 1000 10000 ", "3 30 300 3000 30000 ", "6 60 600 6000 60000 ",
                                         "10 100 1000 10000 100000 "};
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const std::string& sum : reports(ranks_on_loopback(ranks), [](Transport& transport) {
           std::vector<double> values{1, 10, 100, 1000, 10000};
           for (double& value : values) value *= transport.rank() + 1;
           transport.all_reduce(buffer_of(std::span(values)));
           return text_of(values);
         }))
      EXPECT_EQ(sum, sums[ranks - 1]) << ranks << " ranks";
}

TEST(RingTransport, PassesToTheNextRankAlone) {
  // Each rank holds its number; rank 2 passes its own to rank 0, which the others neither wait for nor see.
  const std::vector<std::string> own = reports(ranks_on_loopback(3), [](Transport& transport) {
    std::vector<double> values(1000, transport.rank());
    transport.pass(buffer_of(std::span(values)), 2);
    return text_of({values.front(), values.back()});
  });
  EXPECT_EQ(own, (std::vector<std::string>{"2 2 ", "1 1 ", "2 2 "}));
}

TEST(RingTransport, AShardIsSummedWhereItBelongs) {
  // 5 elements over 3 ranks: slices of 2, so the shards are {0, 1}, {2, 3} and {4}; each rank adds 1, 2 and 3 times.
  const std::vector<std::string> own = reports(ranks_on_loopback(3), [](Transport& transport) {
    std::vector<double> values{1, 10, 100, 1000, 10000};
    for (double& value : values) value *= transport.rank() + 1;
    transport.reduce_scatter(buffer_of(std::span(values)));
    const Shard shard = shard_of(values.size(), transport.rank(), transport.size());
    return text_of({values.begin() + shard.begin, values.begin() + shard.end});
  });
  EXPECT_EQ(own[0], "6 60 ");
  EXPECT_EQ(own[1], "600 6000 ");
  EXPECT_EQ(own[2], "60000 ");
}

TEST(RingTransport, TheOrderOfASumIsTheRings) {
  // In fp32 a sum with 1e8 swallows a 1. Shard 0 of 3 ranks is ((x1 + x2) + x0), shard 1 ((x2 + x0) + x1), shard 2
  // ((x0 + x1) + x2). With x = 1e8, -1e8, 1 on ranks 0, 1, 2: (-1e8 + 1) + 1e8 = 0, (1 + 1e8) - 1e8 = 0,
  // (1e8 - 1e8) + 1 = 1.
  for (const std::string& sums : reports(ranks_on_loopback(3), [](Transport& transport) {
         const float mine = std::vector<float>{1e8F, -1e8F, 1}[transport.rank()];
         std::vector<float> values(3, mine);
         transport.all_reduce(buffer_of(std::span(values)));
         return text_of({values.begin(), values.end()});
       }))
    EXPECT_EQ(sums, "0 0 1 ");
}

/// Every collective on random buffers of whole numbers, small enough for every type to be exact, against what it is to
/// give. The expected values are known to every rank: each makes all ranks' buffers. Empty, or what was wrong.
template <typename Element>
std::string check_collectives(Transport& transport, std::uint64_t seed) {
  Random random(seed);
  const int ranks = transport.size();
  std::ostringstream wrong;
  for (int round = 0; round < 25; ++round) {
    // Around the number of ranks, where shards are empty; and beyond a socket's buffer.
    const int kind = random.integer(0, 9);
    const auto count = static_cast<std::size_t>(kind < 6   ? random.integer(0, 2 * ranks + 1)
                                                : kind < 9 ? random.integer(1000, 100000)
                                                           : random.integer(300000, 400000));
    std::vector<std::vector<double>> of_rank(ranks);
    for (std::vector<double>& values : of_rank)
      for (std::size_t i = 0; i < count; ++i) values.push_back(random.integer(-9, 9));
    std::vector<Element> mine;
    for (const double value : of_rank[transport.rank()]) mine.push_back(real_of<Element>(value));
    const int what = random.integer(0, 3);
    const int root = random.integer(0, ranks - 1);
    const Shard own = shard_of(count, transport.rank(), ranks);
    if (what == 0) transport.all_reduce(buffer_of(std::span(mine)));
    if (what == 1) transport.reduce_scatter(buffer_of(std::span(mine)));
    if (what == 2) transport.all_gather(buffer_of(std::span(mine)));
    if (what == 3) transport.broadcast(buffer_of(std::span(mine)), root);
    for (std::size_t i = what == 1 ? own.begin : 0; i < (what == 1 ? own.end : count); ++i) {
      double expected = what == 3 ? of_rank[root][i] : 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Shard shard = shard_of(count, rank, ranks);
        if (what < 2 || (what == 2 && i >= shard.begin && i < shard.end)) expected += of_rank[rank][i];
      }
      if (double_of(mine[i]) == expected) continue;
      wrong << "round " << round << " what " << what << " count " << count << " element " << i << ": "
            << double_of(mine[i]) << " for " << expected;
      return wrong.str();
    }
    if (random.integer(0, 4) == 0) transport.barrier();
  }
  return "";
}

std::string check_all_types(Transport& transport, std::uint64_t seed) {
  std::string wrong = check_collectives<double>(transport, seed);
  wrong += check_collectives<float>(transport, seed + 1);
  wrong += check_collectives<std::int64_t>(transport, seed + 2);
  wrong += check_collectives<Bf16>(transport, seed + 3);
  return wrong;
}

TEST(RingTransport, EveryCollectiveOfEveryTypeOnRandomBuffers) {
  for (const int ranks : {1, 2, 3, 4, 7})
    for (const std::string& wrong :
         reports(ranks_on_loopback(ranks), [](Transport& transport) { return check_all_types(transport, 100); }))
      EXPECT_EQ(wrong, "") << ranks << " ranks";
}

/// The same of ranks that are threads.
std::vector<std::string> local_reports(int ranks, const RankBody& body) {
  std::vector<std::string> texts(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks,
                  [&](Transport& transport) { texts[static_cast<std::size_t>(transport.rank())] = body(transport); });
  return texts;
}

TEST(LocalTransport, DoesTheSameAsTheRing) {
  for (const int ranks : {1, 2, 3, 4})
    for (const std::string& wrong :
         local_reports(ranks, [](Transport& transport) { return check_all_types(transport, 100); }))
      EXPECT_EQ(wrong, "") << ranks << " ranks";
}

TEST(LocalTransport, AgreesWithTheRingOnFractions) {
  const RankBody body = [](Transport& transport) {
    Random random(7 + static_cast<std::uint64_t>(transport.rank()));
    std::vector<float> values(100001);
    for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
    transport.all_reduce(buffer_of(std::span(values)));
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  const std::vector<std::string> ring = reports(ranks_on_loopback(4), body);
  const std::vector<std::string> local = local_reports(4, body);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_TRUE(ring[rank] == ring[0]) << "every rank has the same bits";
    ASSERT_EQ(ring[rank].size(), local[rank].size());
    for (std::size_t i = 0; i < ring[rank].size(); i += sizeof(float)) {
      float ours = 0;
      float theirs = 0;
      std::memcpy(&ours, &ring[rank][i], sizeof ours);
      std::memcpy(&theirs, &local[rank][i], sizeof theirs);
      // Three additions of numbers below 4 in another order: three roundings each, of at most half of 2^-22.
      ASSERT_NEAR(ours, theirs, 3 * 0x1p-22F);
    }
  }
}

}  // namespace
}  // namespace accocal
