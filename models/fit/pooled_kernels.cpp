#include "models/fit/pooled_kernels.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace accosim {
namespace {

constexpr double kHalfWeight = 20;  ///< samples at which a fit has half of its weight: its constants are eight
constexpr double kShrinkage = 1;    ///< an effect is taken to be as wide as what fits differ by for no reason

bool on_tensor_cores(const KernelFit& fit) { return std::ranges::find(fit.dtypes, Dtype::kFp32) == fit.dtypes.end(); }

/// A fit's place in the pool.
struct Pooled {
  const KernelFit* fit;
  Parameters constants;
  double weight;
  Eigen::Index architecture, units;  ///< columns of its effects; the common part is column 0
};

struct Pool {
  std::vector<Pooled> fits;
  std::map<std::string, Eigen::Index> architectures;
  Eigen::Index columns = 3;  ///< the common part, CUDA cores, tensor cores, and one an architecture
};

Pool pool_of(const std::vector<KernelFit>& fits) {
  Pool pool;
  for (const KernelFit& fit : fits) {
    if (fit.dtypes.empty()) continue;
    const auto [architecture, fresh] = pool.architectures.emplace(fit.architecture, pool.columns);
    if (fresh) ++pool.columns;
    const double samples = fit.in.samples;
    pool.fits.push_back({&fit, constants_of(fit.gemm), samples / (samples + kHalfWeight), architecture->second,
                         on_tensor_cores(fit) ? 2 : 1});
  }
  return pool;
}

/// The constant numbered i, by least squares with shrinkage on the logs over the prior's centre.
double constant_at(const Pool& pool, std::size_t i, const Parameter& prior, Eigen::Index architecture,
                   Eigen::Index units) {
  Eigen::MatrixXd H = kShrinkage * Eigen::MatrixXd::Identity(pool.columns, pool.columns);
  if (prior.freedom == 0) H(0, 0) = 0;  // nothing is known beforehand of the common part
  Eigen::VectorXd right = Eigen::VectorXd::Zero(pool.columns);
  for (const Pooled& each : pool.fits) {
    Eigen::VectorXd row = Eigen::VectorXd::Zero(pool.columns);
    row[0] = row[each.architecture] = row[each.units] = 1;
    H += each.weight * row * row.transpose();
    right += each.weight * std::log(each.constants[i] / prior.usual) * row;
  }
  const Eigen::VectorXd effects = H.ldlt().solve(right);
  const double own = architecture > 0 ? effects[architecture] : 0;
  return std::clamp(prior.usual * std::exp(effects[0] + own + effects[units]), prior.least, prior.most);
}

/// What the constants of the pool are worth, and the power that they are for: that of the architecture's fit of the
/// same units, else the device's own, since CUDA cores draw another power than tensor cores.
void describe(const Pool& pool, const Device& device, Eigen::Index units, GemmFit& gemm) {
  double squares = 0, weights = 0;
  FitQuality& quality = gemm.quality;
  gemm.reference_power = device.power;
  for (const Pooled& each : pool.fits) {
    const FitQuality& own = each.fit->gemm.quality;
    squares += each.weight * own.spread * own.spread;
    weights += each.weight;
    quality.least = quality.samples == 0 ? own.least : std::min(quality.least, own.least);
    quality.most = std::max(quality.most, own.most);
    quality.samples += each.fit->in.samples;
    if (each.fit->architecture == device.architecture && each.units == units)
      gemm.reference_power = each.fit->gemm.reference_power;
  }
  quality.spread = weights > 0 ? std::sqrt(squares / weights) : 0;
  quality.inherited = true;
}

}  // namespace

