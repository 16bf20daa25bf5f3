// The library's choice of a kernel is taken to be the best one; cuBLAS picks by a heuristic, and where that is not the
// best, the fit's residuals show it.
//
// Hopper's own instruction, wgmma, takes tf32 operands only where both are stored along k (PTX ISA, "wgmma.mma_async":
// transposition is for 16-bit types alone). Other products run the older mma, which reaches 62.9 % of Hopper's peak
// (Luo et al. 2024, arXiv 2402.13499).
#include "models/price/gemm.hpp"

#include <algorithm>
#include <cmath>

namespace accosim {
namespace {

struct Tile {
  double rows, columns;
};
/// Those that cuBLAS's and CUTLASS's libraries are built of, and these turned by a quarter.
constexpr Tile kTiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}};
constexpr double kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16};
constexpr double kLeastDepth = 256;      ///< of a part of k
constexpr double kSplitBelow = 0.75;     ///< of a wave: k is split only where the tiles leave multiprocessors idle
constexpr double kSplitOverhead = 1.15;  ///< its second pass over the result, and shorter main loops
constexpr double kWithoutWgmma = 0.629;  ///< of Hopper's peak

bool lacks_wgmma(const Gemm& g, const Device& device, Dtype dtype) {
  return g.across && dtype == Dtype::kTf32 && device.architecture == "hopper";
}

double tile_efficiency(const Tile& tile, const GemmFit& fit) {
  const double narrow = std::min(tile.rows, tile.columns), wide = std::max(tile.rows, tile.columns);
  return (wide < 256 ? fit.square_tile : 1) * (narrow < 128 ? fit.narrow_tile : 1) * (wide < 128 ? fit.narrow_tile : 1);
}

}  // namespace

Bytes bytes_of(const Gemm& g) {
  const double result = (g.accumulate ? 2 : 1) * g.m * g.n;
  return g.batch * ((g.m * g.k + g.k * g.n) * g.in + result * g.out);
}

double power_factor(double power, double reference_power) {
  return power > 0 && reference_power > 0 ? std::cbrt(power / reference_power) : 1;
}

Seconds overlapped(Seconds a, Seconds b) {
  const Seconds longer = std::max(a, b);
  if (longer == Seconds{0}) return longer;
  const double ratio = std::min(a, b) / longer;
  return std::cbrt(1 + ratio * ratio * ratio) * longer;
}

Seconds gemm_time(const Gemm& g, const Device& device, Dtype dtype) {
  const FlopsPerSecond peak = device.peak[static_cast<std::size_t>(dtype)].value();
  const BytesPerSecond bandwidth = device.memory_efficiency * device.memory_bandwidth;
  const std::optional<GemmFit>& fit = device.gemm[static_cast<std::size_t>(dtype)];
  const double reached = fit ? std::min(1.0, fit->peak_fraction * power_factor(device.power, fit->reference_power))
                             : device.gemm_efficiency;
  const double fraction = (lacks_wgmma(g, device, dtype) ? kWithoutWgmma : 1) * reached;
  if (!fit || device.sm_count == 0) return std::max(bytes_of(g) / bandwidth, flops_of(g) / (fraction * peak));

  const FlopsPerSecond each = fraction / device.sm_count * peak;
  Seconds best{0};
  for (const Tile& tile : kTiles) {
    const double tiles = g.batch * std::ceil(g.m / tile.rows) * std::ceil(g.n / tile.columns);
    const double efficiency = tile_efficiency(tile, *fit);
    for (const double split : kSplits) {
      if (split > 1 && (g.k / split < kLeastDepth || tiles >= kSplitBelow * device.sm_count)) break;
      const double exact = split * tiles / device.sm_count;
      const double waves = exact + fit->quantisation * (std::ceil(exact) - exact);
      const Flops work{2 * tile.rows * tile.columns * (g.k / split + fit->k_fill)};
      Seconds time = waves * (work / (efficiency * each));
      if (split > 1) time = kSplitOverhead * time + (split * g.batch * g.m * g.n * Bytes{8}) / bandwidth;
      if (best == Seconds{0} || time < best) best = time;
    }
  }
  const Bytes result = (g.accumulate ? 2 : 1) * g.batch * g.m * g.n * g.out;
  best += fit->exposed_result * (result / bandwidth);
  return fit->fixed + overlapped(best, bytes_of(g) / (fit->streaming * bandwidth));
}

}  // namespace accosim
