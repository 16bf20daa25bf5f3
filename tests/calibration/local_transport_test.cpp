// The collectives between threads: sums by hand, any count, every type, and what happens when a rank fails.
#include "calibration/ranks/local_transport.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/bf16.hpp"
#include "calibration/ranks/gather.hpp"

namespace accocal {
namespace {

// What rank r has at i: small integers, whose sums are exact in every type, bf16 included.
template <typename Element>
Element element(int value) {
  if constexpr (std::is_same_v<Element, Bf16>) {
    return to_bf16(static_cast<float>(value));
  } else {
    return static_cast<Element>(value);
  }
}
template <typename Element>
double value_of(Element e) {
  if constexpr (std::is_same_v<Element, Bf16>) {
    return to_float(e);
  } else {
    return static_cast<double>(e);
  }
}
int own(int rank, std::size_t i) { return (rank + 1) * (static_cast<int>(i % 5) + 1); }

template <typename Element>
void check(int ranks, std::size_t count) {
  run_local_ranks(ranks, [&](Transport& transport) {
    const int rank = transport.rank();
    const Shard shard = shard_of(count, rank, ranks);
    std::vector<Element> reduced(count), scattered(count);
    for (std::size_t i = 0; i < count; ++i) reduced[i] = scattered[i] = element<Element>(own(rank, i));
    transport.all_reduce(buffer_of(std::span(reduced)));
    transport.reduce_scatter(buffer_of(std::span(scattered)));
    // Sum over ranks of (rank + 1) k = k ranks (ranks + 1) / 2.
    const auto sum = [&](std::size_t i) { return own(0, i) * ranks * (ranks + 1) / 2.0; };
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(value_of(reduced[i]), sum(i));
    for (std::size_t i = shard.begin; i < shard.end; ++i) EXPECT_EQ(value_of(scattered[i]), sum(i));
    transport.all_gather(buffer_of(std::span(scattered)));
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(value_of(scattered[i]), sum(i));
    const int root = ranks - 1;
    std::vector<Element> sent(count);
    for (std::size_t i = 0; i < count; ++i) sent[i] = element<Element>(own(rank, i));
    transport.broadcast(buffer_of(std::span(sent)), root);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(value_of(sent[i]), own(root, i));
    transport.barrier();
  });
}

TEST(LocalTransport, SumsOfEveryTypeAndCount) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const std::size_t count : {0, 1, 2, 3, 7, 64}) {
      check<float>(ranks, count);
      check<double>(ranks, count);
      check<Bf16>(ranks, count);
      check<std::int64_t>(ranks, count);
    }
  }
}

TEST(LocalTransport, EveryAdditionRoundsInBf16) {
  // 1 + 2^-8 is a tie and goes to 1, twice; 2^-8 + 2^-8 first would have given 1 + 2^-7. The order is that of the
  // ranks.
  run_local_ranks(3, [](Transport& transport) {
    std::vector<Bf16> data = {to_bf16(transport.rank() == 0 ? 1 : 0x1p-8F)};
    transport.all_reduce(buffer_of(std::span(data)));
    EXPECT_EQ(to_float(data[0]), 1);
  });
}

TEST(LocalTransport, FailureOfOneRankEndsTheOthers) {
  try {
    run_local_ranks(3, [](Transport& transport) {
      if (transport.rank() == 1) throw std::runtime_error("out of tokens");
      std::vector<float> data(10);
      for (;;) transport.all_reduce(buffer_of(std::span(data)));
    });
    FAIL() << "no failure";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "out of tokens");
  }
}

TEST(LocalTransport, DifferentBuffersAreAnError) {
  EXPECT_THROW(run_local_ranks(3,
                               [](Transport& transport) {
                                 std::vector<float> data(transport.rank() == 1 ? 3 : 4);
                                 transport.all_reduce(buffer_of(std::span(data)));
                               }),
               TransportError);
}

TEST(GatherTexts, AnyLengths) {
  const std::vector<std::string> texts = {"", "ab\ncd", std::string(1000, 'x'), "eight ch"};
  for (int ranks = 1; ranks <= 4; ++ranks) {
    run_local_ranks(ranks, [&](Transport& transport) {
      const std::vector<std::string> all = gather_texts(transport, texts[static_cast<std::size_t>(transport.rank())]);
      EXPECT_EQ(all, std::vector<std::string>(texts.begin(), texts.begin() + ranks));
    });
  }
}

}  // namespace
}  // namespace accocal
