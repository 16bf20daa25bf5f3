// Kernels by the fits of another generation.
#include <map>
#include <string>
#include <string_view>

#include "models/read/load.hpp"
#include "sim/evidence/refit.hpp"

namespace accosim {
namespace {

struct Neighbour {
  std::string_view architecture;
  const char* profile;  ///< the best measured of the other generation
};
constexpr Neighbour kNeighbours[] = {
    {"volta", "A100-SXM4-80GB"}, {"ampere", "H100-SXM"}, {"hopper", "A100-SXM4-80GB"}, {"turing", "A100-SXM4-80GB"},
    {"ampere_rtx", "H100-SXM"},  {"ada", "H100-SXM"},    {"blackwell", "H100-SXM"},    {"blackwell_rtx", "H100-SXM"}};

const char* profile_for(const Device& device) {
  for (const Neighbour& each : kNeighbours)
    if (each.architecture == device.architecture) return each.profile;
  return nullptr;
}

void mark(FitQuality& quality) { quality.inherited = quality.other_generation = true; }

}  // namespace

bool has_neighbour(const Device& device) { return profile_for(device) != nullptr; }

Device of_neighbour(Device device) {
  static std::map<std::string, Device> profiles;
  if (!has_neighbour(device)) return device;
  const std::string name = profile_for(device);
  const auto known = profiles.find(name);
  Device lent = known != profiles.end() ? known->second : profiles.emplace(name, load_device(name)).first->second;
  lent.name = device.name;
  lent.peak = device.peak;
  lent.memory_bandwidth = device.memory_bandwidth;
  lent.memory = device.memory;
  lent.architecture = device.architecture;
  lent.sm_count = device.sm_count;
  lent.power = device.power;
  lent.slowdown = device.slowdown;
  for (int i = 0; i < kDtypeCount; ++i) {
    std::optional<GemmFit>& fit = lent.gemm[i];
    if (!fit && device.gemm[i]) fit = lent.gemm[static_cast<std::size_t>(Dtype::kBf16)];
    if (!fit) continue;
    fit->reference_power = 0;
    mark(fit->quality);
  }
  for (std::optional<AttentionFit>* attention : {&lent.attention, &lent.flash_3}) {
    if (!*attention) continue;
    (*attention)->reference_power = 0;
    mark((*attention)->quality);
  }
  return lent;
}

}  // namespace accosim
