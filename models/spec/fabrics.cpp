#include "models/spec/fabrics.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/spec/cluster.hpp"

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
  static const std::vector<std::string> kKinds = kinds_of(constants().intra);
  return kKinds;
}

const std::vector<std::string>& nic_kinds() {
  static const std::vector<std::string> kKinds = kinds_of(constants().nics);
  return kKinds;
}

IntraLink usual_intra(const std::string& kind) { return of_kind(constants().intra, kind); }

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
