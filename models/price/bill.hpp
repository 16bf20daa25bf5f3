// The bill of one micro-batch on one kind of rank: every kernel that it runs, each different one priced once. What
// layers and operators take, what that time is made of, how far to trust it, what a fit of steps needs: all of it is
// summed from the bill, and nothing else prices the kernels of a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/held.hpp"
#include "models/price/layers.hpp"
#include "models/price/trust.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

/// What decides how long a kernel or an operator takes.
enum class Bound : std::uint8_t { kCompute, kMemory, kLaunch };
const char* name_of(Bound bound);  ///< "compute", "memory", "launch"

/// A kernel and what it costs, wherever it runs.
struct PricedKernel {
  Kernel kernel;
  Seconds time;  ///< step_time()
  /// Of arithmetic where collectives hold kHeld[i] multiprocessors; of what only moves memory `time`.
  std::array<Seconds, kHeld.size()> held;
  Bytes bytes;
  Bound bound = Bound::kMemory;
  Trust trust;
};

/// A kernel where it runs, once in its layer.
struct BillLine {
  std::size_t kernel = 0;  ///< in Bill::kernels
  bool backward = false;
};

struct BilledOperator {
  std::string name;
  std::vector<BillLine> lines;  ///< forward, then backward, as the operator has them
  Seconds forward, backward;    ///< sums of the lines; 0 without any
  int forward_launches = 0, backward_launches = 0;
  Flops flops;  ///< forward and backward
  Bytes bytes;  ///< the same
  double parameters = 0;
  Bound bound = Bound::kMemory;
};

/// Layers whose operators are equal.
struct BilledLayer {
  std::string name;                  ///< of the first
  std::vector<std::size_t> indices;  ///< which of the model's layers
  std::vector<BilledOperator> operators;

  int times() const { return static_cast<int>(indices.size()); }
};

struct Bill {
  std::vector<PricedKernel> kernels;  ///< each different one once, in the order in which they first run
  std::vector<BilledLayer> layers;    ///< each different one once, in the order in which they come
  std::vector<std::size_t> layer_of;  ///< one a layer of the model: its place in `layers`
  Seconds launch_interval;            ///< of the device
  double slowdown = 1;                ///< of the device; in no time here, since it is that of a layer
  int prices = 0;                     ///< how many were made for it: one a kernel and a device that it was priced on
};

/// Kernels are priced on the device, products and fused attention also on the others of held_devices(). Bound by
/// launches is what the host takes longer to launch than the GPU to run; by arithmetic what its bytes alone would take
/// less than half as long for; the rest by memory. `compute` is the matmul dtype; the loader has made sure that the
/// device has a peak for it.
Bill bill_of(const std::vector<Layer>& layers, const Device& device, Dtype compute);

/// One a layer of the model, from one a different layer.
template <typename T>
std::vector<T> each_layer(const Bill& bill, const std::vector<T>& different) {
  std::vector<T> all;
  all.reserve(bill.layer_of.size());
  for (const std::size_t layer : bill.layer_of) all.push_back(different[layer]);
  return all;
}

}  // namespace accosim
