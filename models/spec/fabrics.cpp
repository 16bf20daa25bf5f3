#include "models/spec/fabrics.hpp"

#include <algorithm>
#include <stdexcept>

namespace accosim {
namespace {

template <typename Links>
std::vector<std::string> kinds_of(const std::vector<Links>& all) {
  return mapped<std::string>(all, &Links::kind);
}

template <typename Links>
const Links& of_kind(const std::vector<Links>& all, const std::string& kind) {
  for (const Links& links : all)
    if (links.kind == kind) return links;
  throw std::logic_error("no links of kind " + kind);
}

}  // namespace

const std::vector<std::string>& intra_kinds() {
  static const std::vector<std::string> kKinds = [] {
    std::vector<std::string> kinds =
        kinds_of(constants().intra);  // a row for each generation, those of a kind together
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    return kinds;
  }();
  return kKinds;
}

const std::vector<std::string>& nic_kinds() {
  static const std::vector<std::string> kKinds = kinds_of(constants().nics);
  return kKinds;
}

bool is_over_pcie(const std::string& intra_kind) { return intra_kind == "pcie" || intra_kind == "pcie_host"; }

IntraLink usual_intra(const std::string& kind, const std::string& architecture) {
  const IntraLink* nearest = nullptr;
  int least = 0;
  for (const IntraLink& link : constants().intra) {
    if (link.kind != kind) continue;
    const int distance = std::abs(generation_of(link.generation) - generation_of(architecture));
    if (nearest == nullptr || distance < least) nearest = &link, least = distance;
  }
  if (nearest == nullptr) throw std::logic_error("no links of kind " + kind);
  IntraLink link = *nearest;
  if (link.generation != architecture) {
    const LinkQuality unknown;
    link.quality.spread = std::max(link.quality.spread, unknown.spread);
    link.quality.spread_small = std::max(link.quality.spread_small, unknown.spread_small);
  }
  return link;
}

Nics usual_nics(const std::string& kind) { return of_kind(constants().nics, kind); }

namespace {

/// What a kind of adapters is, whatever its constants.
struct Traits {
  std::string_view kind;
  DataPath path;
  bool tcp = false;       ///< bytes go over the kernel's TCP
  bool software = false;  ///< so does each message, or through a provider that keeps the order of packets
  bool beside = false;    ///< behind the PCIe switch of the GPUs
  bool aws = false;
  bool hashed = false;
  double switch_ns = 0;
};

constexpr Traits kTraits[] = {
    {"infiniband", DataPath::kDirect, false, false, true, false, false, 130},
    {"roce", DataPath::kDirect, false, false, true, false, true, 500},
    {"infiniband_host", DataPath::kStaged, false, false, false, false, false, 130},
    {"omnipath", DataPath::kStaged, false, false, false, false, false, 110},
    {"slingshot", DataPath::kDirect, false, false, false, false, true, 350},
    {"efa", DataPath::kCopied, false, true, false, true, true, 500},
    {"efa_rdma", DataPath::kDirect, false, true, true, true, true, 500},
    {"tcpx", DataPath::kDirect, true, true, false, false, true, 500},
    {"tcp", DataPath::kCopied, true, true, false, false, true, 500},
    {kOwnRings, DataPath::kCopied, true, false, false, false, false, 500},
};

/// A plain network, which no file can name, is direct and nothing else.
const Traits& traits_of(const std::string& nic_kind) {
  static constexpr Traits kPlain{"", DataPath::kDirect};
  for (const Traits& traits : kTraits)
    if (nic_kind == traits.kind) return traits;
  return kPlain;
}

}  // namespace

DataPath data_path(const std::string& nic_kind) { return traits_of(nic_kind).path; }
bool is_over_tcp(const std::string& nic_kind) { return traits_of(nic_kind).tcp; }
bool is_by_software(const std::string& nic_kind) { return traits_of(nic_kind).software; }
bool is_beside_gpus(const std::string& nic_kind) { return traits_of(nic_kind).beside; }
bool is_aws(const std::string& nic_kind) { return traits_of(nic_kind).aws; }
bool has_simple_alone(const std::string& nic_kind, int capability, int nccl_minor) {
  constexpr int kHopper = 90, kFirst = 10;
  return nic_kind == "tcpx" || (is_aws(nic_kind) && capability < kHopper && nccl_minor >= kFirst);
}

bool may_reduce(const std::string& nic_kind) { return nic_kind == "infiniband" || nic_kind == "roce"; }

bool is_hashed(const std::string& nic_kind) { return traits_of(nic_kind).hashed; }
Seconds switch_latency(const std::string& nic_kind) { return Seconds{1e-9 * traits_of(nic_kind).switch_ns}; }

const std::vector<std::vector<int>>& cube_mesh() {
  static const std::vector<std::vector<int>> kLinks = {
      {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
      {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  return kLinks;
}

}  // namespace accosim
