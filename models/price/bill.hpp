// The bill of one micro-batch on one kind of rank: every kernel that it runs, with equal kernels priced only once.
// Everything else is summed from the bill: how long layers and operators take, what bounds them, how far to trust that,
// and what a fit of steps needs. Nothing else prices the kernels of a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/price/kernel.hpp"
#include "models/price/layers.hpp"
#include "models/spec/device.hpp"

namespace accosim {

// What a device has left for computation while collectives run beside it: fewer multiprocessors.

/// Numbers of multiprocessors held by collectives, for which kernels are priced; a number in between counts as the next
/// larger one, one beyond the last as the last.
inline constexpr std::array<int, 14> kHeld{0, 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 72};

/// The device without `sms` of its multiprocessors, but with at least an eighth of them. Each of the rest is as fast as
/// before, and so is the memory.
Device without(const Device& device, int sms);

/// Multiprocessors that a kernel needs to fill the achieved memory bandwidth, which others then lack. By Little's law:
/// bandwidth x kMemoryLatency bytes are in flight, and one multiprocessor has kBytesInFlight of them: 2048 threads,
/// each with a load of 16 bytes. An A100 needs 27 of its 108. Not measured.
int streaming_sms(const Device& device);
inline constexpr Seconds kMemoryLatency{600e-9};  ///< of device memory under load, V100 to H100
inline constexpr Bytes kBytesInFlight{2048 * 16};

/// The device itself, then without kHeld[1], kHeld[2]... multiprocessors, up to what three collectives and a streaming
/// kernel may hold. Only the device itself where its collectives hold none.
std::vector<Device> held_devices(const Device& device);

/// What decides how long a kernel or an operator takes.
enum class Bound : std::uint8_t { kCompute, kMemory, kLaunch };
template <>
inline constexpr const char* kNames<Bound>[] = {"compute", "memory", "launch"};

// How far the price of one kernel is to be trusted: by what the fit or the table behind it left over.

/// What a price rests on, and so what errs with it.
enum class Basis : std::uint8_t {
  kBandwidth,  ///< of a memory-bound kernel without a table; all of these err together
  kMeasured,   ///< a fit or a table; equal kernels err together, different ones independently
  kConstants,  ///< the user's, of a device without fits; all of these err together
};

struct Trust {
  Basis basis = Basis::kBandwidth;
  double spread = 0;              ///< standard deviation of the log of measured over predicted time
  bool inherited = false;         ///< the constants were measured on a relative of the device
  bool other_generation = false;  ///< and that is of another architecture; all of these err together
  bool extrapolated = false;      ///< more than twice outside the FLOPs that were measured, or outside() its table
};

inline constexpr double kMeasuredSpread = 0.02;   ///< of a kernel that was measured in just its sizes
inline constexpr double kBandwidthSpread = 0.12;  ///< of memory-bound kernels together
inline constexpr double kInheritedSpread = 0.1;   ///< more, where a fit is inherited or extrapolated
/// More of all kernels together, where fits are of another generation: with it 80 % intervals hold for 87 % of the
/// published steps of each generation that is left out (accosim validate --leave-out generation).
inline constexpr double kGenerationSpread = 0.2;
inline constexpr double kConstantSpread = 0.15;  ///< of GEMMs and fused attention whose constants are the user's

/// A product that was measured in just its sizes has kMeasuredSpread for a spread, a table at least that, a fit its
/// own; a price without any of these kBandwidthSpread or kConstantSpread.
Trust trust_of(const Kernel& kernel, const Device& device, Dtype compute);

/// A kernel and what it costs, wherever it runs.
struct PricedKernel {
  Kernel kernel;
  Seconds time;  ///< step_time()
  /// Time while collectives hold kHeld[i] multiprocessors, for GEMMs and fused attention; for memory-bound kernels
  /// always `time`.
  std::array<Seconds, kHeld.size()> held{};
  Bytes bytes{};
  Bound bound = Bound::kMemory;
  Trust trust{};
};

/// One run of a kernel in its layer.
struct BillLine {
  std::size_t kernel = 0;  ///< index in Bill::kernels
  bool backward = false;
};

struct BilledOperator {
  std::string name{};
  std::vector<BillLine> lines{};  ///< forward, then backward, as the operator has them
  Seconds forward{}, backward{};  ///< sums of the lines; 0 without any
  int forward_launches = 0, backward_launches = 0;
  Flops flops{};  ///< forward and backward
  Bytes bytes{};  ///< the same
  double parameters = 0;
  Bytes frozen{};                         ///< beside them
  std::vector<double> tensors{};          ///< as the operator's
  std::vector<TensorMessage> messages{};  ///< the same
  bool beside_all = false;
  bool of_experts = false;
  Bound bound = Bound::kMemory;
};

/// Layers that are equal.
struct BilledLayer {
  LayerKind kind = LayerKind::kBlock;
  std::vector<std::size_t> indices;  ///< which of the model's layers
  std::vector<BilledOperator> operators;

  int times() const { return static_cast<int>(indices.size()); }
};

struct Bill {
  std::vector<PricedKernel> kernels;  ///< each different one once, in the order in which they first run
  std::vector<BilledLayer> layers;    ///< each different one once, in the order in which they come
  std::vector<std::size_t> layer_of;  ///< for each layer of the model its index in `layers`
  Seconds launch_interval;            ///< of the device
  int prices = 0;                     ///< number of prices computed: one per kernel and device that it was priced on
};

/// Prices every kernel on the device, GEMMs and fused attention also on the rest of held_devices(). Launch-bound: the
/// host takes longer to launch it than the GPU to run it. Compute-bound: GEMMs and attention whose bytes alone would
/// take less than half of their time. Memory-bound: the rest. `compute` is the matmul dtype; the loader has made sure
/// that the device has a peak for it.
Bill bill_of(const Layers& layers, const Device& device, Dtype compute);

/// Expands a list with one entry per distinct layer (Bill::layers) to one entry per layer of the model.
template <typename T>
std::vector<T> each_layer(const Bill& bill, const std::vector<T>& different) {
  return mapped<T>(bill.layer_of, [&](const std::size_t layer) { return different[layer]; });
}

}  // namespace accosim
