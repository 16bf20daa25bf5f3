// What the kernels share: packs of elements that a thread reads at once, loops over them, sums over a block.
#pragma once

#include <type_traits>

#include "calibration/cuda/kernel_language.hpp"

namespace accocal {

constexpr int kLanes = 32;  ///< of a warp
constexpr int kWarps = 8;   ///< of a block
constexpr int kThreads = kLanes * kWarps;
constexpr float kLowest = -3.402823466e38f;

/// Elements in 16 bytes.
template <typename Real>
constexpr int kPack = 16 / static_cast<int>(sizeof(Real));

/// May all of them be read in packs?
template <typename... Pointers>
bool aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) | ... | 0) % 16) == 0;
}

inline std::int64_t blocks_for(std::int64_t threads) { return (threads + kThreads - 1) / kThreads; }

ACCOSIM_DEVICE int lane() { return static_cast<int>(thread_index() % kLanes); }
ACCOSIM_DEVICE int warp() { return static_cast<int>(thread_index() / kLanes); }
/// Index of the thread or warp in the whole grid.
ACCOSIM_DEVICE std::size_t global_thread() {
  return static_cast<std::size_t>(block_index()) * block_size() + thread_index();
}
ACCOSIM_DEVICE std::size_t global_threads() { return static_cast<std::size_t>(grid_size()) * block_size(); }
ACCOSIM_DEVICE std::int64_t global_warp() { return static_cast<std::int64_t>(block_index()) * kWarps + warp(); }

template <typename Real>
ACCOSIM_DEVICE float widened(Real value) {
  if constexpr (std::is_same_v<Real, float>) {
    return value;
  } else {
    return float_of(static_cast<std::uint32_t>(value.bits) << 16);
  }
}

template <typename Real>
ACCOSIM_DEVICE Real narrowed(float value) {
  if constexpr (std::is_same_v<Real, float>) {
    return value;
  } else {
    return rounded(value);
  }
}

/// Loads N elements, 16 bytes at a time where they are a multiple of that; `from` is then aligned to 16 bytes.
template <int N, typename Real>
ACCOSIM_DEVICE void load(float (&values)[N], const Real* from) {
  if constexpr (N % kPack<Real> == 0) {
    for (int i = 0; i < N; i += kPack<Real>) {
      const Words words = load_words(from + i);
      for (int j = 0; j < 4; ++j) {
        if constexpr (std::is_same_v<Real, float>) {
          values[i + j] = float_of(words.at[j]);
        } else {
          values[i + 2 * j] = float_of(words.at[j] << 16);
          values[i + 2 * j + 1] = float_of(words.at[j] & 0xffff0000u);
        }
      }
    }
  } else {
    for (int i = 0; i < N; ++i) values[i] = widened(from[i]);
  }
}

template <int N, typename Real>
ACCOSIM_DEVICE void store(Real* to, const float (&values)[N]) {
  if constexpr (N % kPack<Real> == 0) {
    for (int i = 0; i < N; i += kPack<Real>) {
      Words words;
      for (int j = 0; j < 4; ++j) {
        if constexpr (std::is_same_v<Real, float>) {
          words.at[j] = bits_of(values[i + j]);
        } else {
          words.at[j] = static_cast<std::uint32_t>(rounded(values[i + 2 * j]).bits) |
                        static_cast<std::uint32_t>(rounded(values[i + 2 * j + 1]).bits) << 16;
        }
      }
      store_words(to + i, words);
    }
  } else {
    for (int i = 0; i < N; ++i) to[i] = narrowed<Real>(values[i]);
  }
}

/// body(a constant n, index of the first of n elements) for every element of `count`, N at a time and the rest one by
/// one, each by one of the grid's threads.
template <int N, typename Body>
ACCOSIM_DEVICE void each_pack(std::size_t count, Body body) {
  const std::size_t packs = count / N;
  for (std::size_t i = global_thread(); i < packs; i += global_threads()) body(std::integral_constant<int, N>{}, i * N);
  for (std::size_t i = packs * N + global_thread(); i < count; i += global_threads())
    body(std::integral_constant<int, 1>{}, i);
}

/// The sum over the threads of a block; every thread gets it.
ACCOSIM_DEVICE float block_sum(float value) {
  ACCOSIM_SHARED float parts[kWarps];
  value = warp_sum(value);
  sync_block();  // what an earlier sum left there has been read
  if (lane() == 0) parts[warp()] = value;
  sync_block();
  return warp_sum(lane() < kWarps ? parts[lane()] : 0);
}

ACCOSIM_DEVICE float block_max(float value) {
  ACCOSIM_SHARED float parts[kWarps];
  value = warp_max(value);
  sync_block();
  if (lane() == 0) parts[warp()] = value;
  sync_block();
  return warp_max(lane() < kWarps ? parts[lane()] : kLowest);
}

/// Sums each lane's values over the warps of a block, in their order; only the first warp gets the sums.
template <int N>
ACCOSIM_DEVICE void sum_over_warps(float (&values)[N]) {
  ACCOSIM_SHARED float parts[N][kWarps][kLanes];
  sync_block();
  for (int i = 0; i < N; ++i) parts[i][warp()][lane()] = values[i];
  sync_block();
  if (warp() != 0) return;
  for (int i = 0; i < N; ++i) {
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += parts[i][w][lane()];
    values[i] = sum;
  }
}

}  // namespace accocal
