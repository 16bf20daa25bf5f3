#include "models/spec/device.hpp"

namespace accosim {

bool runs_on(const std::string& architecture, Attention attention) {
  if (architecture == "volta") return attention == Attention::kNaive || attention == Attention::kMemoryEfficient;
  if (attention == Attention::kFlash3) return architecture == "hopper" || architecture.empty();
  return architecture != "turing" || attention != Attention::kFlash;
}

GemmLayout layout_of(bool transpose_a, bool transpose_b) {
  if (transpose_a) return transpose_b ? GemmLayout::kTT : GemmLayout::kTN;
  return transpose_b ? GemmLayout::kNT : GemmLayout::kNN;
}

}  // namespace accosim
