// What a rank computes between communications: a real model on real text, or nothing at all for a set time, which makes
// the timing of an algorithm independent of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/transport.hpp"
#include "calibration/train/data.hpp"
#include "calibration/train/gpt.hpp"
#include "models/base/units.hpp"

namespace accocal {

class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::size_t parameter_count() const = 0;
  virtual std::vector<float> initial_parameters() const = 0;
  virtual int samples_per_micro_batch() const = 0;
  virtual int tokens_per_sample() const = 0;  ///< at most
  /// Adds the gradient of the micro-batch's mean loss to `gradient` and returns that loss. A function of its arguments.
  virtual double accumulate(std::span<const float> parameters, std::int64_t micro_batch, std::span<float> gradient) = 0;
  /// Loss on what is held out of training; NaN where nothing is.
  virtual double held_out_loss(std::span<const float> parameters) = 0;
  /// The elements of a fragment of the parameters, in ascending order; all fragments together have every element once.
  /// A GPT's: block i is in fragment i modulo `fragments`, the embeddings (the head is tied to them) in the first, the
  /// last norm in the last. Of other workloads: slices.
  virtual std::vector<Shard> fragment(int number, int fragments) const {
    return {shard_of(parameter_count(), number, fragments)};
  }
};

struct GptWorkloadOptions {
  GptShape shape;          ///< its vocabulary is taken from the corpus
  int sequences = 4;       ///< a micro-batch
  int held_out = 32;       ///< sequences that held_out_loss() looks at
  std::uint64_t seed = 1;  ///< of the initial parameters, of the order of the text and of lengths
  /// Tokens of a sequence and how often; a micro-batch is as long as its longest one. Empty: all have the whole
  /// context.
  std::map<int, double> lengths{};
};
/// Number of held-out sequences that are evaluated at once.
inline constexpr int kEvaluated = 8;
std::unique_ptr<Workload> gpt_workload(const GptWorkloadOptions& options, std::shared_ptr<const Corpus> corpus);

/// Sleeps until `duration` after it was called; the gradient stays as it is, the loss is NaN. Late by what the kernel
/// takes to wake a thread, some 10 us. With a jitter each micro-batch sleeps so much longer or shorter: lognormal, mean
/// 1, with that coefficient of variation, drawn by (seed, micro-batch).
std::unique_ptr<Workload> timed_workload(Seconds duration, std::size_t parameters, double jitter = 0,
                                         std::uint64_t seed = 1);

/// Sleeps until a time of CLOCK_MONOTONIC in nanoseconds.
void sleep_until(std::int64_t nanoseconds);
std::int64_t monotonic_nanoseconds();

}  // namespace accocal
