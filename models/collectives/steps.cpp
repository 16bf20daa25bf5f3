#include "models/collectives/steps.hpp"

#include <algorithm>
#include <cmath>

namespace accosim {
namespace {

BytesPerSecond wire_of_channel(const StepLinks& links) { return links.wire / std::max(links.channels, links.adapters); }

Seconds inside(const StepLinks& links, Bytes bytes) {
  return links.inner > BytesPerSecond{0} ? bytes / links.inner : Seconds{0};
}

/// Channels whose messages one thread handles.
double channels_of_thread(const StepLinks& links) { return std::max(1.0, links.channels / links.threads); }

}  // namespace

StepTerms net_hops(const StepLinks& links, double times) {
  StepTerms terms{.messages = times * std::min(links.post, links.net_hop)};
  terms.latency = times * links.net_hop - terms.messages;
  return terms;
}

namespace {

struct Turn {
  StepTerms terms;
  Bytes message;
};

Turn turn_of(const StepLinks& links, Bytes m, double steps, double net_steps) {
  const int messages = m > kLeastSlice ? links.slices : 1;
  const Bytes slice = std::min(m, std::max(kLeastSlice, m / messages));
  const BytesPerSecond wire = wire_of_channel(links);
  const Seconds on_wire = links.flags * m / wire;
  const Seconds posting = channels_of_thread(links) * messages * links.post;
  // A chunk's way: each step waits for the first slice of the one before, and what follows of the last.
  StepTerms chain = net_hops(links, net_steps);
  chain.inside = (steps - net_steps) * links.inner_hop + steps * inside(links, slice);
  chain.wire = net_steps * links.flags * slice / wire;
  const Seconds inside_behind = inside(links, m - slice), wire_behind = links.flags * (m - slice) / wire;
  (inside_behind > wire_behind ? chain.inside : chain.wire) += std::max(inside_behind, wire_behind);
  // A chunk with Simple takes four of the eight slots, whatever it holds; the next waits until one is away.
  const Seconds slot = (links.slices > 1 ? 0.5 : 1.0 / kSlots) * links.round_trip;
  StepTerms busy = net_hops(links, 1);
  const Seconds each = std::max({on_wire, posting, slot});
  (each == on_wire ? busy.wire : each == posting ? busy.messages : busy.latency) += steps * each;
  StepTerms rank;
  // The hop of a slice hides behind the other slices of its chunk.
  if (links.inner > BytesPerSecond{0})
    rank.inside = steps * std::max(links.inner_hop + inside(links, slice), inside(links, m)) +
                  links.turnaround * inside(links, m);
  const auto less = [](const StepTerms& a, const StepTerms& b) { return a.sum() < b.sum(); };
  return {std::max({chain, busy, rank}, less), slice};
}

/// Adds what so many chunks of m take when each follows another one.
void add_further(StepTerms& terms, double chunks, const StepLinks& links, Bytes m, const Pipeline& pipeline) {
  const Seconds wire = pipeline.wire_passes * links.flags * m / wire_of_channel(links);
  const Seconds posting = pipeline.wire_passes * channels_of_thread(links) * links.post;
  const Seconds rank = pipeline.inner_steps > 0
                           ? pipeline.inner_hops * links.inner_hop + pipeline.inner_passes * inside(links, m)
                           : Seconds{0};
  const Seconds slot = 1.0 / kSlots * links.round_trip;
  const Seconds each = std::max({wire, posting, rank, slot});
  (each == wire      ? terms.wire
   : each == posting ? terms.messages
   : each == rank    ? terms.inside
                     : terms.latency) += chunks * each;
}

}  // namespace

StepTerms operator*(double times, const StepTerms& terms) {
  return {times * terms.launch, times * terms.inside, times * terms.latency, times * terms.messages,
          times * terms.wire};
}

StepTerms operator+(const StepTerms& a, const StepTerms& b) {
  return {a.launch + b.launch, a.inside + b.inside, a.latency + b.latency, a.messages + b.messages, a.wire + b.wire};
}

const std::vector<StepBound>& all_bounds() { return values_of<StepBound>(); }

Seconds term_of(const StepTerms& terms, StepBound bound) {
  switch (bound) {
    case StepBound::kLaunch: return terms.launch;
    case StepBound::kInside: return terms.inside;
    case StepBound::kLatency: return terms.latency;
    case StepBound::kMessages: return terms.messages;
    case StepBound::kWire: break;
  }
  return terms.wire;
}

StepBound bound_of(const StepTerms& terms) {
  return *std::max_element(all_bounds().begin(), all_bounds().end(),
                           [&](StepBound a, StepBound b) { return term_of(terms, a) < term_of(terms, b); });
}

StepTime ring_time(const StepLinks& links, Bytes bytes, int ranks, double steps, double net_steps) {
  const Bytes part = bytes / (1.0 * links.channels * ranks);
  const double full = std::floor(part / links.chunk);
  const Bytes rest = part - full * links.chunk;
  StepTime time{.turns = full + (rest > Bytes{0} ? 1 : 0), .steps = steps, .net_steps = net_steps};
  if (full > 0) {
    const Turn turn = turn_of(links, links.chunk, steps, net_steps);
    time.terms = full * turn.terms;
    time.message = turn.message;
  }
  if (rest > Bytes{0}) {
    const Turn turn = turn_of(links, rest, steps, net_steps);
    time.terms = time.terms + turn.terms;
    if (full == 0) time.message = turn.message;
  }
  return time;
}

StepTime pipeline_time(const StepLinks& links, Bytes bytes, const Pipeline& pipeline) {
  const Bytes part = bytes / (1.0 * links.channels);
  const Bytes m = std::min(part, links.chunk);
  const double full = std::max(1.0, std::floor(part / links.chunk));
  const Bytes rest = std::max(Bytes{0}, part - full * links.chunk);
  StepTime time{net_hops(links, pipeline.net_steps), m, full + (rest > Bytes{0} ? 1 : 0),
                pipeline.inner_steps + pipeline.net_steps, pipeline.net_steps};
  const double moves = pipeline.cut_through ? pipeline.net_steps + (pipeline.inner_steps > 0 ? 1 : 0)
                                            : pipeline.inner_steps + pipeline.net_steps;
  time.terms.inside = pipeline.inner_steps * links.inner_hop + moves * inside(links, m);
  const double in_turn = std::max(1.0, links.channels / links.lines);
  time.terms.wire = (pipeline.net_steps + in_turn - 1) / in_turn * links.flags * m / wire_of_channel(links);
  add_further(time.terms, full - 1, links, m, pipeline);
  if (rest > Bytes{0}) add_further(time.terms, 1, links, rest, pipeline);
  return time;
}

double tree_passes(int nodes) { return nodes <= 2 ? 1 : nodes == 3 ? 1.5 : 2; }

double net_steps_of_ring(bool all_reduce, int nodes, int here) {
  const int left_out = all_reduce ? std::max(0, 3 - here) : std::max(0, 2 - here);
  return (all_reduce ? 2.0 : 1.0) * nodes - std::min(left_out, all_reduce ? 2 : 1);
}

}  // namespace accosim
