#include "reports/trace/trace_counters.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>

namespace accosim {
namespace {

constexpr double kGiB = 0x1p30, kGB = 1e9;
constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max();

bool is_pass(OpClass cls) { return cls == OpClass::kForward || cls == OpClass::kBackward; }
bool is_collective(const Op& op) { return op.kind == OpKind::kCollective || op.kind == OpKind::kTransfer; }

/// Shares of one pass of one micro-batch: by duration, equal where there is none.
void share_out(const std::vector<Op>& ops, const std::vector<std::size_t>& pass, std::vector<double>& shares) {
  const double sum = sum_of<double>(pass, [&](const std::size_t op) { return ops[op].duration.value; });
  for (const std::size_t op : pass)
    shares[op] = sum > 0 ? ops[op].duration.value / sum : 1.0 / static_cast<double>(pass.size());
}

/// The earliest of some lanes' ends; kEver where there are none.
std::int64_t earliest(const std::vector<std::int64_t>& ended, const std::vector<bool>& some) {
  std::int64_t time = kEver;
  for (std::size_t lane = 0; lane < ended.size(); ++lane)
    if (some[lane]) time = std::min(time, ended[lane]);
  return time;
}

}  // namespace

std::int64_t trace_nanoseconds(Seconds time) {
  if (!std::isfinite(time.value)) throw std::logic_error("trace: a span's time is not finite");
  if (std::fabs(time.value) > 9e9) throw std::range_error("a trace counts nanoseconds, 285 years of them at most");
  return std::llround(time.value * 1e9);
}

void CounterTrack::change(std::int64_t time, double amount) {
  changes_[std::max(time, last_)] += amount;
  largest_ = std::max(largest_, std::fabs(amount));
}

void CounterTrack::flush(std::int64_t time, const std::function<void(std::int64_t, double)>& write) {
  constexpr double kNothing = 1e-9;
  while (!changes_.empty() && changes_.begin()->first < time) {
    const auto [at, amount] = *changes_.begin();
    changes_.erase(changes_.begin());
    const double before = sum_;
    sum_ += amount;
    if (std::fabs(sum_) < kNothing * largest_) sum_ = 0;
    last_ = at;
    if (sum_ != before) write(at, sum_);
  }
}

std::vector<std::vector<double>> shares_of_passes(const Program& program, const std::vector<Label>& labels) {
  std::vector<std::vector<double>> shares;
  for (const std::vector<Op>& ops : program.lanes) {
    shares.emplace_back(ops.size(), 0.0);
    std::vector<std::size_t> forward, backward;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Label& label = labels.at(ops[i].label);
      if (ops[i].kind != OpKind::kCompute) continue;
      if (label.cls == OpClass::kForward) forward.push_back(i);
      if (label.cls == OpClass::kBackward) backward.push_back(i);
      if (label.micro_batches == 0) continue;
      share_out(ops, forward, shares.back());
      share_out(ops, backward, shares.back());
      forward.clear();
      backward.clear();
    }
  }
  return shares;
}

TraceCounters::TraceCounters(const EventGraph& graph, std::vector<MemoryCourse> memory, int max_repeats, Write write)
    : graph_(graph), memory_(std::move(memory)), max_repeats_(max_repeats), write_(std::move(write)) {
  for (const Program& program : graph.programs) shares_.push_back(shares_of_passes(program, graph.labels));
  for (const Rank& rank : graph.ranks) {
    RankTracks tracks;
    for (const std::vector<Op>& ops : graph.programs.at(rank.program).lanes) {
      tracks.ended.push_back(INT64_MIN);
      tracks.communicates.push_back(std::ranges::any_of(ops, is_collective));
      tracks.computes.push_back(
          std::ranges::any_of(ops, [&](const Op& op) { return is_pass(graph.labels.at(op.label).cls); }));
    }
    ranks_.push_back(std::move(tracks));
  }
}

