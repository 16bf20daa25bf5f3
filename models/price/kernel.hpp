// One kernel as the prices see it: what an operator is made of.
#pragma once

#include <optional>

#include "models/base/units.hpp"
#include "models/price/attention_time.hpp"
#include "models/price/gemm.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

enum class KernelKind : std::uint8_t { kMemory, kGemm, kAttentionForward, kAttentionBackward, kAttentionBoth };

struct Kernel {
  KernelKind kind = KernelKind::kMemory;
  Gemm gemm;                   ///< of kGemm
  AttentionShape attention;    ///< of the attention kinds; both: forward and backward in one time
  Bytes bytes;                 ///< of kMemory: read and written
  double efficiency = 1;       ///< of kMemory: of the achieved streaming bandwidth
  double work = 0;             ///< of kMemory: its arithmetic, as elements of a gelu
  int launches = 1;            ///< more than one: equal kernels, or small ones beside it, whose bytes are in `bytes`
  std::optional<Dtype> dtype;  ///< of kGemm, where it is not the compute dtype; of a `step` kernel its elements'
  std::optional<StepKernel> step;  ///< of kMemory: a kernel of accocal's, which the device may have a table of
  double elements = 0;             ///< of `step`: of its main operand
  double rows = 0;                 ///< of `step`: a column of which it works on as one

  bool operator==(const Kernel&) const = default;
};

Kernel memory_kernel(Bytes bytes, int launches = 1, double efficiency = 1, double work = 0);
Kernel gemm_kernel(const Gemm& gemm);
Kernel attention_kernel(const AttentionShape& shape, bool backward);

Flops flops_of(const Kernel& kernel);
Bytes bytes_of(const Kernel& kernel);

/// The device's measured table for a kernel with `step`, of several that of the nearest rows; nullptr: it has none.
const KernelTable* table_of(const Device& device, const Kernel& kernel);

/// Whether the kernel is smaller or larger than all that the table was measured at, or works on columns of another
/// length (2 % are none).
bool outside(const KernelTable& table, const Kernel& kernel);

/// The product as it was measured on the device, layout, sizes and accumulation just these; nullptr: it was not.
const MeasuredProduct* measured_product(const Gemm& gemm, const Device& device, Dtype dtype);

/// Measured over fitted time of a measured product. One that is up to twice or half as large in one size, and else the
/// same: the root of the nearest's. Of any other 1.
double measured_ratio(const Gemm& gemm, const Device& device, Dtype dtype);

/// On an idle device, launch by the host excluded. A kernel of which the device has a table: by that. A product:
/// gemm_time() times its measured_ratio(). Another memory-bound kernel: kKernelOverhead a launch, and
/// its bytes at the achieved bandwidth overlapped with its work at kElementRate a multiprocessor: 16-bit elements on a
/// fast memory are not memory-bound any more.
Seconds kernel_time(const Kernel& kernel, const Device& device, Dtype compute);

/// In a training step: kernel_time() times the device's overheads; products in fp32 do not load the tensor cores.
Seconds step_time(const Kernel& kernel, const Device& device, Dtype compute);

/// Start and drain of any kernel on the GPU, whatever it does: what the fits of small matrix products leave (2 to 5
/// us).
inline constexpr Seconds kKernelOverhead{2e-6};
/// Elements of a gelu a second and multiprocessor: 16-bit gelu reaches 284e9 on the 108 of an A100 and 454e9 on the 132
/// of a GH200 in the op table of github.com/eth-easl/sailor, where 32-bit gelu is memory-bound on both.
inline constexpr double kElementRate = 3.3e9;

}  // namespace accosim