GemmFit pooled_gemm(const std::vector<KernelFit>& fits, const Device& device, Dtype dtype) {
  const Pool pool = pool_of(fits);
  if (pool.fits.empty()) throw std::invalid_argument("no fit of a GEMM to pool");
  const auto known = pool.architectures.find(device.architecture);
  const Eigen::Index architecture = known == pool.architectures.end() ? 0 : known->second;
  const Eigen::Index units = dtype == Dtype::kFp32 ? 1 : 2;
  Parameters constants;
  const std::vector<Parameter>& priors = gemm_parameters();
  for (std::size_t i = 0; i < priors.size(); ++i)
    constants.push_back(constant_at(pool, i, priors[i], architecture, units));
  GemmFit gemm = gemm_of(constants, 0);
  describe(pool, device, units, gemm);
  return gemm;
}

std::vector<KernelFit> with_others(std::vector<KernelFit> fits, const std::vector<KernelFit>& others) {
  for (const KernelFit& other : others) {
    const bool known = std::ranges::any_of(fits, [&](const KernelFit& fit) {
      return fit.architecture == other.architecture && fit.dtypes == other.dtypes;
    });
    if (!known) fits.push_back(other);
  }
  return fits;
}

std::vector<KernelFit> fits_of(const std::vector<Device>& profiles) {
  std::vector<KernelFit> fits;
  for (const Device& device : profiles)
    for (const std::vector<Dtype>& dtypes : gemm_dtypes()) {
      const std::optional<GemmFit>& gemm = device.gemm[static_cast<std::size_t>(dtypes.front())];
      if (!gemm || gemm->quality.inherited || gemm->quality.samples == 0) continue;
      const KernelFit fit{.architecture = device.architecture,
                          .dtypes = dtypes,
                          .gemm = *gemm,
                          .in = {.samples = gemm->quality.samples}};
      fits = with_others(std::move(fits), {fit});
    }
  return fits;
}

Device with_fits(Device device, const std::vector<KernelFit>& fits, const std::vector<KernelFit>& others) {
  const auto measured = [&](const KernelFit& fit) {
    return std::ranges::any_of(
        fit.by, [&](const auto& each) { return each.first.substr(each.first.find(' ') + 1) == device.name; });
  };
  const auto of = [&](Dtype dtype) -> const KernelFit* {
    for (const KernelFit& fit : fits)
      if (fit.architecture == device.architecture && std::ranges::find(fit.dtypes, dtype) != fit.dtypes.end())
        return &fit;
    return nullptr;
  };
  bool known = false;
  for (int i = 0; i < kDtypeCount; ++i) {
    const KernelFit* const fit = of(static_cast<Dtype>(i));
    if (fit == nullptr || !device.peak[static_cast<std::size_t>(i)]) continue;
    known = true;
    device.gemm[static_cast<std::size_t>(i)] = fit->gemm;
    device.gemm[static_cast<std::size_t>(i)]->quality.inherited = !measured(*fit);
  }
  const std::vector<KernelFit> pool = with_others(fits, others);
  for (int i = 0; i < kDtypeCount && known; ++i) {
    std::optional<GemmFit>& fit = device.gemm[static_cast<std::size_t>(i)];
    if (device.peak[static_cast<std::size_t>(i)] && !fit) fit = pooled_gemm(pool, device, static_cast<Dtype>(i));
  }
  for (const KernelFit& fit : fits) {
    if (fit.architecture != device.architecture || !fit.dtypes.empty()) continue;
    std::optional<AttentionFit>& own = fit.flash_3 ? device.flash_3 : device.attention;
    own = fit.attention;
    own->quality.inherited = !measured(fit);
  }
  return device;
}

Device with_pooled(Device device, const std::vector<KernelFit>& fits) {
  const bool any = std::ranges::any_of(fits, [](const KernelFit& fit) { return !fit.dtypes.empty(); });
  for (std::size_t i = 0; i < device.gemm.size() && any; ++i)
    if (device.peak[i] && !device.gemm[i]) device.gemm[i] = pooled_gemm(fits, device, static_cast<Dtype>(i));
  for (const KernelFit& fit : fits) {
    if (device.attention || !fit.dtypes.empty() || fit.flash_3) continue;
    device.attention = fit.attention;
    device.attention->quality.inherited = true;
  }
  return device;
}

}  // namespace accosim
