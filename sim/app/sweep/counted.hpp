// How far a pool of processes is with its points, on a terminal.
#pragma once

#include <chrono>
#include <cstddef>

#include "sim/app/terminal.hpp"

namespace accosim {

/// "312 of 1020 points, 23.1/s, 31 s left, 2 failed".
class Counted {
 public:
  explicit Counted(std::size_t points);

  void one_more(bool failed);
  void show();

 private:
  std::size_t points_, done_ = 0, failed_ = 0;
  Progress shown_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace accosim
