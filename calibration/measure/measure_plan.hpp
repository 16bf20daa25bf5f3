// Which collectives `accocal measure` runs, at which sizes and how often, so that it ends in the time it was given.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/base/names.hpp"
#include "models/base/units.hpp"

namespace accocal {

enum class Collective : std::uint8_t { kReduceScatter, kAllGather, kAllReduce };

/// One line of the result: a collective of so many bytes, `runs` times; either back to back, so that the network has no
/// credit left from an idle time, or each after a pause.
struct Cell {
  Collective what = Collective::kAllReduce;
  std::int64_t bytes = 0;  ///< the whole buffer, on every rank
  bool after_idle = false;
  int runs = 0;
  int warm_up = 1;  ///< runs before them that are not counted
};

/// What the network is thought to be able to do; only to plan with.
struct PlanInputs {
  int ranks = 2;
  BytesPerSecond payload_rate;        ///< of the slowest rank
  std::int64_t credit = 0;            ///< bytes that a rested network lets a rank send at once
  std::vector<std::int64_t> bytes{};  ///< asked for; empty: from 1 KB up, as far as the budget goes
  Seconds budget{14};
  bool quick = false;  ///< a smaller least number of runs
};

/// Idle time before a run that is to find the network rested.
inline constexpr Seconds kPause{0.02};

/// (N - 1)/N bytes / rate, twice that for the all-reduce, and some latency a hop.
Seconds expected_time(Collective what, std::int64_t bytes, int ranks, BytesPerSecond payload_rate);

/// All edges of the ring are measured so many times, one after the other, each time after a few runs that do not count.
inline constexpr int kLinkRounds = 6, kLinkWarmUp = 2;
/// What an edge carries at a time then: 1 to 5 ms at this rate, so that all edges of a few ranks take about half a
/// second. Whole floats.
std::int64_t link_bytes(BytesPerSecond payload_rate, int ranks);

/// Empty for one rank. The tiny all-reduce of one counter, 8 bytes, is always first.
std::vector<Cell> plan_cells(const PlanInputs& inputs);

}  // namespace accocal

template <>
inline constexpr const char* accosim::kNames<accocal::Collective>[] = {"reduce_scatter", "all_gather", "all_reduce"};
