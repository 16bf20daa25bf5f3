// The corners of the plugin's regions are its own, as its sources list them. Both axes are logarithmic there. A region
// that is open towards large sizes or many ranks goes on along its last edge.
#include "models/collectives/aws_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace accosim {
namespace {

constexpr double kMostBytes = 100.0 * 1024 * 1024 * 1024, kMostRanks = 1024.0 * 1024;

struct Corner {
  double bytes, ranks;
};

struct Region {
  NcclWay way;
  std::vector<Corner> corners;
};

double log_of(double value) { return std::log2(std::max(1.0, value)); }

/// Where the line from `a` through `b` leaves the chart.
Corner beyond(const Corner& a, const Corner& b) {
  const double x = log_of(b.bytes), y = log_of(b.ranks), dx = x - log_of(a.bytes), dy = y - log_of(a.ranks);
  const double to_right = dx > 0 ? (log_of(kMostBytes) - x) / dx : HUGE_VAL;
  const double to_top = dy > 0 ? (log_of(kMostRanks) - y) / dy : HUGE_VAL;
  const double times = std::min(to_right, to_top);
  return {std::exp2(x + times * dx), std::exp2(y + times * dy)};
}

/// Whether the point is inside or on the edge: rays to the right cross the outline an odd number of times.
bool holds(const Region& region, const Corner& point) {
  const double x = log_of(point.bytes), y = log_of(point.ranks);
  bool inside = false;
  for (std::size_t i = 0; i < region.corners.size(); ++i) {
    const Corner &a = region.corners[i], &b = region.corners[(i + 1) % region.corners.size()];
    const double ax = log_of(a.bytes), ay = log_of(a.ranks), bx = log_of(b.bytes), by = log_of(b.ranks);
    constexpr double kClose = 1e-9;
    const double cross = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
    const bool within = x >= std::min(ax, bx) - kClose && x <= std::max(ax, bx) + kClose &&
                        y >= std::min(ay, by) - kClose && y <= std::max(ay, by) + kClose;
    if (within && std::abs(cross) < kClose) return true;
    if ((ay > y) != (by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax)) inside = !inside;
  }
  return inside;
}

constexpr NcclWay kTreeLl{Algorithm::kTree, Protocol::kLowLatency}, kTree128{Algorithm::kTree, Protocol::kLl128},
    kRingLl{Algorithm::kRing, Protocol::kLowLatency}, kRing128{Algorithm::kRing, Protocol::kLl128},
    kRingSimple{Algorithm::kRing, Protocol::kSimple}, kNvlsTree{Algorithm::kNvlsTree, Protocol::kSimple};

std::vector<Region> p5en_all_reduce() {
  const Corner tree_ll = beyond({196608, 192}, {196608, 1024});
  const Corner tree_128 = beyond({129499136, 127}, {218103808, 1024});
  const Corner nvls = beyond({7516192768, 256}, {17179869184, 448});
  return {{kTreeLl, {{0, 16}, {196608, 16}, {196608, 1024}, tree_ll, {0, kMostRanks}}},
          {kTree128,
           {tree_ll, {196608, 1024}, {196608, 16}, {13107200, 16}, {129499136, 127}, {218103808, 1024}, tree_128}},
          {kRing128,
           {{129499136, 127}, {13107200, 16}, {29884416, 16}, {293601280, 32}, {589299712, 64}, {549453824, 128}}},
          {kNvlsTree,
           {tree_128,
            {218103808, 1024},
            {129499136, 127},
            {549453824, 128},
            {589299712, 64},
            {293601280, 32},
            {29884416, 16},
            {kMostBytes, 16},
            {509607936, 32},
            {7516192768, 256},
            {17179869184, 448},
            nvls}},
          {kRingSimple, {nvls, {17179869184, 448}, {7516192768, 256}, {509607936, 32}, {kMostBytes, 16}}}};
}

std::vector<Region> p5en_all_gather() {
  const Corner ll = beyond({28305408, 768}, {33554432, 1024});
  const Corner ll128 = beyond({7247754240, 384}, {17179865088, 896});
  return {{kRingLl,
           {{0, 16},
            {786432, 16},
            {4718592, 128},
            {13630464, 384},
            {19922944, 512},
            {28305408, 768},
            {33554432, 1024},
            ll,
            {0, kMostRanks}}},
          {kRing128,
           {ll,
            {33554432, 1024},
            {28305408, 768},
            {19922944, 512},
            {13630464, 384},
            {4718592, 128},
            {786432, 16},
            {236978176, 16},
            {956301312, 64},
            {7247754240, 384},
            {17179865088, 896},
            ll128}}};
}

std::vector<Region> p5en_reduce_scatter() {
  const Corner ll = beyond({7340032, 256}, {18874368, 512});
  const Corner ll128 = beyond({7247757312, 256}, {17179869184, 640});
  return {{kRingLl, {{0, 16}, {786432, 16}, {4718592, 128}, {7340032, 256}, {18874368, 512}, ll, {0, kMostRanks}}},
          {kRing128,
           {ll,
            {18874368, 512},
            {7340032, 256},
            {4718592, 128},
            {786432, 16},
            {291504128, 16},
            {589299712, 32},
            {2415919104, 128},
            {7247757312, 256},
            {17179869184, 640},
            ll128}}};
}

std::vector<Region> p5_all_reduce() {
  const Corner tree = beyond({402653184, 2048}, {402653184, 4096});
  const Corner nvls = beyond({8053063680, 160}, {9663676416, 192});
  return {{kTree128,
           {{0, 16},
            {31457280, 16},
            {37748736, 32},
            {117440512, 64},
            {301989888, 128},
            {301989888, 256},
            {335544320, 512},
            {536870912, 1024},
            {402653184, 2048},
            {402653184, 4096},
            tree,
            {0, tree.ranks}}},
          {kRing128,
           {{31457280, 17},
            {1073741824, 17},
            {2147483648, 64},
            {2147483648, 128},
            {1342177280, 160},
            {2147483648, 256},
            {1074790400, 256},
            {444596224, 160},
            {301989888, 128},
            {117440512, 64},
            {37748736, 32}}},
          {kNvlsTree,
           {{2147483648, 128},
            {6442450944, 128},
            {8053063680, 160},
            {9663676416, 192},
            nvls,
            tree,
            {402653184, 4096},
            {402653184, 2048},
            {536870912, 1024},
            {335544320, 512},
            {301989888, 256},
            {310378496, 160},
            {444596224, 160},
            {1074790400, 256},
            {2684354560, 256},
            {2147483648, 224},
            {1342177280, 160}}},
          {kRingSimple,
           {{1073741824, 17},
            {nvls.bytes, 17},
            nvls,
            {9663676416, 192},
            {8053063680, 160},
            {2684354560, 64},
            {1610612736, 32}}}};
}

std::vector<Region> regions_of(BytesPerSecond adapter, CollectiveKind kind) {
  constexpr BytesPerSecond kBetween{18e9};  // 12.5 GB/s of adapters of 100 Gbit/s, 25 of 200
  const bool later = adapter > kBetween;
  switch (kind) {
    case CollectiveKind::kAllReduce: return later ? p5en_all_reduce() : p5_all_reduce();
    case CollectiveKind::kAllGather: return later ? p5en_all_gather() : std::vector<Region>();
    case CollectiveKind::kReduceScatter: return later ? p5en_reduce_scatter() : std::vector<Region>();
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kSendRecv:
    case CollectiveKind::kSend: break;
  }
  return {};
}

}  // namespace

std::optional<NcclWay> aws_choice(const NcclCommunicator& c, BytesPerSecond adapter, CollectiveKind kind, Bytes bytes) {
  if (c.nodes <= 2 || c.ranks != 8 * c.nodes || c.capability != 90) return std::nullopt;
  const Corner point{std::min(bytes.value, kMostBytes), std::min<double>(c.ranks, kMostRanks)};
  for (const Region& region : regions_of(adapter, kind))
    if (holds(region, point)) return region.way;
  return std::nullopt;
}

}  // namespace accosim
