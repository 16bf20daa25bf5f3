// What the time of a piece of computation is made of, so that it can be re-priced while a collective runs on the same
// GPU: the collective holds multiprocessors and moves memory, and takes neither from the host.
#pragma once

#include <array>

#include "models/layers.hpp"
#include "models/price.hpp"
#include "models/spec.hpp"
#include "models/units.hpp"

namespace accosim {

/// More collectives than these at once on one GPU slow no further.
inline constexpr int kMostBeside = 3;

struct Work {
  double arithmetic = 0;  ///< share of the time alone that products and fused attention take
  double memory = 0;      ///< share that memory-bound kernels take; what is left of 1 is the host's, which launches
  /// How many times as long the arithmetic takes with so many collectives beside it, each on the device's
  /// collective_sms: waves on the multiprocessors left over waves on all.
  std::array<double, kMostBeside + 1> waves{1, 1, 1, 1};

  bool operator==(const Work&) const = default;
};

/// How many times as long `work` takes with `collectives` beside it that move `memory_share` of the achieved bandwidth:
/// arithmetic x waves + memory / (1 - memory_share), and never less than alone: what the host leaves idle hides some.
double slowdown(const Work& work, int collectives, double memory_share);

struct LayerWork {
  Work forward, backward;
};
LayerWork layer_work(const Layer& layer, const Device& device, Dtype compute);

/// Of all layers together, weighted by their times. `times` and `works` are one a layer.
LayerWork total_work(const std::vector<LayerTime>& times, const std::vector<LayerWork>& works);

/// Copies and the optimizer.
Work memory_work();

/// Bytes that pass a GPU's memory for each that it sends in a ring: a step reads what came in, reads (to reduce) or
/// writes (to keep) its own, and what comes in is written.
inline constexpr double kMemoryBytesPerByteSent = 3;

}  // namespace accosim
