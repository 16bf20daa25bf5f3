#include "models/price/pace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/base/draws.hpp"

namespace accosim {
namespace {

double jitter_of(const ComputeJitter& jitter, double uniform) {
  const double cv = jitter.micro_batch;
  switch (jitter.distribution) {
    case Distribution::kLognormal: return lognormal_quantile(cv, uniform);
    // Four standard deviations below 1 there is nothing left; one in 30,000 is cut.
    case Distribution::kNormal: return std::max(0.0, 1 + cv * normal_quantile(uniform));
    case Distribution::kExponential: return 1 - cv + cv * exponential_quantile(uniform);
  }
  return 1;
}

/// A drawn length, cut to the sequence_length.
double length_of(const Pace& pace, double uniform) {
  const SequenceLengths& lengths = pace.unsteady.lengths;
  const double most = pace.sequence_length;
  if (lengths.histogram.empty())
    return std::clamp(std::ceil(lengths.mean * lognormal_quantile(lengths.cv, uniform)), 1.0, most);
  return std::min(1.0 * lengths.histogram[index_at(pace.below, uniform)].tokens, most);
}

double padded_to(const SequenceLengths& lengths, int sequence_length, double longest) {
  if (lengths.padding != Padding::kLongest) return sequence_length;
  return std::min(1.0 * sequence_length, std::ceil(longest / lengths.multiple) * lengths.multiple);
}

/// Linear between the two rows around `tokens`.
LengthCost cost_at(const std::vector<LengthCost>& table, double tokens) {
  const auto above = std::lower_bound(table.begin(), table.end(), tokens,
                                      [](const LengthCost& row, double wanted) { return row.tokens < wanted; });
  if (above == table.end()) return table.back();
  if (above == table.begin() || above->tokens == tokens) return *above;
  const LengthCost &a = *(above - 1), &b = *above;
  const double share = (tokens - a.tokens) / (b.tokens - a.tokens);
  return {static_cast<int>(tokens), a.forward + share * (b.forward - a.forward),
          a.backward + share * (b.backward - a.backward), a.model_flops + share * (b.model_flops - a.model_flops),
          a.hardware_flops + share * (b.hardware_flops - a.hardware_flops)};
}

}  // namespace

double length_of_passes(const MicroBatch& drawn) { return drawn.forward / 2 + drawn.backward; }

MicroBatch micro_batch_of(const Pace& pace, int kind, int rank, std::int64_t index) {
  if (is_slowest_of(rank)) {
    MicroBatch slowest;
    slowest.forward = slowest.backward = 0;
    for (const int one : pace.slowest[static_cast<std::size_t>(rank - kSlowestOf)]) {
      MicroBatch drawn = micro_batch_of(pace, kind, one, index);
      const double gpu = gpu_factor(pace, one);
      drawn.forward *= gpu;
      drawn.backward *= gpu;
      if (length_of_passes(drawn) > length_of_passes(slowest)) slowest = drawn;
    }
    return slowest;
  }
  const auto k = static_cast<std::size_t>(kind);
  const Unsteady& unsteady = pace.unsteady;
  const int sequences = pace.micro_batch_size[k];
  const auto r = static_cast<std::uint64_t>(rank), i = static_cast<std::uint64_t>(index);
  const LengthCost& full = pace.lengths[k].back();
  MicroBatch drawn;
  LengthCost cost = full;
  drawn.tokens = drawn.padded = 1.0 * sequences * pace.sequence_length;
  if (!unsteady.lengths.full()) {
    double longest = 0;
    drawn.tokens = 0;
    for (int s = 0; s < sequences; ++s) {
      const std::uint64_t number = i * static_cast<std::uint64_t>(sequences) + static_cast<std::uint64_t>(s);
      const double length = length_of(pace, uniform_draw(unsteady.seed, Stream::kLength, r, number));
      drawn.tokens += length;
      longest = std::max(longest, length);
    }
    const double padded = padded_to(unsteady.lengths, pace.sequence_length, longest);
    drawn.padded = sequences * padded;
    cost = cost_at(pace.lengths[k], padded);
  }
  const double jitter = unsteady.jitter.micro_batch > 0
                            ? jitter_of(unsteady.jitter, uniform_draw(unsteady.seed, Stream::kMicroBatch, r, i))
                            : 1;
  drawn.forward = jitter * cost.forward;
  drawn.backward = jitter * cost.backward;
  drawn.model_flops = drawn.tokens / drawn.padded * cost.model_flops;
  drawn.hardware_flops = cost.hardware_flops;
  return drawn;
}

double gpu_factor(const Pace& pace, int rank) {
  const double cv = pace.unsteady.jitter.gpu;
  if (cv == 0) return 1;
  return lognormal_quantile(cv, uniform_draw(pace.unsteady.seed, Stream::kGpu, static_cast<std::uint64_t>(rank), 0));
}

std::vector<int> padded_lengths(const SequenceLengths& lengths, int sequence_length, std::size_t most) {
  if (lengths.full() || lengths.padding == Padding::kSequenceLength) return {sequence_length};
  std::vector<int> all;
  for (const auto& bar : lengths.histogram)
    if (bar.weight > 0) all.push_back(static_cast<int>(padded_to(lengths, sequence_length, bar.tokens)));
  if (lengths.histogram.empty()) {
    const int possible = (sequence_length - 1) / lengths.multiple + 1;
    const auto some = static_cast<int>(std::min<std::size_t>(most, static_cast<std::size_t>(possible)));
    for (int i = 0; i < some; ++i) {
      const std::int64_t number = some == 1 ? possible : 1 + std::int64_t{i} * (possible - 1) / (some - 1);
      all.push_back(static_cast<int>(std::min<std::int64_t>(number * lengths.multiple, sequence_length)));
    }
  }
  all.push_back(sequence_length);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() <= most) return all;
  std::vector<int> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

std::vector<SequenceLengths::Bar> documents_of(const SequenceLengths& lengths, int sequence_length) {
  constexpr int kQuantiles = 200;
  if (!lengths.separate) return {};
  std::vector<SequenceLengths::Bar> documents = lengths.histogram;
  for (int i = 0; lengths.histogram.empty() && i < kQuantiles; ++i) {
    const double tokens = std::ceil(lengths.mean * lognormal_quantile(lengths.cv, (i + 0.5) / kQuantiles));
    documents.push_back({static_cast<int>(std::clamp(tokens, 1.0, 1.0 * sequence_length)), 1});
  }
  for (SequenceLengths::Bar& document : documents) document.tokens = std::min(document.tokens, sequence_length);
  std::erase_if(documents, [](const SequenceLengths::Bar& document) { return document.weight <= 0; });
  return documents;
}

double mean_length(const SequenceLengths& lengths, int sequence_length) {
  if (lengths.full()) return sequence_length;
  if (lengths.histogram.empty()) {
    if (lengths.cv == 0) return std::min<double>(lengths.mean, sequence_length);
    // E min(X, s) of a lognormal X of this mean, z as in share_cut(): mean Phi(z - sigma) + s (1 - Phi(z)).
    const double variance = std::log(1 + lengths.cv * lengths.cv), sigma = std::sqrt(variance);
    const double z = (std::log(sequence_length / lengths.mean) + variance / 2) / sigma;
    const auto below = [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; };
    return lengths.mean * below(z - sigma) + sequence_length * (1 - below(z));
  }
  double all = 0, tokens = 0;
  for (const auto& bar : lengths.histogram) {
    all += bar.weight;
    tokens += bar.weight * std::min(bar.tokens, sequence_length);
  }
  return tokens / all;
}

double share_cut(const SequenceLengths& lengths, int sequence_length) {
  if (lengths.histogram.empty()) {
    if (lengths.cv == 0) return lengths.mean > sequence_length ? 1 : 0;
    if (lengths.mean == 0) return 0;
    const double variance = std::log(1 + lengths.cv * lengths.cv);  // of the logarithm, as lognormal_quantile() has it
    const double z = (std::log(sequence_length / lengths.mean) + variance / 2) / std::sqrt(variance);
    return std::erfc(z / std::sqrt(2)) / 2;
  }
  double all = 0, longer = 0;
  for (const auto& bar : lengths.histogram) {
    all += bar.weight;
    if (bar.tokens > sequence_length) longer += bar.weight;
  }
  return longer / all;
}

int longest_padded(const SequenceLengths& lengths, int sequence_length) {
  if (lengths.full() || lengths.histogram.empty()) return sequence_length;
  int longest = 0;
  for (const auto& bar : lengths.histogram)
    if (bar.weight > 0) longest = bar.tokens;
  return static_cast<int>(padded_to(lengths, sequence_length, longest));
}

SlowWindows::SlowWindows(const Unsteady& unsteady, int rank)
    : unsteady_(&unsteady), rank_(rank), windows_(unsteady.stragglers.size()) {
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const Stragglers& each = unsteady.stragglers[i];
    const double every = each.every.value, duration = each.duration.value, slow = duration / (every + duration);
    const double u = uniform_draw(unsteady.seed, Stream::kSlowFirst, static_cast<std::uint64_t>(rank), i);
    windows_[i].begin = u < slow ? -u / slow * duration : every * exponential_quantile((u - slow) / (1 - slow));
    windows_[i].end = windows_[i].begin + duration;
  }
}

void SlowWindows::pass(std::size_t i, double now) {
  Window& window = windows_[i];
  const Stragglers& each = unsteady_->stragglers[i];
  while (window.end <= now) {
    const std::uint64_t number = window.drawn++ * windows_.size() + i;
    const double u = uniform_draw(unsteady_->seed, Stream::kSlowBegin, static_cast<std::uint64_t>(rank_), number);
    window.begin = window.end + each.every.value * exponential_quantile(u);
    window.end = window.begin + each.duration.value;
  }
}

Seconds SlowWindows::end_of(Seconds begin, Seconds duration) {
  double now = begin.value, left = duration.value;
  for (;;) {
    double factor = 1, change = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      pass(i, now);
      const bool slow = windows_[i].begin <= now;
      if (slow) factor *= unsteady_->stragglers[i].factor;
      change = std::min(change, slow ? windows_[i].end : windows_[i].begin);
    }
    if (now + left * factor <= change) return Seconds{now + left * factor};
    left -= (change - now) / factor;
    now = change;
  }
}

}  // namespace accosim
