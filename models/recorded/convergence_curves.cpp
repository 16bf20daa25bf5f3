#include "models/recorded/convergence_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/base/statistics.hpp"
#include "models/fit/document.hpp"

namespace accosim {
namespace {

using Algorithm = MeasuredCurves::Algorithm;

constexpr std::size_t kMostAlgorithms = 1000;
constexpr double kMost = 1e15;

bool is_number(const JsonValue& value, double least) {
  return value.kind == JsonKind::kNumber && value.number >= least && value.number <= kMost;
}

/// [updates, samples, loss] each, in order of the updates; nothing where it is something else.
std::vector<LossPoint> points_of(const JsonValue& curve) {
  std::vector<LossPoint> points;
  for (const JsonValue& point : curve.elements) {
    const std::vector<JsonValue>& numbers = point.elements;
    const bool good = numbers.size() == 3 && is_number(numbers[0], 0) && is_number(numbers[2], 1e-9) &&
                      (points.empty() || numbers[0].number > points.back().updates);
    if (!good) return {};
    points.push_back({numbers[0].number, numbers[2].number});
  }
  return points;
}

bool same_updates(const std::vector<LossPoint>& a, const std::vector<LossPoint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LossPoint& one, const LossPoint& other) { return one.updates == other.updates; });
}

Algorithm read_algorithm(ObjectReader& reader, const std::vector<Algorithm>& before) {
  Algorithm one;
  one.name = reader.text("name");
  one.update_time = Seconds{reader.number("update_time_s", Range{0, kMost}, 0)};
  constexpr std::size_t kMostSeeds = 10'000;
  for (const JsonValue* curve : reader.list("curves", 1, kMostSeeds)) one.curves.push_back(points_of(*curve));
  const bool as_many = before.empty() || before.front().curves.size() == one.curves.size();
  const bool good = std::ranges::all_of(
      one.curves, [&](const auto& curve) { return curve.size() >= 2 && same_updates(curve, one.curves.front()); });
  if (reader.good() && !(as_many && good))
    reader.fail("curves",
                "are not a list of [updates, samples, loss] for each seed, of as many seeds for every algorithm and at "
                "the same updates for every seed; measure again");
  reader.drop_unknown();
  return one;
}

std::vector<LossPoint> mean_of_seeds(const Algorithm& algorithm) {
  std::vector<LossPoint> mean = algorithm.curves.front();
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean[i].loss = 0;
    for (const auto& curve : algorithm.curves) mean[i].loss += curve[i].loss;
    mean[i].loss /= static_cast<double>(algorithm.curves.size());
  }
  return mean;
}

/// At the last point up to so many updates: DiLoCo has a loss only after its outer ones.
double loss_at(const std::vector<LossPoint>& curve, double updates) {
  double loss = curve.front().loss;
  for (const LossPoint& point : curve)
    if (point.updates <= updates) loss = point.loss;
  return loss;
}

/// The loss over the base's, less 1, at each point of the base in percent.
std::vector<Estimate> differences(const Algorithm& algorithm, const Algorithm& base) {
  std::vector<Estimate> result;
  for (const LossPoint& point : base.curves.front()) {
    std::vector<double> each;
    for (std::size_t seed = 0; seed < base.curves.size(); ++seed)
      each.push_back(100 *
                     (loss_at(algorithm.curves[seed], point.updates) / loss_at(base.curves[seed], point.updates) - 1));
    result.push_back(mean_of(each));
  }
  return result;
}

/// Before a twentieth of the run all fall alike, and would press the rest together.
CurvePanel losses(const MeasuredCurves& measured, const std::vector<SeriesLook>& looks) {
  CurvePanel panel{.title = fmt::format("{}, mean of {} seeds; every update is of {:g} samples", kConvergenceTitle,
                                        measured.algorithms.front().curves.size(), measured.batch_samples),
                   .x_title = "updates",
                   .most_x = measured.algorithms.front().curves.front().back().updates,
                   .low = 1e300,
                   .high = 0};
  for (std::size_t a = 0; a < measured.algorithms.size(); ++a) {
    ChartCurve curve{measured.algorithms[a].name, looks[a], {}, {}, {}};
    constexpr double kStart = 0.05;
    for (const LossPoint& point : mean_of_seeds(measured.algorithms[a])) {
      panel.low = std::min(panel.low, point.loss);
      if (point.updates >= kStart * panel.most_x) panel.high = std::max(panel.high, point.loss);
      curve.points.push_back({point.updates, point.loss});
    }
    panel.curves.push_back(std::move(curve));
  }
  panel.low = std::floor(panel.low * 10) / 10;
  panel.high = std::max(std::ceil(panel.high * 10) / 10, panel.low + 0.1);
  for (ChartCurve& curve : panel.curves)
    std::erase_if(curve.points, [&](const Point& point) { return point.y > panel.high; });
  return panel;
}

