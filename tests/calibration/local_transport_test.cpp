// The collectives between threads: the order of their sums, and what happens when a rank fails. ring_transport_test.cpp
// holds them to what they are to give, for every type and count.
#include "calibration/ranks/local_transport.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/bf16.hpp"
#include "calibration/ranks/gather.hpp"
#include "tests/support/thrown.hpp"

namespace accocal {
namespace {

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
  const auto body = [](Transport& transport) {
    if (transport.rank() == 1) throw std::runtime_error("out of tokens");
    std::vector<float> data(10);
    for (;;) transport.all_reduce(buffer_of(std::span(data)));
  };
  EXPECT_EQ(thrown_by<std::runtime_error>([&] { run_local_ranks(3, body); }), "out of tokens");
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
