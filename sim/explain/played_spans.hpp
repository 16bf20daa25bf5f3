// What is asked of the spans of a play: their ops, when they ended, and which updates they belong to.
#pragma once

#include <vector>

#include "models/spec/trace.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/evaluation/stretches.hpp"

namespace accosim {

/// Of a span that is no counted one.
inline const Op& op_of(const EventGraph& graph, const Span& span) {
  return graph.programs[graph.ranks[span.rank].program].lanes[span.lane][span.op];
}

/// When the last of its repetitions ended, in seconds.
inline double end_of(const Span& span) {
  return span.end.value + static_cast<double>(span.repeat - 1) * span.period.value;
}

/// Where each rank of the folded graph ended its updates, in seconds.
inline std::vector<std::vector<double>> update_ends(const SteadyPlay& play) {
  std::vector<std::vector<double>> ends(play.folded.graph.ranks.size());
  for (const Span& span : play.spans)
    if (play.folded.graph.labels[span.label].mark == Mark::kUpdate) ends[span.rank].push_back(span.end.value);
  return ends;
}

/// The last update of each rank of the folded graph.
inline std::vector<Stretch> last_updates(const SteadyPlay& play) {
  std::vector<Stretch> updates;
  for (const std::vector<double>& ends : update_ends(play))
    updates.emplace_back(ends.size() > 1 ? ends[ends.size() - 2] : 0, ends.empty() ? 0 : ends.back());
  return updates;
}

}  // namespace accosim
