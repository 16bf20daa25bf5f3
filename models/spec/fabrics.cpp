#include "models/spec/fabrics.hpp"

#include <algorithm>
#include <stdexcept>

namespace accosim {

const std::vector<std::string>& intra_kinds() {
  static const std::vector<std::string> kKinds = {"nvswitch", "nvlink", "cube_mesh", "pcie"};
  return kKinds;
}

const std::vector<std::string>& nic_kinds() {
  static const std::vector<std::string> kKinds = {"infiniband", "omnipath", "slingshot", "efa",
                                                  "tcpx",       "tcp",      "sockets"};
  return kKinds;
}

namespace {

constexpr double kMicro = 1e-6;

struct IntraRow {
  const char* kind;
  double efficiency, exchange, latency, launch, chunk, turnaround, multicast;  // times in us
  double ll_launch, ll_hop, ll_efficiency;
  double spread, spread_small;
};
constexpr IntraRow kIntra[] = {
    {"nvswitch", 0.81, 0.6227, 2.697, 26.35, 1.286, 0.4375, 1.03, 13.11, 2.035, 0.07675, 0.085, 0.15},
    {"nvlink", 0.8191, 0.6606, 1.225, 12.86, 0.1585, 0.2752, 0, 13, 2, 0.08, 0.082, 0.2},
    {"cube_mesh", 0.9331, 0.5432, 4.476, 18.95, 0.04773, 0.1764, 0, 13, 2, 0.08, 0.19, 0.2},
    {"pcie", 0.71, 0.6, 5.7, 13.1, 1.33, 0.04, 0, 13.2, 2.05, 0.0787, 0.2, 0.3},
};

struct NicRow {
  const char* kind;
  double efficiency, latency, chunk;  // times in us
  double ll_hop, ll_efficiency;
  double spread, spread_small;
};
constexpr NicRow kNics[] = {
    {"infiniband", 0.9346, 3.222, 39.68, 2.351, 0.005061, 0.068, 0.058},
    {"omnipath", 0.9346, 3.222, 39.68, 2.351, 0.005061, 0.3, 0.3},  // as InfiniBand, for want of a table
    {"slingshot", 0.7816, 116.6, 0.9162, 2.898, 0.01115, 0.15, 0.51},
    {"efa", 0.3716, 320.1, 13.62, 40.02, 0.1476, 0.2, 0.076},
    {"tcpx", 0.9508, 383.1, 4.695, 46.05, 0.08887, 0.024, 0.086},
    {"tcp", 0.1726, 17, 801.4, 15.99, 0.0009702, 0.16, 0.094},
    {"sockets", 0.9564, 15, 0, 0, 0, 0.03, 0.3},  // 1448 of 1514 bytes are payload; measured with accocal
};

}  // namespace

IntraLink usual_intra(const std::string& kind) {
  for (const IntraRow& row : kIntra) {
    if (kind != row.kind) continue;
    IntraLink link;
    link.kind = kind;
    link.efficiency = row.efficiency;
    link.exchange = row.exchange;
    link.latency = Seconds{kMicro * row.latency};
    link.launch = Seconds{kMicro * row.launch};
    link.chunk = Seconds{kMicro * row.chunk};
    link.turnaround = row.turnaround;
    link.multicast = row.multicast;
    link.ll = {Seconds{kMicro * row.ll_launch}, Seconds{kMicro * row.ll_hop}, row.ll_efficiency};
    link.quality = {row.spread, row.spread_small};
    return link;
  }
  throw std::logic_error("no links of kind " + kind);
}

double tcp_efficiency(BytesPerSecond adapters) {
  constexpr double kBest = 0.95;
  constexpr BytesPerSecond kMeasured{50e9};
  return std::min(kBest, usual_nics("tcp").efficiency * kMeasured / adapters);
}

Nics usual_nics(const std::string& kind) {
  for (const NicRow& row : kNics) {
    if (kind != row.kind) continue;
    Nics nics;
    nics.kind = kind;
    nics.efficiency = row.efficiency;
    nics.latency = Seconds{kMicro * row.latency};
    nics.chunk = Seconds{kMicro * row.chunk};
    nics.ll = {Seconds{0}, Seconds{kMicro * row.ll_hop}, row.ll_efficiency};
    nics.quality = {row.spread, row.spread_small};
    return nics;
  }
  throw std::logic_error("no adapters of kind " + kind);
}

const std::vector<std::vector<int>>& cube_mesh() {
  static const std::vector<std::vector<int>> kLinks = {
      {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
      {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  return kLinks;
}

}  // namespace accosim
