// A GPU as the prices see it: what it can do, and the constants that were fitted to its kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/shared.hpp"
#include "models/base/units.hpp"
#include "models/spec/kernel_table.hpp"

namespace accosim {

enum class Dtype : std::uint8_t { kFp32, kTf32, kFp16, kBf16, kFp8 };
template <>
inline constexpr const char* kNames<Dtype>[] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
inline constexpr int kDtypeCount = static_cast<int>(std::size(kNames<Dtype>));

/// Storage of one element (tf32 is stored as fp32).
constexpr Bytes bytes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp32:
    case Dtype::kTf32: return Bytes{4};
    case Dtype::kFp16:
    case Dtype::kBf16: return Bytes{2};
    case Dtype::kFp8: return Bytes{1};
  }
  return Bytes{0};
}

/// Products and a softmax, or one fused kernel: FlashAttention 2, FlashAttention 1 such as Triton's, PyTorch's
/// memory-efficient attention (xFormers'), which runs where FlashAttention does not, or FlashAttention 3.
enum class Attention : std::uint8_t { kNaive, kFlash, kFlash1, kMemoryEfficient, kFlash3 };
template <>
inline constexpr const char* kNames<Attention>[] = {"naive", "flash", "flash_1", "memory_efficient", "flash_3"};
/// Architectures in order of time: volta, turing, ampere (8.0), ampere_rtx (8.6), ada, hopper, blackwell (10.x),
/// blackwell_rtx (12.0).
const std::vector<std::string>& architectures();
/// Its place among them; an unknown one's is ampere's.
int generation_of(const std::string& architecture);
/// Compute capability, 80 of Ampere and of an architecture that is not known (CUDA C++ programming guide).
int capability_of(const std::string& architecture);
/// Whether there is such a kernel for the architecture ("volta", "ampere"...; "": unknown, and taken to have all).
/// FlashAttention 2 needs ampere or newer, FlashAttention 1 turing, FlashAttention 3 is for hopper alone
/// (github.com/Dao-AILab/flash-attention, README).
bool runs_on(const std::string& architecture, Attention attention);

/// How good a fit is, and where it holds.
struct FitQuality {
  double spread = 0;              ///< standard deviation of the log of predicted over measured time
  int samples = 0;                ///< number of measured kernels; 0: unknown
  double least = 0, most = 0;     ///< range of the FLOPs of the kernels; a kernel outside is extrapolated
  bool inherited = false;         ///< measured on a relative of the device, not on it
  bool other_generation = false;  ///< and that is of another architecture

  bool operator==(const FitQuality&) const = default;
};

/// Whose published training steps stand behind predictions of a device's: its own, those of a relative of its
/// architecture, or those of other generations alone.
enum class StepEvidence : std::uint8_t { kOwn, kRelative, kOtherGeneration };
template <>
inline constexpr const char* kNames<StepEvidence>[] = {"own", "relative", "other_generation"};

/// Which operands of a product are transposed, with matrices stored column by column as in BLAS. kAny: not said.
enum class GemmLayout : std::uint8_t { kAny, kNN, kTN, kNT, kTT };
template <>
inline constexpr const char* kNames<GemmLayout>[] = {"any", "NN", "TN", "NT", "TT"};
GemmLayout layout_of(bool transpose_a, bool transpose_b);

/// One GEMM that was measured on the device, and how far its fit is off for it.
struct MeasuredProduct {
  GemmLayout layout = GemmLayout::kAny;
  bool accumulate = false;
  double m = 0, n = 0, k = 0, batch = 1;
  double ratio = 1;  ///< measured over fitted time

  bool operator==(const MeasuredProduct&) const = default;
};

