// What the time of a piece of computation consists of, so that it can be re-priced while a collective runs on the same
// GPU: the collective holds multiprocessors and uses memory bandwidth, but does not slow the host.
#pragma once

#include <array>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/bill.hpp"
#include "models/price/layer_time.hpp"

namespace accosim {

struct Work {
  double arithmetic = 0;  ///< share of the undisturbed time that GEMMs and fused attention take
  double memory = 0;      ///< share that memory-bound kernels take; the rest, up to 1, waits for the host's launches
  /// How many times as long the arithmetic takes while collectives hold kHeld[i] multiprocessors: waves on those left
  /// over waves on all.
  std::array<double, kHeld.size()> waves = ones();

  bool operator==(const Work&) const = default;

  static constexpr std::array<double, kHeld.size()> ones() {
    std::array<double, kHeld.size()> all{};
    for (double& one : all) one = 1;
    return all;
  }
};

/// How many times as long `work` takes beside collectives that hold `sms` multiprocessors and use `memory_share` of the
/// achieved bandwidth, and beside kernels of other streams that spend `streaming` of their time (the sum over them) on
/// memory: arithmetic x waves + memory (1 + streaming) / (1 - memory_share). Two kernels that stream at once get half
/// of the bandwidth each. At least 1, since time spent waiting for the host's launches absorbs some of it.
double slowdown(const Work& work, int sms, double memory_share, double streaming = 0);

struct LayerWork {
  Work forward, backward;
};
/// The work of one of the bill's layers.
LayerWork layer_work(const Bill& bill, const BilledLayer& layer);

/// One a layer of the model.
std::vector<LayerWork> layer_works(const Bill& bill);

/// The work of all layers together, weighted by their times. `times` and `works` have one entry per layer.
LayerWork total_work(const std::vector<LayerTime>& times, const std::vector<LayerWork>& works);

/// The same work with so much more time in which the GPU waits for a collective of its own, out of `computed`: nothing
/// absorbs a slowdown there, and nothing slows that.
Work with_waits(const Work& work, Seconds computed, Seconds waits);

/// Copies and the optimizer.
Work memory_work();

/// Bytes that pass a GPU's memory for each that it sends in a ring: a step reads what came in, reads (to reduce) or
/// writes (to keep) its own, and what comes in is written.
inline constexpr double kMemoryBytesPerByteSent = 3;

}  // namespace accosim