void TraceCounters::add(const Span& span, bool drawn) {
  const Rank& rank = graph_.ranks.at(span.rank);
  RankTracks& tracks = ranks_[span.rank];
  const auto program = static_cast<std::size_t>(rank.program), op = static_cast<std::size_t>(span.op);
  const std::vector<Op>& ops = graph_.programs[program].lanes.at(span.lane);
  const Seconds last = span.end + static_cast<double>(span.repeat - 1) * span.period;
  // Of a repeated body every op comes when the last has ended, and the next of them begins within the first period.
  tracks.ended[span.lane] = trace_nanoseconds(span.repeat > 1 ? span.begin : last);
  if (op >= ops.size()) return;
  if (is_pass(graph_.labels.at(span.label).cls) && !memory_.empty() && drawn)
    add_memory(span, shares_[program][span.lane][op], tracks);
  if (span.rendezvous >= 0 && is_collective(ops[op])) {
    const Group& group = graph_.groups.at(rank.groups.at(ops[op].slot));
    if (static_cast<std::size_t>(ops[op].plan) >= group.plans.size()) return;
    const Plan& plan = group.plans[ops[op].plan];
    if (drawn && plan.sms > 0) {
      tracks.sms.change(trace_nanoseconds(span.arrived), plan.sms);
      tracks.sms.change(trace_nanoseconds(span.end), -plan.sms);
    }
    if (group.members.front() == span.rank) add_flows(span, plan);
  }
  if (drawn) flush_rank(span.rank, false);
}

void TraceCounters::add_memory(const Span& span, double share, RankTracks& tracks) {
  const double bytes = share * memory_[span.rank].of_micro_batch.value;
  const bool forward = graph_.labels[span.label].cls == OpClass::kForward;
  const bool one_block = span.repeat > max_repeats_;
  const std::int64_t first = one_block && !forward ? span.repeat - 1 : 0, count = one_block ? 1 : span.repeat;
  for (std::int64_t k = first; k < first + count; ++k) {
    const Seconds at = (forward ? span.begin : span.end) + static_cast<double>(k) * span.period;
    tracks.memory.change(trace_nanoseconds(at), forward ? bytes : -bytes);
  }
}

void TraceCounters::add_flows(const Span& span, const Plan& plan) {
  const Seconds begin = std::min(span.begin + plan.latency, span.end);
  const std::int64_t from = trace_nanoseconds(begin), to = trace_nanoseconds(span.end);
  if (to > from)
    for (const Plan::Flow& flow : plan.flows) {
      const Path& path = graph_.paths.at(flow.path);
      for (const int link : path.links) {
        // Of a folded graph the flow is one of equal ones, which may share the link or go over others like it.
        const double bytes = flow.bytes.value * path.alike / graph_.links.at(link).alike;
        const double rate = bytes / (static_cast<double>(to - from) * 1e-9);
        links_[link].change(from, rate);
        links_[link].change(to, -rate);
      }
    }
  flush_links(false);
}

void TraceCounters::flush_rank(int rank, bool all) {
  RankTracks& tracks = ranks_[rank];
  const auto write = [&](const char* name, const char* unit, double stays, double scale) {
    return [=, this](std::int64_t time, double sum) { write_({rank, -1, name, unit, time, (stays + sum) / scale}); };
  };
  const double stays = memory_.empty() ? 0 : memory_[rank].stays.value;
  tracks.memory.flush(all ? kEver : earliest(tracks.ended, tracks.computes), write("memory", "GiB", stays, kGiB));
  tracks.sms.flush(all ? kEver : earliest(tracks.ended, tracks.communicates), write("SMs held", "SMs", 0, 1));
}

void TraceCounters::flush_links(bool all) {
  std::int64_t until = kEver;
  if (!all)
    for (const RankTracks& tracks : ranks_) until = std::min(until, earliest(tracks.ended, tracks.communicates));
  for (auto& [link, track] : links_)
    track.flush(until, [&, index = link](std::int64_t time, double sum) {
      write_({-1, index, "", "GB/s", time, sum / kGB});
    });
}

void TraceCounters::finish() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) flush_rank(rank, true);
  flush_links(true);
}

}  // namespace accosim
