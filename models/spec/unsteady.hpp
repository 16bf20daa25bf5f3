// What makes the steps of a training unlike each other: sequences of different lengths, GPUs that are not equally fast
// and not steady, and pauses. Absent, every micro-batch of a kind of rank takes the same time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"

namespace accosim {

/// What the sequences of a micro-batch are padded to: the longest of them, the training's sequence_length; or packed
/// end to end into rows of sequence_length, so that nothing is padded.
enum class Padding : std::uint8_t { kLongest, kSequenceLength, kPacked };
template <>
inline constexpr const char* kNames<Padding>[] = {"longest", "sequence_length", "packed"};

/// Lengths of sequences in tokens, as a histogram or as a lognormal distribution. What is longer than the training's
/// sequence_length is cut to it.
struct SequenceLengths {
  struct Bar {
    int tokens = 0;
    double weight = 0;  ///< share, or a number of sequences

    bool operator==(const Bar&) const = default;
  };
  std::vector<Bar> histogram;  ///< ascending in tokens; empty: lognormal
  double mean = 0;             ///< tokens, before the cut; lognormal
  double cv = 0;               ///< coefficient of variation; lognormal
  Padding padding = Padding::kLongest;
  int multiple = 1;       ///< padded to the next multiple of it, but never above sequence_length
  bool separate = false;  ///< of packed ones each attends to itself alone, and not to all that is before it in its row

  /// Of the histogram's bars.
  std::vector<double> weights() const;
  /// Every micro-batch is full: nothing else is said, or rows are packed.
  bool full() const { return (histogram.empty() && mean == 0) || padding == Padding::kPacked; }
  bool operator==(const SequenceLengths&) const = default;
};

enum class Distribution : std::uint8_t { kLognormal, kNormal, kExponential };
template <>
inline constexpr const char* kNames<Distribution>[] = {"lognormal", "normal", "exponential"};

/// Coefficients of variation of the time of a micro-batch's forward and backward pass, whose mean stays.
struct ComputeJitter {
  double micro_batch = 0;  ///< drawn for each micro-batch
  double gpu = 0;          ///< drawn once for each GPU, lognormal
  /// Of `micro_batch`. kExponential: 1 - cv + cv X, X exponential with mean 1, so that most are a little fast and a few
  /// are late.
  Distribution distribution = Distribution::kLognormal;

  bool operator==(const ComputeJitter&) const = default;
};

/// GPUs that are slow for a while: each, on its own, after a time that is exponential with mean `every`.
struct Stragglers {
  Seconds every;
  Seconds duration;
  double factor = 1;  ///< forward and backward take so many times as long

  bool operator==(const Stragglers&) const = default;
};

/// A pause of some ranks: when, and for how long or for what work. Exactly one of the triggers and one of the works is
/// set.
struct Pause {
  std::string name{};
  std::vector<int> ranks{};  ///< ascending; empty: all
  double every_updates = 0;
  double every_gradients = 0;  ///< micro-batches counted over all ranks
  Seconds every{};
  Seconds duration{};
  double sequences = 0;  ///< to evaluate: forward passes in micro-batches of the training's size
  Bytes bytes{};         ///< to write, such as a checkpoint
  BytesPerSecond bandwidth{};

  bool operator==(const Pause&) const = default;
};

struct Unsteady {
  std::uint64_t seed = 0;
  SequenceLengths lengths{};
  ComputeJitter jitter{};
  std::vector<Stragglers> stragglers{};
  std::vector<Pause> pauses{};

  /// The micro-batches of a rank are not alike.
  bool varies() const { return !lengths.full() || jitter.micro_batch > 0 || !stragglers.empty(); }
  /// Those of a kind of rank are not, and have to be drawn.
  bool drawn() const { return varies() || jitter.gpu > 0; }
  bool operator==(const Unsteady&) const = default;
};

}  // namespace accosim
