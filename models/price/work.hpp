// What the time of a piece of computation is made of, so that it can be re-priced while a collective runs on the same
// GPU: the collective holds multiprocessors and moves memory, and takes neither from the host.
#pragma once

#include <array>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/bill.hpp"
#include "models/price/held.hpp"
#include "models/price/price.hpp"

namespace accosim {

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

struct LayerWork {
  Work forward, backward;
};
/// Of one of the bill's layers.
LayerWork layer_work(const Bill& bill, const BilledLayer& layer);

/// One a layer of the model.
std::vector<LayerWork> layer_works(const Bill& bill);

/// Of all layers together, weighted by their times. `times` and `works` are one a layer.
LayerWork total_work(const std::vector<LayerTime>& times, const std::vector<LayerWork>& works);

/// Copies and the optimizer.
Work memory_work();

/// Bytes that pass a GPU's memory for each that it sends in a ring: a step reads what came in, reads (to reduce) or
/// writes (to keep) its own, and what comes in is written.
inline constexpr double kMemoryBytesPerByteSent = 3;

}  // namespace accosim
