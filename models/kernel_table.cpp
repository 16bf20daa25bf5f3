// See kernel_table.hpp.
#include "models/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace accosim {
namespace {

/// Bytes an element of the main operand: `moved` times the element's, and `fixed` of fp32 states.
struct Facts {
  const char* name;
  int launches;
  double moved;
  double fixed;
};
// r, w: the main operand read, written.
constexpr std::array<Facts, kStepKernelCount> kFacts = {{
    {"embed_forward", 1, 2, 0},      // token rows r, w; the positions' rows come from the L2
    {"embed_backward", 2, 4, 0},     // r for the tokens, whose rows r w; r for the positions
    {"norm_forward", 1, 2, 0},       // r w
    {"norm_backward", 2, 4, 0},      // dy r, x r, dx r w; gain's and bias's partial sums are small
    {"bias_backward", 2, 1, 0},      // r
    {"gelu_forward", 1, 2, 0},       // r w
    {"gelu_backward", 1, 3, 0},      // x r, d r w
    {"split_heads", 1, 2, 0},        // r w
    {"merge_heads", 1, 2, 0},        // r w
    {"softmax_forward", 1, 1.5, 0},  // half r, w
    {"softmax_backward", 1, 2, 0},   // half of the weights and of d r, d w
    {"cross_entropy", 2, 2, 0},      // r w: a column fits the cache
    {"add", 1, 3, 0},                // a r w, b r
    {"cast", 1, 1, 4},               // between the type and fp32
    {"adamw", 1, 2, 24},             // gradient r, parameter w; master, m, v r w
    {"sgd", 1, 2, 8},                // gradient r, parameter w; master r w
    {"memset", 1, 1, 0},             // w
    {"copy", 1, 2, 0},               // r w
}};

const Facts& facts_of(StepKernel kernel) { return kFacts[static_cast<std::size_t>(kernel)]; }

double log_line(const KernelPoint& a, const KernelPoint& b, double elements) {
  const double share = std::log(elements / a.elements) / std::log(b.elements / a.elements);
  return (1 - share) * std::log(a.time.value) + share * std::log(b.time.value);
}

/// Points of nearly one size as one.
KernelCurve merged(std::vector<KernelPoint> samples) {
  std::sort(samples.begin(), samples.end(), [](const KernelPoint& a, const KernelPoint& b) {
    return a.elements != b.elements ? a.elements < b.elements : a.time < b.time;
  });
  KernelCurve curve;
  for (std::size_t i = 0; i < samples.size();) {
    double elements = 0, time = 0, count = 0;
    for (const double first = samples[i].elements; i < samples.size() && samples[i].elements <= kSameSize * first;
         ++i) {
      elements += std::log(samples[i].elements);
      time += std::log(samples[i].time.value);
      count += 1;
    }
    curve.push_back({std::round(std::exp(elements / count)), Seconds{std::exp(time / count)}});
  }
  return curve;
}

/// Keeps of first to last those that no line explains (Douglas and Peucker, with the error in the time).
void keep(const KernelCurve& all, std::size_t first, std::size_t last, double tolerance, KernelCurve& kept) {
  double worst = tolerance;
  std::size_t at = first;
  for (std::size_t i = first + 1; i < last; ++i) {
    const double error = std::abs(log_line(all[first], all[last], all[i].elements) - std::log(all[i].time.value));
    if (error > worst) worst = error, at = i;
  }
  if (at == first) {
    kept.push_back(all[last]);
    return;
  }
  keep(all, first, at, tolerance, kept);
  keep(all, at, last, tolerance, kept);
}

}  // namespace

const char* name_of(StepKernel kernel) { return facts_of(kernel).name; }

std::optional<StepKernel> step_kernel(const std::string& name) {
  for (int i = 0; i < kStepKernelCount; ++i)
    if (name == kFacts[static_cast<std::size_t>(i)].name) return static_cast<StepKernel>(i);
  return std::nullopt;
}

Bytes bytes_of(StepKernel kernel, double elements, Bytes element) {
  const Facts& facts = facts_of(kernel);
  return elements * (facts.moved * element + Bytes{facts.fixed});
}

int launches_of(StepKernel kernel) { return facts_of(kernel).launches; }

bool goes_by_rows(StepKernel kernel) {
  return kernel == StepKernel::kSoftmaxForward || kernel == StepKernel::kSoftmaxBackward;
}

Seconds time_at(const KernelCurve& curve, double elements) {
  if (elements <= curve.front().elements) return curve.front().time;
  if (elements >= curve.back().elements) return elements / curve.back().elements * curve.back().time;
  const auto above = std::upper_bound(curve.begin(), curve.end(), elements,
                                      [](double value, const KernelPoint& point) { return value < point.elements; });
  return Seconds{std::exp(log_line(*(above - 1), *above, elements))};
}

KernelCurve curve_of(std::vector<KernelPoint> samples, double tolerance) {
  KernelCurve all = merged(std::move(samples));
  if (all.size() < 3) return all;
  KernelCurve kept{all.front()};
  keep(all, 0, all.size() - 1, tolerance, kept);
  return kept;
}

std::vector<double> left_out_errors(const std::vector<KernelPoint>& samples) {
  const KernelCurve all = merged(samples);
  std::vector<double> errors;
  for (std::size_t i = 1; i + 1 < all.size(); ++i)
    errors.push_back(log_line(all[i - 1], all[i + 1], all[i].elements) - std::log(all[i].time.value));
  return errors;
}

}  // namespace accosim
