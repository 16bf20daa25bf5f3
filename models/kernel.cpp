// See kernel.hpp.
#include "models/kernel.hpp"

namespace accosim {

Kernel memory_kernel(Bytes bytes, int launches, double efficiency, double work) {
  Kernel kernel;
  kernel.bytes = bytes;
  kernel.launches = launches;
  kernel.efficiency = efficiency;
  kernel.work = work;
  return kernel;
}

Kernel gemm_kernel(const Gemm& gemm) {
  Kernel kernel;
  kernel.kind = KernelKind::kGemm;
  kernel.gemm = gemm;
  return kernel;
}

Kernel attention_kernel(const AttentionShape& shape, bool backward) {
  Kernel kernel;
  kernel.kind = backward ? KernelKind::kAttentionBackward : KernelKind::kAttentionForward;
  kernel.attention = shape;
  if (backward) kernel.launches = 3;  // rowsum(dO O), the fused kernel, the conversion of dQ
  return kernel;
}

Flops flops_of(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kMemory: return Flops{0};
    case KernelKind::kGemm: return flops_of(kernel.gemm);
    case KernelKind::kAttentionForward: return flops_of(kernel.attention, false);
    case KernelKind::kAttentionBackward: return flops_of(kernel.attention, true);
    case KernelKind::kAttentionBoth: return flops_of(kernel.attention, false) + flops_of(kernel.attention, true);
  }
  return Flops{0};
}

Bytes bytes_of(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kMemory: return kernel.bytes;
    case KernelKind::kGemm: return bytes_of(kernel.gemm);
    case KernelKind::kAttentionForward: return bytes_of(kernel.attention, false);
    case KernelKind::kAttentionBackward: return bytes_of(kernel.attention, true);
    case KernelKind::kAttentionBoth: return bytes_of(kernel.attention, false) + bytes_of(kernel.attention, true);
  }
  return Bytes{0};
}

Seconds kernel_time(const Kernel& kernel, const Device& device, Dtype compute) {
  switch (kernel.kind) {
    case KernelKind::kMemory: {
      const BytesPerSecond bandwidth = kernel.efficiency * device.memory_efficiency * device.memory_bandwidth;
      const double elements = device.sm_count * kElementRate;
      const Seconds work{elements > 0 ? kernel.work / elements : 0};
      return kernel.launches * kKernelOverhead + overlapped(kernel.bytes / bandwidth, work);
    }
    case KernelKind::kGemm: return gemm_time(kernel.gemm, device, kernel.dtype.value_or(compute));
    case KernelKind::kAttentionForward: return attention_time(kernel.attention, false, device, compute);
    case KernelKind::kAttentionBackward: return attention_time(kernel.attention, true, device, compute);
    case KernelKind::kAttentionBoth:
      return attention_time(kernel.attention, false, device, compute) +
             attention_time(kernel.attention, true, device, compute);
  }
  return Seconds{0};
}

Seconds step_time(const Kernel& kernel, const Device& device, Dtype compute) {
  const Seconds alone = kernel_time(kernel, device, compute);
  if (kernel.kind == KernelKind::kMemory) return device.memory_overhead * alone;
  if (kernel.kind != KernelKind::kGemm) return device.attention_overhead * alone;
  return kernel.dtype.value_or(compute) == Dtype::kFp32 ? alone : device.product_overhead * alone;
}

}  // namespace accosim
