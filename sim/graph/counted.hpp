// Repetitions of a loop that are counted instead of played (Loop::counted): a span of class kCounted stands for them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/trace.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// What a rank did from `from` to `to`, in seconds, it did `times` more.
struct CountedTimes {
  double from = 0, to = 0;
  double times = 0;
};

inline bool is_counted(const EventGraph& graph, const Span& span) {
  return graph.labels[span.label].cls == OpClass::kCounted;
}
/// Of a span of class kCounted: `repeat` repetitions, each as long as `period`, like the one before it.
CountedTimes counted_of(const Span& span);

/// How long [begin, end] took, that is itself and what it stands for.
double counted_length(const std::vector<CountedTimes>& counted, double begin, double end);

/// What a rank does in one repetition of a loop of its program.
struct BodyTotals {
  std::int64_t micro_batches = 0;
  std::int64_t collectives = 0;
  Bytes sent;
};
BodyTotals body_totals(const EventGraph& graph, const Rank& rank, const Loop& loop);

}  // namespace accosim
