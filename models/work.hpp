// What the time of a piece of computation is made of, so that it can be re-priced while a collective runs on the same
// GPU: the collective holds multiprocessors and moves memory, and takes neither from the host.
#pragma once

#include <array>

#include "models/layers.hpp"
#include "models/price.hpp"
#include "models/spec.hpp"
#include "models/units.hpp"

namespace accosim {

/// Numbers of multiprocessors held by collectives for which work is priced; one in between counts as the next, one
/// beyond as the last.
inline constexpr std::array<int, 13> kHeld{0, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 72};

struct Work {
  double arithmetic = 0;  ///< share of the time alone that products and fused attention take
  double memory = 0;      ///< share that memory-bound kernels take; what is left of 1 is the host's, which launches
  /// How many times as long the arithmetic takes where collectives hold kHeld[i] multiprocessors: waves on those left
  /// over waves on all.
  std::array<double, kHeld.size()> waves = ones();

  bool operator==(const Work&) const = default;

  static constexpr std::array<double, kHeld.size()> ones() {
    std::array<double, kHeld.size()> all{};
    for (double& one : all) one = 1;
    return all;
  }
};

/// How many times as long `work` takes beside collectives that hold `sms` multiprocessors and move `memory_share` of
/// the achieved bandwidth: arithmetic x waves + memory / (1 - memory_share), and never less than alone: what the host
/// leaves idle hides some.
double slowdown(const Work& work, int sms, double memory_share);

/// The device without `sms` of its multiprocessors (an eighth of them stays), those left being as fast each, the memory
/// as it is.
Device without(const Device& device, int sms);

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
