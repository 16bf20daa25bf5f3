// The one minimiser of the fits: robust least squares on logarithms.
#pragma once

#include <functional>
#include <vector>

namespace accosim {

/// A positive constant to be fitted. The fit works on its logarithm, so its sign cannot change.
struct Parameter {
  double usual;    ///< where the fit begins, and the prior's centre
  double freedom;  ///< the prior's spread in logs; 0: none
  double least, most;
};
using Parameters = std::vector<double>;  ///< in the model's own units

/// log(predicted / measured) of each sample.
using Residuals = std::function<std::vector<double>(const Parameters&)>;

/// Of each parameter, what a step of its logarithm changes in each residual, for one: where that is known better than
/// by moving one parameter after the other.
using Slopes = std::function<std::vector<std::vector<double>>(const Parameters&)>;

/// Spread of a residual: what a prior's pull is weighed against.
inline constexpr double kExpectedNoise = 0.06;

/// Levenberg-Marquardt on Huber's loss (beyond 0.1 a residual pulls with constant force). Each parameter is held to its
/// prior: being one spread away costs as much as a residual of kExpectedNoise. Derivatives are numeric, since models
/// take the fastest of several alternatives; where `slopes` are given, they are taken. Deterministic. Needs at least
/// one residual. `start` replaces the usual values as the starting point.
Parameters minimise(const Residuals& residuals, const std::vector<Parameter>& all, const Parameters& start = {},
                    const Slopes& slopes = {});

/// How far a logarithm is moved to either side for a numeric derivative.
inline constexpr double kDerivativeStep = 2e-3;

/// One of them moved along its logarithm, as far as it may.
Parameters moved(const std::vector<Parameter>& all, const Parameters& from, std::size_t which, double step);

/// What minimise() makes small: the loss of the residuals and the pull of the priors.
double cost_of(const std::vector<double>& residuals, const Parameters& at, const std::vector<Parameter>& all);

}  // namespace accosim
