#include "sim/result/measure.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/result/stretches.hpp"

namespace accosim {
namespace {

// Times are equal when they agree to this share of an update; far above the rounding of a sum of a million terms.
constexpr double kSame = 1e-9;

/// What one rank did, by update.
struct History {
  std::vector<double> time;                       // when each update ended
  std::vector<std::int64_t> micro_batches;        // by update
  std::vector<std::vector<std::int64_t>> rounds;  // micro-batches of each round, by update
  Stretches busy, communicating;
  std::vector<std::pair<double, double>> sent;  // when, bytes
};

std::vector<History> histories(const EventGraph& graph, const std::vector<Span>& spans) {
  std::vector<History> ranks(graph.ranks.size());
  std::vector<std::int64_t> in_update(ranks.size(), 0), in_round(ranks.size(), 0);
  std::vector<std::vector<std::int64_t>> rounds(ranks.size());
  for (const Span& span : spans) {
    History& history = ranks[span.rank];
    const Label& label = graph.labels[span.label];
    in_round[span.rank] += label.micro_batches * span.repeat;
    in_update[span.rank] += label.micro_batches * span.repeat;
    if (label.mark != Mark::kNone) {
      rounds[span.rank].push_back(std::exchange(in_round[span.rank], 0));
      if (label.mark == Mark::kUpdate) {
        history.time.push_back(span.end.value);
        history.micro_batches.push_back(std::exchange(in_update[span.rank], 0));
        history.rounds.push_back(std::exchange(rounds[span.rank], {}));
      }
    } else if (label.cls == OpClass::kPause) {
      continue;  // nothing is computed
    } else if (label.cls == OpClass::kCommunication) {
      history.communicating.emplace_back(span.begin.value, span.end.value);
      const Rank& rank = graph.ranks[span.rank];
      const Op& op = graph.programs[rank.program].lanes[span.lane][span.op];
      history.sent.emplace_back(span.end.value, graph.groups[rank.groups[op.slot]].plans[op.plan].sent_per_rank.value);
    } else {
      // A repeated op stands in a body that is compute throughout, so what lies between its repetitions is busy too. A
      // wait for the host is the computation's own, and exposes no communication.
      history.busy.emplace_back(span.begin.value,
                                span.end.value + static_cast<double>(span.repeat - 1) * span.period.value);
    }
  }
  return ranks;
}

/// Whether the ranks stood to each other at the end of update `a` as at the end of `b`. What follows depends on that
/// alone, so a state that comes back is a period. (Equal durations would not do: a fast rank can gain on a slow one a
/// little with every update, and fit in one more micro-batch only when it has gained a whole one.)
bool same_state(const std::vector<History>& ranks, int a, int b, double tolerance) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const History& rank) {
    const double phase_a = rank.time[a] - ranks[0].time[a], phase_b = rank.time[b] - ranks[0].time[b];
    return rank.rounds[a] == rank.rounds[b] && std::abs(phase_a - phase_b) <= tolerance;
  });
}

/// The least period that the last updates show twice over, in state and in duration; 0 where there is none.
int period_of(const std::vector<History>& ranks, int updates) {
  const std::vector<double>& time = ranks[0].time;
  const double tolerance = kSame * (time[updates - 1] - time[0]) / (updates - 1);
  for (int period = 1; 3 * period < updates; ++period) {
    bool repeats = true;
    for (int k = updates - 2 * period; k < updates && repeats; ++k) {
      const double now = time[k] - time[k - 1], before = time[k - period] - time[k - period - 1];
      repeats = same_state(ranks, k, k - period, tolerance) && std::abs(now - before) <= tolerance;
    }
    if (repeats) return period;
  }
  return 0;
}

RankMeasure measure_rank(const History& history, int first, int last, int updates_per_mark) {
  const double from = history.time[first], to = history.time[last];
  const int updates = (last - first) * updates_per_mark;
  RankMeasure result;
  std::int64_t rounds = 0, micro_batches = 0;
  result.least_per_round = history.rounds[last].front();
  for (int k = first + 1; k <= last; ++k) {
    for (const std::int64_t round : history.rounds[k]) {
      result.least_per_round = std::min(result.least_per_round, round);
      result.most_per_round = std::max(result.most_per_round, round);
      ++rounds;
    }
    micro_batches += history.micro_batches[k];
  }
  for (int k = 0; k <= first; ++k) result.first_micro_batch += history.micro_batches[k];
  result.last_micro_batch = result.first_micro_batch + micro_batches;
  result.micro_batches_per_update = static_cast<double>(micro_batches) / updates;
  result.micro_batches_per_round = static_cast<double>(micro_batches) / static_cast<double>(rounds);
  const Stretches busy = merged(history.busy, from, to);
  const Stretches communicating = merged(history.communicating, from, to);
  result.idle_fraction = std::max(0.0, 1 - length(busy) / (to - from));
  result.exposed_communication = Seconds{(length(communicating) - common(communicating, busy)) / updates};
  for (const auto& [time, bytes] : history.sent)
    if (from < time && time <= to) result.sent += Bytes{bytes / updates};
  return result;
}

}  // namespace

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

Measured measure(const EventGraph& graph, const std::vector<Span>& spans) {
  const std::vector<History> ranks = histories(graph, spans);
  const int updates = static_cast<int>(ranks.front().time.size());
  for (const History& rank : ranks)
    if (static_cast<int>(rank.time.size()) != updates || updates < 4)
      throw std::logic_error("a play without enough updates to measure");
  Measured measured;
  const int period = period_of(ranks, updates);
  measured.periodic = period > 0 && !graph.pace.unsteady.varies();
  measured.last = updates - 1;
  const int settling = graph.pace.drawn() ? std::min(4, measured.last / 4) : measured.last / 2;
  measured.first = measured.periodic ? measured.last - period : settling;
  double sum = 0, weight = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    measured.ranks.push_back(measure_rank(ranks[r], measured.first, measured.last, graph.updates_per_mark));
    sum += graph.ranks[r].multiplicity * (ranks[r].time[measured.last] - ranks[r].time[measured.first]);
    weight += graph.ranks[r].multiplicity;
  }
  for (int k = measured.first + 1; k <= measured.last; ++k)
    measured.durations.push_back(1.0 / graph.updates_per_mark * Seconds{ranks[0].time[k] - ranks[0].time[k - 1]});
  measured.update_time = Seconds{sum / weight / (measured.last - measured.first) / graph.updates_per_mark};
  return measured;
}

}  // namespace accosim
