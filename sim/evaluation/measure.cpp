#include "sim/evaluation/measure.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace accosim {
namespace {

// Times are equal when they agree to this share of an update; far above the rounding of a sum of a million terms.
constexpr double kSame = 1e-9;

/// How long a rank computes, and communicates while it does not.
struct Lengths {
  double busy = 0, exposed = 0;
};

Lengths lengths_between(const Stretches& busy, const Stretches& communicating, double from, double to) {
  const Stretches computing = merged(busy, from, to), sending = merged(communicating, from, to);
  return {length(computing), length(sending) - common(sending, computing)};
}

/// Adds a stretch, which may go on from where the last one ended.
void add(Stretches& stretches, double from, double to) {
  if (!stretches.empty() && stretches.back().first <= from && from <= stretches.back().second)
    stretches.back().second = std::max(stretches.back().second, to);
  else if (from < to)
    stretches.emplace_back(from, to);
}

}  // namespace

Recorder::Recorder(const EventGraph& graph, std::size_t updates, Keep keep)
    : graph_(graph), updates_(updates), keep_(keep), behind_(graph.ranks.size()), ranks_(graph.ranks.size()) {
  keeps_ = keep == Keep::kAll || (keep != Keep::kNothing && updates < 2);
}

void Recorder::go_on_to(std::size_t updates) {
  updates_ = updates;
  if (keep_ == Keep::kAll) return;
  kept_.clear();
  keeps_ = false;
}

void Recorder::take(const Span& span) {
  ++spans_;
  Rank& rank = ranks_[span.rank];
  const Label& label = graph_.labels[span.label];
  if (label.cls == OpClass::kCounted) take_counted(span);
  rank.in_round += label.micro_batches * span.repeat;
  rank.in_update += label.micro_batches * span.repeat;
  if (label.mark != Mark::kNone) {
    rank.rounds.push_back(std::exchange(rank.in_round, 0));
    if (label.mark == Mark::kUpdate) {
      rank.updates.push_back(
          {span.end.value, std::exchange(rank.in_update, 0), std::exchange(rank.sent, 0), rank.rounds.size()});
      if (rank.updates.size() == complete_ + 1 && --behind_ == 0) {
        ++complete_;
        behind_ = static_cast<std::size_t>(
            std::ranges::count_if(ranks_, [&](const Rank& each) { return each.updates.size() == complete_; }));
      }
    }
  } else if (label.cls == OpClass::kCommunication) {
    add(rank.communicating, span.begin.value, span.end.value);
    const accosim::Rank& of = graph_.ranks[span.rank];
    const Op& op = graph_.programs[of.program].lanes[span.lane][span.op];
    rank.sent += graph_.groups[of.groups[op.slot]].plans[op.plan].sent_per_rank.value;
  } else if (label.cls == OpClass::kOffload) {
    add(rank.communicating, span.begin.value, span.end.value);
  } else if (label.cls != OpClass::kPause && label.cls != OpClass::kCounted) {
    // In a pause nothing is computed, and what is counted is in its rank's list.
    // A repeated op stands in a body that is compute throughout, so what lies between its repetitions is busy too. A
    // wait for the host is the computation's own, and exposes no communication.
    add(rank.busy, span.begin.value, span.end.value + static_cast<double>(span.repeat - 1) * span.period.value);
  }
  keeps_ = keeps_ || (keep_ != Keep::kNothing && label.mark == Mark::kUpdate && rank.updates.size() + 1 >= updates_);
  if (keeps_) kept_.push_back(span);
}

void Recorder::take_counted(const Span& span) {
  Rank& rank = ranks_[span.rank];
  const accosim::Rank& of = graph_.ranks[span.rank];
  const Program& program = graph_.programs[of.program];
  const BodyTotals body = body_totals(graph_, of, program.loops[program.lanes[span.lane][span.op].plan]);
  rank.counted.push_back(counted_of(span));
  rank.in_round += span.repeat * body.micro_batches;
  rank.in_update += span.repeat * body.micro_batches;
  rank.sent += static_cast<double>(span.repeat) * body.sent.value;
}

std::vector<Span> Recorder::take_spans() {
  const auto is_cut = [&](const Span& span) {
    const Program& program = graph_.programs[graph_.ranks[span.rank].program];
    return span.op >= static_cast<int>(program.lanes[span.lane].size());
  };
  std::erase_if(kept_, is_cut);
  return std::move(kept_);
}

/// Whether the ranks stood to each other at the end of update `a` as at the end of `b`. What follows depends on that
/// alone, so a state that comes back is a period. (Equal durations would not do: a fast rank can gain on a slow one a
/// little with every update, and fit in one more micro-batch only when it has gained a whole one.)
bool Recorder::same_state(std::size_t a, std::size_t b, double tolerance) const {
  const std::vector<Update>& first = ranks_[0].updates;
  return std::ranges::all_of(ranks_, [&](const Rank& rank) {
    const double phase_a = rank.updates[a].end - first[a].end, phase_b = rank.updates[b].end - first[b].end;
    if (std::abs(phase_a - phase_b) > tolerance) return false;
    const auto rounds_of = [&](std::size_t k) {
      const std::size_t from = k == 0 ? 0 : rank.updates[k - 1].rounds_to;
      return std::pair(rank.rounds.begin() + from, rank.rounds.begin() + rank.updates[k].rounds_to);
    };
    const auto of_a = rounds_of(a), of_b = rounds_of(b);
    return std::equal(of_a.first, of_a.second, of_b.first, of_b.second);
  });
}

