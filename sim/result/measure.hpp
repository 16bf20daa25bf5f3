// From the spans of a play to its steady state: how long an update takes once the first ones are over, and what each
// rank did in it.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/trace.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// One rank of the graph over the steady updates.
struct RankMeasure {
  double micro_batches_per_update = 0;
  double micro_batches_per_round = 0;
  std::int64_t least_per_round = 0;
  std::int64_t most_per_round = 0;
  double idle_fraction = 0;       ///< of the time in which no kernel of the model, optimizer or copies runs
  Seconds exposed_communication;  ///< per update: communicating while no kernel runs
  Bytes sent;                     ///< per update
  std::int64_t first_micro_batch = 0, last_micro_batch = 0;  ///< the steady updates hold those from the first up to
                                                             ///< before the last, numbered from 0
};

struct Measured {
  bool periodic = false;    ///< the updates repeat exactly; if not, averages over the later half of them, and over
                            ///< nearly all where they are drawn
  int first = 0, last = 0;  ///< the steady updates are those after `first`, up to and with `last`
  Seconds update_time;
  std::vector<Seconds> durations;  ///< of each steady update, of the first rank
  std::vector<RankMeasure> ranks;
};

/// Half of the 80 % band of the mean of durations that follow each other, over the mean: from the scatter of the means
/// of eight batches, which are nearly independent where single ones are not. 0 of fewer than 8.
double band_of_mean(const std::vector<Seconds>& durations);

/// `spans` as play() reports them. Every rank has marked the same number of updates, at least 4.
Measured measure(const EventGraph& graph, const std::vector<Span>& spans);

}  // namespace accosim
