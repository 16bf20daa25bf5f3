#include "models/spec/device.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace accosim {

const std::vector<std::string>& architectures() {
  static const std::vector<std::string> kInOrder = {"volta", "turing", "ampere",    "ampere_rtx",
                                                    "ada",   "hopper", "blackwell", "blackwell_rtx"};
  return kInOrder;
}

int capability_of(const std::string& architecture) {
  constexpr std::pair<std::string_view, int> kCapabilities[] = {
      {"volta", 70}, {"turing", 75}, {"ampere", 80},     {"ampere_rtx", 86},
      {"ada", 89},   {"hopper", 90}, {"blackwell", 100}, {"blackwell_rtx", 120}};
  for (const auto& [name, capability] : kCapabilities)
    if (name == architecture) return capability;
  return 80;
}

int generation_of(const std::string& architecture) {
  const std::vector<std::string>& all = architectures();
  const auto at = std::ranges::find(all, architecture);
  return static_cast<int>((at == all.end() ? std::ranges::find(all, "ampere") : at) - all.begin());
}

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