/// Wide enough for where they end; what is further away before is cut.
CurvePanel over_the_first(const MeasuredCurves& measured, const std::vector<SeriesLook>& looks) {
  const Algorithm& base = measured.algorithms.front();
  CurvePanel panel;
  panel.title = fmt::format("Loss over {}'s, paired by seed, with 90 % intervals (cut at the edges); dashed: ±{:g} %",
                            base.name, 100 * measured.equivalence);
  panel.x_title = "updates";
  panel.y_unit = " %";
  panel.most_x = base.curves.front().back().updates;
  panel.limits = {-100 * measured.equivalence, 100 * measured.equivalence};
  panel.low = -2;
  panel.high = 2;
  for (std::size_t a = 1; a < measured.algorithms.size(); ++a) {
    const std::vector<Estimate> estimates = differences(measured.algorithms[a], base);
    // Of one whose updates are the base's there is nothing to see.
    if (std::ranges::all_of(estimates, [](const Estimate& e) { return e.value == 0; })) continue;
    ChartCurve curve{measured.algorithms[a].name, looks[a], {}, {}, {}};
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      curve.points.push_back({base.curves.front()[i].updates, estimates[i].value});
      curve.low.push_back(estimates[i].low);
      curve.high.push_back(estimates[i].high);
    }
    panel.low = std::min(panel.low, std::floor(estimates.back().value) - 1);
    panel.high = std::max(panel.high, std::ceil(estimates.back().value) + 1);
    panel.curves.push_back(std::move(curve));
  }
  return panel;
}

/// The losses of the first panel over seconds.
CurvePanel over_time(const MeasuredCurves& measured, CurvePanel panel) {
  panel.title = "Held-out loss over time: " + measured.network;
  panel.x_title = "seconds";
  panel.most_x = 0;
  std::vector<ChartCurve> curves;
  for (ChartCurve& curve : panel.curves) {
    const Algorithm& algorithm =
        *std::ranges::find(measured.algorithms, curve.name, [](const Algorithm& each) { return each.name; });
    // A warm-up has an update time of its own, which was not measured.
    const bool two_speeds = algorithm.name.find("-warmup") != std::string::npos;
    if (two_speeds || !(algorithm.update_time > Seconds{0})) continue;
    for (Point& point : curve.points) point.x *= algorithm.update_time.value;
    if (!curve.points.empty()) panel.most_x = std::max(panel.most_x, curve.points.back().x);
    curves.push_back(std::move(curve));
  }
  panel.curves = std::move(curves);
  return panel;
}

}  // namespace

MeasuredCurves read_curves(const std::string& text, const std::string& name) {
  MeasuredCurves out;
  read_document(text, name, {"accosim.convergence/1", "accocal converge"}, [&](ObjectReader& top) {
    out.batch_samples = top.number("batch_samples", Range{1, kMost});
    out.network = top.text("network", std::string());
    read_object(top, "range", [&](ObjectReader& range) {
      out.equivalence = range.number("equivalence", Range{0, 1}, 0);
      range.drop_unknown();
    });
    read_objects(top, "algorithms", 1, kMostAlgorithms,
                 [&](ObjectReader& algorithm) { out.algorithms.push_back(read_algorithm(algorithm, out.algorithms)); });
    top.drop_unknown();
  });
  return out;
}

std::vector<CurvePanel> convergence_panels(const MeasuredCurves& curves) {
  const std::vector<SeriesLook> looks =
      looks_of(mapped<std::string>(curves.algorithms, &MeasuredCurves::Algorithm::name));
  std::vector<CurvePanel> panels = {losses(curves, looks), over_the_first(curves, looks)};
  if (!curves.network.empty()) {
    CurvePanel timed = over_time(curves, panels.front());
    if (!timed.curves.empty()) panels.push_back(std::move(timed));
  }
  return panels;
}

}  // namespace accosim
