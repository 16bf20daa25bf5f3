// What the kernels are written in: the part of CUDA C++ that they need, under names that another compiler can take too.
// nvcc makes kernels of them; as plain C++ each thread is a function call or a fiber of the device that tests play on
// the host (tests/on_host), which defines what is only declared here. Blocks are of one dimension, warps of 32 threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "calibration/device/device.hpp"
#include "calibration/ranks/transport.hpp"

#if defined(__CUDACC__)
#include <cuda_bf16.h>

#include "calibration/cuda/handles.hpp"
#else
#include <cmath>
#include <cstring>

#include "calibration/ranks/bf16.hpp"
#endif

namespace accocal {

/// 16 bytes, which a thread reads and writes at once.
struct alignas(16) Words {
  std::uint32_t at[4];
};

#if defined(__CUDACC__)

#define ACCOSIM_KERNEL static __global__ void
#define ACCOSIM_DEVICE __device__ inline
#define ACCOSIM_SHARED __shared__

ACCOSIM_DEVICE unsigned thread_index() { return threadIdx.x; }
ACCOSIM_DEVICE unsigned block_index() { return blockIdx.x; }
ACCOSIM_DEVICE unsigned block_size() { return blockDim.x; }
ACCOSIM_DEVICE unsigned grid_size() { return gridDim.x; }
ACCOSIM_DEVICE void sync_block() { __syncthreads(); }

ACCOSIM_DEVICE float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
ACCOSIM_DEVICE float warp_max(float value) {
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

ACCOSIM_DEVICE Words load_words(const void* from) {
  const uint4 w = *static_cast<const uint4*>(from);
  return {{w.x, w.y, w.z, w.w}};
}
ACCOSIM_DEVICE void store_words(void* to, const Words& w) {
  *static_cast<uint4*>(to) = make_uint4(w.at[0], w.at[1], w.at[2], w.at[3]);
}
ACCOSIM_DEVICE float float_of(std::uint32_t bits) { return __uint_as_float(bits); }
ACCOSIM_DEVICE std::uint32_t bits_of(float value) { return __float_as_uint(value); }
ACCOSIM_DEVICE Bf16 rounded(float value) { return {__bfloat16_as_ushort(__float2bfloat16_rn(value))}; }

/// The device's global timer, in ns.
ACCOSIM_DEVICE std::uint64_t timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
/// Sleeps for about 10 us, so that the multiprocessor can run its other threads.
ACCOSIM_DEVICE void pause() { __nanosleep(10000); }
ACCOSIM_DEVICE void atomic_add(std::uint64_t* to, std::uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

/// Gives a kernel to the stream; `what` names it where the launch is refused.
template <typename... Parameters, typename... Arguments>
void launch(const char* what, Stream& stream, std::int64_t blocks, unsigned threads, void (*kernel)(Parameters...),
            Arguments... arguments) {
  kernel<<<static_cast<unsigned>(blocks), threads, 0, stream.handle().stream>>>(arguments...);
  check_cuda(cudaGetLastError(), what);
}
/// Launches a kernel whose threads synchronise: at barriers, in sums over a warp.
template <typename... Parameters, typename... Arguments>
void launch_together(const char* what, Stream& stream, std::int64_t blocks, unsigned threads,
                     void (*kernel)(Parameters...), Arguments... arguments) {
  launch(what, stream, blocks, threads, kernel, arguments...);
}
/// Launches a kernel whose blocks each take all of a multiprocessor's shared memory, so that nothing else runs there.
template <typename... Parameters, typename... Arguments>
void launch_alone(const char* what, Stream& stream, std::int64_t blocks, unsigned threads,
                  void (*kernel)(Parameters...), Arguments... arguments) {
  int device = 0, bytes = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
  kernel<<<static_cast<unsigned>(blocks), threads, static_cast<std::size_t>(bytes), stream.handle().stream>>>(
      arguments...);
  check_cuda(cudaGetLastError(), what);
}

/// For the log of the device that tests emulate.
inline void note_kernel(const char*, std::int64_t, std::int64_t) {}

#else

#define ACCOSIM_KERNEL static void
#define ACCOSIM_DEVICE inline
#define ACCOSIM_SHARED static

unsigned thread_index();
unsigned block_index();
unsigned block_size();
unsigned grid_size();
void sync_block();
float warp_sum(float value);
float warp_max(float value);

inline Words load_words(const void* from) {
  Words w;
  std::memcpy(&w, __builtin_assume_aligned(from, 16), sizeof w);
  return w;
}
inline void store_words(void* to, const Words& w) { std::memcpy(__builtin_assume_aligned(to, 16), &w, sizeof w); }
inline float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
inline Bf16 rounded(float value) { return to_bf16(value); }

std::uint64_t timer_ns();
inline void pause() {}
inline void atomic_add(std::uint64_t* to, std::uint64_t value) { *to += value; }

void give_kernel(const char* what, Stream& stream, std::int64_t blocks, unsigned threads, bool together,
                 std::function<void()> thread);

template <typename... Parameters, typename... Arguments>
void launch(const char* what, Stream& stream, std::int64_t blocks, unsigned threads, void (*kernel)(Parameters...),
            Arguments... arguments) {
  give_kernel(what, stream, blocks, threads, false, [=] { kernel(arguments...); });
}
template <typename... Parameters, typename... Arguments>
void launch_together(const char* what, Stream& stream, std::int64_t blocks, unsigned threads,
                     void (*kernel)(Parameters...), Arguments... arguments) {
  give_kernel(what, stream, blocks, threads, true, [=] { kernel(arguments...); });
}
template <typename... Parameters, typename... Arguments>
void launch_alone(const char* what, Stream& stream, std::int64_t blocks, unsigned threads,
                  void (*kernel)(Parameters...), Arguments... arguments) {
  launch(what, stream, blocks, threads, kernel, arguments...);
}

void note_kernel(const char* name, std::int64_t rows, std::int64_t columns);

#endif

}  // namespace accocal
