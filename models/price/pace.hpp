// How long the micro-batches of a rank take when they are not all alike: the factors over the time at which its program
// is priced, by rank and micro-batch, and the tokens that each holds. Drawn as functions of (seed, rank, micro-batch),
// so that every schedule meets the same ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/unsteady.hpp"

namespace accosim {

/// A micro-batch padded to so many tokens a sequence, on one kind of rank.
struct LengthCost {
  int tokens = 0;
  double forward = 1, backward = 1;  ///< over those at the training's sequence_length
  Flops model_flops, hardware_flops;
};

/// A pause that a play makes.
struct PlacedPause {
  std::string name;
  std::vector<int> ranks;         ///< ascending; empty: all
  std::int64_t after_update = 0;  ///< so many updates have been marked before it
  std::vector<Seconds> lasts;     ///< by kind of rank
};

struct Pace {
  Unsteady unsteady;
  std::vector<double> below;          ///< by bar of the histogram: the share of sequences that are as long or shorter
  int sequence_length = 0;            ///< the training's, or the longest that occurs
  std::vector<int> micro_batch_size;  ///< by kind of rank
  std::vector<std::vector<LengthCost>> lengths{};  ///< by kind of rank, ascending; empty: every micro-batch is full
  std::vector<PlacedPause> pauses{};
  std::vector<std::vector<int>> slowest{};  ///< replica kSlowestOf + i is in each micro-batch the slowest of these

  bool drawn() const { return unsteady.drawn(); }
};

/// What was drawn of one micro-batch.
struct MicroBatch {
  double forward = 1, backward = 1;  ///< over the priced times
  double tokens = 0;                 ///< of its sequences
  double padded = 0;                 ///< with the padding
  Flops model_flops, hardware_flops;
};

inline constexpr int kSlowestOf = 1 << 30;
inline bool is_slowest_of(int replica) { return replica >= kSlowestOf; }

/// Micro-batch `index` (from 0) of a rank. Its time: that of its padded length, between two lengths of the table linear
/// in tokens, times the draw of compute_jitter.micro_batch. Its model FLOPs are those of the padded length times the
/// share of real tokens. Without lengths the tokens and FLOPs are those of a full one. Of the
/// slowest of several (kSlowestOf) its own GPU's speed is in it, too.
MicroBatch micro_batch_of(const Pace& pace, int kind, int rank, std::int64_t index);

/// How long its passes take, in units of a priced backward pass: whoever is the slowest has the largest.
double length_of_passes(const MicroBatch& drawn);

/// compute_jitter.gpu: lognormal, drawn once for the rank.
double gpu_factor(const Pace& pace, int rank);

/// Lengths to which a micro-batch can be padded, ascending, sequence_length among them; at most `most`, evenly spread,
/// where there are more.
std::vector<int> padded_lengths(const SequenceLengths& lengths, int sequence_length, std::size_t most);

/// The share of sequences that are longer than sequence_length and cut to it.
double share_cut(const SequenceLengths& lengths, int sequence_length);

/// What packed sequences that attend to themselves alone are: their lengths, cut to the row's, and how many have each;
/// of a lognormal distribution at equally spaced quantiles. Empty: nothing says that they do.
std::vector<SequenceLengths::Bar> documents_of(const SequenceLengths& lengths, int sequence_length);

/// Tokens of a mean sequence, those of the longer ones cut; sequence_length where no lengths are given.
double mean_length(const SequenceLengths& lengths, int sequence_length);

/// The most tokens to which a sequence can be padded: below sequence_length where all of a histogram is, and sequences
/// are padded to the longest.
int longest_padded(const SequenceLengths& lengths, int sequence_length);

/// When one GPU is slow: times at which the stragglers' windows open and close, and how much longer what it computes in
/// them takes. The first state is that of a process that has always run.
class SlowWindows {
 public:
  SlowWindows() = default;
  SlowWindows(const Unsteady& unsteady, int rank);

  /// When work of `duration` that begins at `begin` ends. Calls are in the order of `begin`.
  Seconds end_of(Seconds begin, Seconds duration);

 private:
  struct Window {
    double begin = 0, end = 0;
    std::uint64_t drawn = 0;
  };
  void pass(std::size_t i, double now);

  const Unsteady* unsteady_ = nullptr;
  int rank_ = 0;
  std::vector<Window> windows_;  // the present or next one, by straggler
};

}  // namespace accosim
