// One kernel as the prices see it: what an operator is made of.
#pragma once

#include <optional>

#include "models/base/units.hpp"
#include "models/price/attention_time.hpp"
#include "models/price/gemm.hpp"
#include "models/spec/device.hpp"

namespace accosim {

enum class KernelKind : std::uint8_t { kMemory, kGemm, kAttentionForward, kAttentionBackward, kAttentionBoth };

struct Kernel {
  KernelKind kind = KernelKind::kMemory;
  Gemm gemm{};                   ///< of kGemm
  AttentionShape attention{};    ///< of the attention kinds; both: forward and backward in one time
  Bytes bytes{};                 ///< of kMemory: read and written
  double efficiency = 1;         ///< of kMemory: of the achieved streaming bandwidth
  double work = 0;               ///< of kMemory: its arithmetic, counted in elements of a gelu
  int launches = 1;              ///< above 1: equal kernels, or small ones beside it, whose bytes are in `bytes`
  double repeats = 1;            ///< of kGemm: such products, one after the other, in this kernel's time
  std::optional<Dtype> dtype{};  ///< of kGemm: where it is not the compute dtype; of a `step` kernel: of its elements
  std::optional<StepKernel> step{};  ///< of kMemory: which of accocal's kernels it is; a device may have a table of it
  double elements = 0;               ///< of a `step` kernel: elements of its main operand
  Bytes beside{};   ///< of a measured GEMM or attention: moved by a memory-bound kernel before it, in the same time
  double rows = 0;  ///< of a `step` kernel: length of the columns that it works on; 0: the operand is flat

  bool operator==(const Kernel&) const = default;
};

Kernel memory_kernel(Bytes bytes, int launches = 1, double efficiency = 1, double work = 0);
Kernel gemm_kernel(const Gemm& gemm);
/// One of accocal's kernels; with one column its operand is flat.
Kernel accocal_kernel(StepKernel step, Dtype storage, double rows, double columns = 1);
Kernel attention_kernel(const AttentionShape& shape, bool backward);

Flops flops_of(const Kernel& kernel);
Bytes bytes_of(const Kernel& kernel);

/// The device's measured table for a `step` kernel; of several, the one with the nearest number of rows. nullptr: there
/// is none.
const KernelTable* table_of(const Device& device, const Kernel& kernel);

/// Whether the kernel is smaller or larger than everything in the table, or works on columns of another length;
/// differences of up to 2 % do not count.
bool outside(const KernelTable& table, const Kernel& kernel);

/// The measured GEMM with exactly this layout, these sizes and this accumulation; where a framework's or a table's says
/// no layout, with these sizes. nullptr: there is none.
const MeasuredProduct* measured_product(const Gemm& gemm, const Device& device, Dtype dtype);

/// Measured over fitted time of a GEMM that was measured. For one that differs from measured GEMMs in a single size, by
/// a factor of two at most, and is aligned as they are: the square root of the nearest one's ratio. For any other 1.
double measured_ratio(const Gemm& gemm, const Device& device, Dtype dtype);

/// Time on an idle device, without the launch by the host. A kernel that the device has a table of: by the table. A
/// GEMM: gemm_time() times its measured_ratio(). Any other memory-bound kernel: kKernelOverhead per launch, and its
/// bytes at the achieved bandwidth overlapped with its arithmetic at kElementRate per multiprocessor, since on a fast
/// memory kernels on 16-bit elements are no longer memory-bound.
Seconds kernel_time(const Kernel& kernel, const Device& device, Dtype compute);

/// TFLOP/s a W: dense peak in 16 bits over power, both at the limit for which the fits' fractions hold (the peak by
/// power_factor(), which has what another limit costs), without such a fit at the device's own. 0: unknown.
double flops_per_watt(const Device& device);

/// How many times as long GEMMs on tensor cores take in a training step as alone: the more FLOP/s a watt a device has,
/// the further lasting load and cold caches hold it back. `slope` of Overheads, fitted to published steps; `x`:
/// flops_per_watt().
///   max(1, 1 + slope ln(x / kHeldBackFrom))
double product_overhead(double slope, double x);
/// The device's own, else that of its slope.
double product_overhead(const Device& device);

/// In a training step: kernel_time() times the device's overheads; products in fp32 do not load the tensor cores.
Seconds step_time(const Kernel& kernel, const Device& device, Dtype compute);

/// Start and drain of any kernel on the GPU, whatever it does: what the fits of small matrix products leave (2 to 5
/// us).
inline constexpr Seconds kKernelOverhead{2e-6};
/// Elements of a gelu a second and multiprocessor: 16-bit gelu reaches 284e9 on the 108 of an A100 and 454e9 on the 132
/// of a GH200 in the op table of github.com/eth-easl/sailor, where 32-bit gelu is memory-bound on both.
inline constexpr double kElementRate = 3.3e9;

}  // namespace accosim
