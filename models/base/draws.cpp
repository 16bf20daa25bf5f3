#include "models/base/draws.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace accosim {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// A polynomial, its constant first.
double polynomial(const std::array<double, 8>& coefficients, double x) {
  double value = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) value = value * x + coefficients[i];
  return value;
}

struct Ratio {
  std::array<double, 8> numerator, denominator;
  double at(double x) const { return polynomial(numerator, x) / polynomial(denominator, x); }
};

// The middle, the flanks and the tails.
constexpr Ratio kMiddle{
    {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
    {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
constexpr Ratio kFlank{
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
constexpr Ratio kTail{
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131745613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};

}  // namespace

double uniform_draw(std::uint64_t seed, Stream stream, std::uint64_t rank, std::uint64_t index) {
  std::uint64_t x = mixed(seed);
  for (const std::uint64_t part : {static_cast<std::uint64_t>(stream), rank, index}) x = mixed(x ^ part);
  return (static_cast<double>(x >> 12) + 0.5) * 0x1p-52;
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) return q * kMiddle.at(0.180625 - q * q);
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? kFlank.at(r - 1.6) : kTail.at(r - 5);
  return q < 0 ? -x : x;
}

double lognormal_quantile(double cv, double p) {
  const double s = std::sqrt(std::log1p(cv * cv));
  return std::exp(s * normal_quantile(p) - s * s / 2);
}

double exponential_quantile(double p) { return -std::log1p(-p); }

std::vector<double> cumulative_shares(const std::vector<double>& weights) {
  const double whole = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> shares;
  double sum = 0;
  for (const double weight : weights) shares.push_back((sum += weight) / whole);
  return shares;
}

std::size_t index_at(const std::vector<double>& shares, double p) {
  return static_cast<std::size_t>(std::upper_bound(shares.begin(), shares.end() - 1, p) - shares.begin());
}

}  // namespace accosim
