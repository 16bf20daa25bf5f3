#include "models/base/minimise.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace accosim {
namespace {

constexpr double kHuber = 0.1;  ///< beyond, a residual pulls with constant force

Eigen::VectorXd vector_of(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

double huber(double r) { return std::abs(r) < kHuber ? r * r / 2 : kHuber * (std::abs(r) - kHuber / 2); }

}  // namespace

double cost_of(const std::vector<double>& residuals, const Parameters& at, const std::vector<Parameter>& all) {
  double cost = 0;
  for (const double r : residuals) cost += huber(r);
  for (std::size_t j = 0; j < at.size(); ++j) {
    if (all[j].freedom == 0) continue;
    const double pull = kExpectedNoise * std::log(at[j] / all[j].usual) / all[j].freedom;
    cost += pull * pull / 2;
  }
  return cost;
}

Parameters moved(const std::vector<Parameter>& all, const Parameters& from, std::size_t which, double step) {
  Parameters to = from;
  to[which] = std::clamp(from[which] * std::exp(step), all[which].least, all[which].most);
  return to;
}

Parameters minimise(const Residuals& residuals, const std::vector<Parameter>& all, const Parameters& start,
                    const Slopes& slopes) {
  const auto n = static_cast<Eigen::Index>(all.size());
  Parameters at = start;
  if (start.empty())
    for (const Parameter& parameter : all) at.push_back(parameter.usual);
  const std::vector<double> here = residuals(at);
  Eigen::VectorXd r = vector_of(here);
  double cost = cost_of(here, at, all), damping = 1e-2;
  for (int iteration = 0; iteration < 60; ++iteration) {
    Eigen::MatrixXd J(r.size(), n);
    Eigen::VectorXd prior(n), pull(n);
    const std::vector<std::vector<double>> known = slopes ? slopes(at) : std::vector<std::vector<double>>(all.size());
    for (Eigen::Index j = 0; j < n; ++j) {
      const std::size_t i = static_cast<std::size_t>(j);
      J.col(j) = slopes ? vector_of(known[i])
                        : (vector_of(residuals(moved(all, at, i, kDerivativeStep))) -
                           vector_of(residuals(moved(all, at, i, -kDerivativeStep)))) /
                              (2 * kDerivativeStep);
      const double stiffness = all[i].freedom > 0 ? kExpectedNoise / all[i].freedom : 0;
      prior[j] = stiffness * stiffness;
      pull[j] = prior[j] * std::log(at[i] / all[i].usual);
    }
    const Eigen::VectorXd weight = r.unaryExpr([](double x) { return std::min(1.0, kHuber / std::abs(x)); });
    Eigen::MatrixXd H = J.transpose() * weight.asDiagonal() * J;
    const Eigen::VectorXd slope = J.transpose() * weight.cwiseProduct(r) + pull;
    H.diagonal() += prior;
    bool better = false;
    for (int attempt = 0; attempt < 10 && !better; ++attempt) {
      Eigen::MatrixXd damped = H;
      damped.diagonal() += damping * (H.diagonal().array() + 1e-6).matrix();
      const Eigen::VectorXd step = damped.ldlt().solve(-slope);
      Parameters next = at;
      for (std::size_t j = 0; j < next.size(); ++j)
        next = moved(all, next, j, std::clamp(step[static_cast<Eigen::Index>(j)], -0.5, 0.5));
      const std::vector<double> there = residuals(next);
      const double then = cost_of(there, next, all);
      better = then < cost * (1 - 1e-7);
      if (better) {
        at = next;
        r = vector_of(there);
        cost = then;
      }
      damping = better ? std::max(1e-6, damping / 3) : damping * 4;
    }
    if (!better) break;
  }
  return at;
}

}  // namespace accosim