/// The least period that the last updates show twice over, in state and in duration, or of two 1, where they ended in
/// the same state; 0 where there is none.
int Recorder::period() const {
  const std::vector<Update>& of = ranks_[0].updates;
  const std::size_t updates = updates_;
  const double tolerance = kSame * (of[updates - 1].end - of[0].end) / static_cast<double>(updates - 1);
  if (updates == 2) return same_state(1, 0, tolerance) ? 1 : 0;
  for (std::size_t period = 1; 3 * period < updates; ++period) {
    bool repeats = true;
    for (std::size_t k = updates - 2 * period; k < updates && repeats; ++k) {
      const double now = of[k].end - of[k - 1].end, before = of[k - period].end - of[k - period - 1].end;
      repeats = std::abs(now - before) <= tolerance && same_state(k, k - period, tolerance);
    }
    if (repeats) return static_cast<int>(period);
  }
  return 0;
}

RankMeasure Recorder::measure_rank(const Rank& rank, int first, int last) const {
  const double from = rank.updates[first].end, to = rank.updates[last].end;
  const int updates = (last - first) * graph_.updates_per_mark;
  RankMeasure result;
  std::int64_t micro_batches = 0;
  for (int k = 0; k <= first; ++k) result.first_micro_batch += rank.updates[k].micro_batches;
  for (int k = first + 1; k <= last; ++k) {
    micro_batches += rank.updates[k].micro_batches;
    result.sent += Bytes{rank.updates[k].sent / updates};
  }
  const auto begin = rank.rounds.begin() + rank.updates[first].rounds_to;
  const auto end = rank.rounds.begin() + rank.updates[last].rounds_to;
  result.micro_batches_per_round_min = *std::min_element(begin, end);
  result.micro_batches_per_round_max = *std::max_element(begin, end);
  result.last_micro_batch = result.first_micro_batch + micro_batches;
  result.micro_batches_per_update = static_cast<double>(micro_batches) / updates;
  result.micro_batches_per_round = static_cast<double>(micro_batches) / static_cast<double>(end - begin);
  Lengths lengths = lengths_between(rank.busy, rank.communicating, from, to);
  for (const CountedTimes& counted : rank.counted) {
    if (counted.from < from || counted.to > to) continue;
    const Lengths once = lengths_between(rank.busy, rank.communicating, counted.from, counted.to);
    lengths.busy += counted.times * once.busy;
    lengths.exposed += counted.times * once.exposed;
  }
  result.idle_fraction = std::max(0.0, 1 - lengths.busy / (to - from));
  result.exposed_communication = Seconds{lengths.exposed / updates};
  return result;
}

Measured Recorder::measured() const {
  const std::vector<Update>& of = ranks_.front().updates;
  const bool complete =
      updates_ > 1 && std::ranges::all_of(ranks_, [&](const Rank& rank) { return rank.updates.size() >= updates_; });
  const int period = complete ? this->period() : 0;
  if (!complete || (updates_ < 4 && period == 0)) throw std::logic_error("a play without enough updates to measure");
  Measured measured{.periodic = period > 0 && !graph_.pace.unsteady.varies(),
                    .last = static_cast<int>(updates_) - 1,
                    .spans = spans_};
  const int settling = graph_.pace.drawn() ? std::min(4, measured.last / 4) : measured.last / 2;
  measured.first = measured.periodic ? measured.last - period : settling;
  double sum = 0, weight = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::vector<Update>& updates = ranks_[r].updates;
    measured.ranks.push_back(measure_rank(ranks_[r], measured.first, measured.last));
    sum += graph_.ranks[r].multiplicity * (updates[measured.last].end - updates[measured.first].end);
    weight += graph_.ranks[r].multiplicity;
    measured.end = std::max(measured.end, Seconds{updates[measured.last].end});
  }
  for (int k = measured.first + 1; k <= measured.last; ++k)
    measured.durations.push_back(1.0 / graph_.updates_per_mark * Seconds{of[k].end - of[k - 1].end});
  measured.update_time = Seconds{sum / weight / (measured.last - measured.first) / graph_.updates_per_mark};
  measured.last_begin = Seconds{of[measured.last - 1].end};
  measured.last_end = Seconds{of[measured.last].end};
  return measured;
}

double band_of_mean(const std::vector<Seconds>& durations) {
  constexpr std::size_t kBatches = 8;
  const std::size_t size = durations.size() / kBatches;
  if (size < 1) return 0;
  std::vector<double> means;
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += durations[batch * size + i].value;
    means.push_back(sum / static_cast<double>(size));
  }
  double mean = 0, squares = 0;
  for (const double each : means) mean += each / kBatches;
  for (const double each : means) squares += (each - mean) * (each - mean);
  constexpr double kStudent = 1.415;  // 80 % within so many standard errors, of 7 degrees of freedom
  return kStudent * std::sqrt(squares / (kBatches - 1) / kBatches) / mean;
}

}  // namespace accosim
