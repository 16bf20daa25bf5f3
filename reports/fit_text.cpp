// See fit_text.hpp.
#include "reports/fit_text.hpp"

#include <fmt/format.h>

#include <ostream>
#include <string>

namespace accosim {
namespace {

void write_errors(std::ostream& out, const std::string& name, const FitErrors& errors) {
  out << fmt::format("  {:<40} {:>5} {:>8.1f} % {:>+8.1f} % {:>+8.1f} % {:>8.3f}\n", name, errors.samples,
                     100 * errors.mean_absolute, 100 * errors.bias, 100 * errors.worst, errors.spread);
}

}  // namespace

void write_fits(std::ostream& out, const std::vector<KernelFit>& fits) {
  out << fmt::format("  {:<40} {:>5} {:>10} {:>10} {:>10} {:>8}\n", "predicted over measured time", "n", "mean", "bias",
                     "worst", "log sd");
  for (const KernelFit& fit : fits) {
    const FitQuality& quality = fit.dtypes.empty() ? fit.attention.quality : fit.gemm.quality;
    out << fmt::format("\n{} {}, kernels of {:.2g} to {:.2g} FLOP\n", fit.architecture, fit.what, quality.least,
                       quality.most);
    write_errors(out, "all samples in", fit.in);
    if (fit.out.samples > 0) write_errors(out, fmt::format("each left out, in {} parts", kFolds), fit.out);
    for (const auto& [name, errors] : fit.by) write_errors(out, name, errors);
  }
}

}  // namespace accosim
