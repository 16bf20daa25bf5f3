// Kernels compiled as C++: every thread of a block is a fiber with a stack of its own, and between two barriers they
// run in a random order.
#pragma once

#include <cstdint>
#include <functional>

namespace accocal {

struct KernelShape {
  unsigned blocks = 1, threads = 1;
  bool together = false;  ///< threads meet: at barriers, in sums over a warp
};

/// Runs `thread` for each thread of each block, the blocks in different orders too; thread_index() and the like of
/// calibration/cuda/kernel_language.hpp then answer for it. Throws std::logic_error when threads of a block wait for
/// each other at different places.
void run_kernel(const KernelShape& shape, const std::function<void()>& thread, std::uint64_t seed);

}  // namespace accocal
