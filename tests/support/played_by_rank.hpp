// What each rank of a graph does when, and whether it is the same in the folded graph.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"

namespace accosim {

using Happened = std::tuple<int, int, std::int64_t, std::int64_t, double, double>;  // lane, op, iteration, repeat,
                                                                                    // begin, end

inline std::vector<std::vector<Happened>> by_rank(const EventGraph& graph, NetworkKind network) {
  std::vector<std::vector<Happened>> ranks(graph.ranks.size());
  play(graph, network, [&](const Span& span) {
    ranks[span.rank].emplace_back(span.lane, span.op, span.iteration, span.repeat, span.begin.value, span.end.value);
  });
  for (auto& rank : ranks) std::sort(rank.begin(), rank.end());
  return ranks;
}

/// Every span of every rank, to 1e-9 of the longer of a second and its end.
inline void expect_same_by_rank(const EventGraph& graph, const Folded& folded, NetworkKind network,
                                const std::string& what) {
  const auto whole = by_rank(graph, network), once = by_rank(folded.graph, network);
  ASSERT_EQ(folded.class_of.size(), whole.size());
  for (std::size_t r = 0; r < whole.size(); ++r) {
    const auto& expected = whole[r];
    const auto& got = once[folded.class_of[r]];
    ASSERT_EQ(expected.size(), got.size()) << what << " rank " << r;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto& [lane, op, iteration, repeat, begin, end] = expected[i];
      const auto& [lane_got, op_got, iteration_got, repeat_got, begin_got, end_got] = got[i];
      EXPECT_EQ(lane, lane_got) << what;
      EXPECT_EQ(op, op_got) << what;
      EXPECT_EQ(iteration, iteration_got) << what;
      EXPECT_EQ(repeat, repeat_got) << what;
      ASSERT_NEAR(begin, begin_got, 1e-9 * std::max(1.0, end))
          << what << " rank " << r << " lane " << lane << " op " << op;
      ASSERT_NEAR(end, end_got, 1e-9 * std::max(1.0, end)) << what << " rank " << r << " lane " << lane << " op " << op;
    }
  }
}

/// The same on both networks.
inline void expect_same_by_rank(const EventGraph& graph, const Folded& folded, const std::string& what) {
  for (const NetworkKind network : {NetworkKind::kReference, NetworkKind::kSimgrid})
    expect_same_by_rank(graph, folded, network, what);
}
inline void expect_exact(const EventGraph& graph, const std::string& what) {
  expect_same_by_rank(graph, fold(graph), what);
}

}  // namespace accosim
