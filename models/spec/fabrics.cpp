#include "models/spec/fabrics.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"

namespace accosim {
namespace {

template <typename Links>
std::vector<std::string> kinds_of(const std::vector<Links>& all) {
  std::vector<std::string> kinds;
  for (const Links& links : all) kinds.push_back(links.kind);
  return kinds;
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

bool is_over_tcp(const std::string& nic_kind) {
  return nic_kind == "tcp" || nic_kind == "tcpx" || nic_kind == kOwnRings;
}

bool is_staged(const std::string& nic_kind) {
  return nic_kind == "infiniband_host" || nic_kind == "efa" || nic_kind == "tcp";
}

bool is_by_software(const std::string& nic_kind) {
  return nic_kind == "efa" || nic_kind == "efa_rdma" || nic_kind == "tcpx" || nic_kind == "tcp";
}

bool reaches_gpus(const std::string& nic_kind) { return nic_kind == "infiniband" || nic_kind == "roce"; }

const std::vector<std::vector<int>>& cube_mesh() {
  static const std::vector<std::vector<int>> kLinks = {
      {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
      {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  return kLinks;
}

}  // namespace accosim
