// GPUs of a node, as rings name them.
#pragma once

#include <numeric>
#include <vector>

namespace accosim {

/// 0, 1, ... of them.
inline std::vector<int> first_gpus(int count) {
  std::vector<int> gpus(static_cast<std::size_t>(count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

}  // namespace accosim