/// Fitted constants of GEMMs in one dtype; `gemm_time` has the formula.
struct GemmFit {
  double peak_fraction = 0;    ///< share of the peak in the inner loop of a 256 x 128 tile, at `reference_power`
  double reference_power = 0;  ///< W; 0: the fraction does not depend on the power
  double streaming = 1;        ///< share of the achieved bandwidth, where reading and writing bounds the kernel
  double square_tile = 1;      ///< efficiency of a 128 x 128 tile relative to one of 256 x 128
  double narrow_tile = 1;      ///< the same of a tile with an edge of 64
  double quantisation = 1;     ///< share of a last, partly filled wave that costs as much as a full one
  double exposed_result = 0;   ///< share of the result's memory traffic that nothing hides
  double k_fill = 0;           ///< elements of k that filling and draining a tile's pipeline costs
  Seconds fixed{};             ///< of a kernel, however small
  FitQuality quality{};
  Shared<std::vector<MeasuredProduct>> products{};  ///< what corrects the fit for GEMMs like these: measured_ratio()

  bool operator==(const GemmFit&) const = default;
};

/// Fitted constants of fused attention in 16 bits; `attention_time` has the formula.
struct AttentionFit {
  double forward_fraction = 0;   ///< fraction of the peak for heads of 128, at `reference_power`
  double backward_fraction = 0;  ///< the same backward, counting five products where the forward has two
  double reference_power = 0;    ///< W; 0: the fractions do not depend on the power
  double wide_head = 0;          ///< exponent: a head wider than 128 runs at (128 / width)^wide_head of the rate
  double tail = 0;       ///< share of the longest block's time during which the other blocks leave multiprocessors idle
  double softmax = 0;    ///< forward: elements of a head that the softmax of a pair costs as much as
  double streaming = 1;  ///< forward: share of the achieved bandwidth at which operands and result pass
  Seconds fixed{};
  FitQuality quality{};

  bool operator==(const AttentionFit&) const = default;
};

/// A GPU as the prices see it. Fractions are of the peak or of the bandwidth, 0 to 1.
struct Device {
  std::string name{};
  std::array<std::optional<FlopsPerSecond>, kDtypeCount> peak{};  ///< dense matmul peak by dtype; absent: cannot do it
  double gemm_efficiency = 0;             ///< achieved fraction of the peak in large matrix products
  double flash_attention_efficiency = 0;  ///< achieved fraction of the peak in fused attention
  BytesPerSecond memory_bandwidth{};
  double memory_efficiency = 0;  ///< achieved fraction of the memory bandwidth in streaming kernels
  Bytes memory{};
  Bytes reserved_memory{};  ///< CUDA context and library buffers, never available to tensors; the allocator's slack is
                            ///< not in it
  Seconds launch_interval{};   ///< least time between two kernel launches by the host
  std::string architecture{};  ///< one of architectures(), or the user's own; empty: unknown
  int sm_count = 0;            ///< multiprocessors; 0: unknown, GEMMs are not cut into waves
  double power = 0;            ///< limit of the board in W; 0: unknown
  std::array<std::optional<GemmFit>, kDtypeCount> gemm{};  ///< by dtype; absent: gemm_efficiency alone
  std::optional<AttentionFit> attention{};                 ///< absent: flash_attention_efficiency alone
  std::optional<AttentionFit> flash_3{};                   ///< of FlashAttention 3; absent: as `attention`
  Shared<std::vector<KernelTable>> kernels{};              ///< tables of measured kernels that are no GEMMs
  int collective_sms = 0;          ///< multiprocessors that the channels of a collective hold; 0: it takes none
  double collective_slowdown = 1;  ///< how many times as long a collective inside a node takes while the GPU computes
  std::optional<double> product_overhead{};  ///< how many times as long GEMMs on tensor cores take in a training step
                                             ///< as alone, where it is known; absent: by `product_slope`
  double product_slope = 0;                  ///< what Training::overheads says
  double memory_overhead = 1;                ///< the same for memory-bound kernels: what Training::overheads says
  double attention_overhead = 1;             ///< the same for fused attention
  Seconds adamw_time_per_parameter{};        ///< as measured, one pass; 0: priced by the bytes that it moves
  StepEvidence steps = StepEvidence::kOwn;
  double step_factor = 1;               ///< measured over predicted time of kernels, from steps timed on this machine
  std::optional<double> step_spread{};  ///< and the standard deviation of its log; absent: compute_spread() has it from
                                        ///< the fits
  double slowdown = 1;  ///< every forward and backward takes this many times as long (an emulated straggler)

  bool operator==(const Device&) const = default;
};

}  // namespace accosim
