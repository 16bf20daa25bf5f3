#include "sim/graph/counted.hpp"

#include <algorithm>

namespace accosim {
namespace {

/// Of the ops from `begin` up to before `end` on a lane, done `times` times.
void add_ops(const EventGraph& graph, const Rank& rank, int lane, int begin, int end, std::int64_t times,
             BodyTotals& totals) {
  const Program& program = graph.programs[static_cast<std::size_t>(rank.program)];
  const std::vector<Op>& ops = program.lanes[static_cast<std::size_t>(lane)];
  for (int i = begin; i < end; ++i) {
    const Op& op = ops[static_cast<std::size_t>(i)];
    if (op.kind == OpKind::kLoopBegin) {
      const Loop& inner = program.loops[static_cast<std::size_t>(op.plan)];
      const auto part = std::ranges::find_if(
          inner.parts, [&](const Loop::Part& each) { return each.lane == lane && each.begin == i; });
      add_ops(graph, rank, lane, i + 1, part->end, times * inner.min * inner.stride, totals);
      i = part->end;
      continue;
    }
    totals.micro_batches += times * graph.labels[op.label].micro_batches;
    if (op.kind != OpKind::kCollective && op.kind != OpKind::kTransfer) continue;
    const auto group = static_cast<std::size_t>(rank.groups[static_cast<std::size_t>(op.slot)]);
    totals.collectives += op.kind == OpKind::kCollective ? times : 0;
    totals.sent +=
        static_cast<double>(times) * graph.groups[group].plans[static_cast<std::size_t>(op.plan)].sent_per_rank;
  }
}

}  // namespace

CountedTimes counted_of(const Span& span) {
  const double to = span.begin.value;
  return {to - span.period.value, to, static_cast<double>(span.repeat)};
}

double counted_length(const std::vector<CountedTimes>& counted, double begin, double end) {
  double sum = end - begin;
  for (const CountedTimes& each : counted)
    sum += each.times * std::max(0.0, std::min(end, each.to) - std::max(begin, each.from));
  return sum;
}

BodyTotals body_totals(const EventGraph& graph, const Rank& rank, const Loop& loop) {
  BodyTotals totals;
  for (const Loop::Part& part : loop.parts) add_ops(graph, rank, part.lane, part.begin + 1, part.end, 1, totals);
  return totals;
}

}  // namespace accosim
