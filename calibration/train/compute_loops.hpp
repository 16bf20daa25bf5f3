// Work of fixed size that `accocal measure` times.
#pragma once

#include <cstdint>
#include <vector>

namespace accocal {

/// Products of two matrices that stay in the cache, about a millisecond: what a training step mostly computes.
class ProductLoop {
 public:
  ProductLoop();
  void run();

 private:
  std::vector<float> a_, b_, c_;
};

/// A step of AdamW over so many elements of a shard.
class OptimizerLoop {
 public:
  explicit OptimizerLoop(std::int64_t elements);
  void run();

 private:
  std::vector<float> gradient_, master_, m_, v_;
  std::int64_t step_ = 0;
};

/// The copy of a buffer of so many fp32 elements: what a swap of parameters and gradients costs.
class CopyLoop {
 public:
  explicit CopyLoop(std::int64_t elements);
  void run();

 private:
  std::vector<float> from_, to_;
};

}  // namespace accocal
