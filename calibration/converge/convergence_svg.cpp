// Two panels: the mean held-out loss, and how far it is from DDP's with the interval over the seeds. Plain SVG, so that
// it shows wherever the page does.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/base/names.hpp"
#include "calibration/converge/convergence.hpp"
#include "models/base/text.hpp"

namespace accocal {
namespace {

constexpr double kWidth = 900, kTwoPanels = 760, kThreePanels = 1120;
constexpr double kLeft = 64, kRight = 150;  // room for the axis, and for the names
constexpr std::array<const char*, 8> kColours = {"#333333", "#999999", "#0072b2", "#56b4e9",
                                                 "#d55e00", "#e69f00", "#009e73", "#cc79a7"};

// From values to the page.
struct Panel {
  double top = 0, bottom = 0;
  double most_x = 1;
  double low = 0, high = 1;

  double x(double value) const { return kLeft + value / most_x * (kWidth - kLeft - kRight); }
  double y(double value) const { return bottom - (std::clamp(value, low, high) - low) / (high - low) * (bottom - top); }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* colour = "#333333") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, anchor, colour,
                     in_xml(text));
}

std::string axes(const Panel& panel, const std::string& title, double step, const char* unit) {
  std::string svg = text_at(kLeft, panel.top - 12, "start", title);
  for (double value = std::ceil(panel.low / step) * step; value <= panel.high + step * 1e-6; value += step) {
    const double y = panel.y(value);
    svg += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#dddddd\"/>\n", kLeft,
                       kWidth - kRight, y, y);
    svg += text_at(kLeft - 8, y + 4, "end", fmt::format("{:g}{}", std::round(value / step) * step, unit));
  }
  for (int i = 0; i <= 4; ++i)
    svg += text_at(panel.x(panel.most_x * i / 4), panel.bottom + 18, "middle",
                   fmt::format("{:.0f}", panel.most_x * i / 4));
  return svg;
}

std::string polyline(const std::string& points, const char* colour) {
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", points, colour);
}

// Names at the right end, at least a line apart, none below `bottom`.
std::string names(std::vector<std::tuple<double, std::string, const char*>> entries, double bottom) {
  constexpr double kLine = 15;
  std::sort(entries.begin(), entries.end());
  std::vector<double> places;
  for (const auto& entry : entries)
    places.push_back(std::max(std::get<0>(entry) + 4, places.empty() ? -1e9 : places.back() + kLine));
  for (std::size_t i = places.size(); i-- > 0; bottom -= kLine) places[i] = std::min(places[i], bottom);
  std::string svg;
  for (std::size_t i = 0; i < entries.size(); ++i)
    svg += text_at(kWidth - kRight + 8, places[i], "start", std::get<1>(entries[i]), std::get<2>(entries[i]));
  return svg;
}

/// The losses of the first panel over seconds on the report's network, until the fastest has ended.
std::string over_time(const ConvergenceReport& report, const std::vector<Curve>& means, const Panel& losses) {
  Panel panel = losses;
  panel.top = 800;
  panel.bottom = 1080;
  panel.most_x = 0;
  const auto end_of = [&](std::size_t a) {
    return report.algorithms[a].update_time.value * static_cast<double>(means[a].back().updates);
  };
  const auto two_speeds = [&](std::size_t a) { return report.algorithms[a].name == "dpu-warmup"; };
  for (std::size_t a = 0; a < means.size(); ++a) panel.most_x = std::max(panel.most_x, end_of(a));
  std::string svg = axes(panel, "Held-out loss over time: " + report.network, 0.1, "");
  std::vector<std::tuple<double, std::string, const char*>> labels;
  for (std::size_t a = 0; a < means.size(); ++a) {
    if (two_speeds(a)) continue;
    std::string points;
    for (const CurvePoint& point : means[a])
      if (point.loss <= panel.high)
        points += fmt::format("{:.1f},{:.1f} ",
                              panel.x(report.algorithms[a].update_time.value * static_cast<double>(point.updates)),
                              panel.y(point.loss));
    const char* colour = kColours[a % kColours.size()];
    svg += polyline(points, colour);
    labels.emplace_back(panel.y(means[a].back().loss), report.algorithms[a].name, colour);
  }
  return svg + names(labels, panel.bottom) +
         text_at((kLeft + kWidth - kRight) / 2, kThreePanels - 6, "middle", "seconds");
}

/// Mean over the seeds, of each algorithm.
std::vector<Curve> mean_curves(const ConvergenceReport& report) {
  std::vector<Curve> means;
  for (const AlgorithmConvergence& algorithm : report.algorithms) {
    Curve mean = algorithm.curves.front();
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i].loss = 0;
      for (const Curve& curve : algorithm.curves) mean[i].loss += curve[i].loss;
      mean[i].loss /= static_cast<double>(algorithm.curves.size());
    }
    means.push_back(std::move(mean));
  }
  return means;
}

/// For the losses over updates. Before a twentieth of the run all fall alike, and would press the rest together.
Panel panel_of(const std::vector<Curve>& means, double updates) {
  Panel panel{40, 340, updates, 1e9, 0};
  for (const Curve& mean : means) {
    for (const CurvePoint& point : mean) {
      panel.low = std::min(panel.low, point.loss);
      if (static_cast<double>(point.updates) >= 0.05 * updates) panel.high = std::max(panel.high, point.loss);
    }
  }
  panel.low = std::floor(panel.low * 10) / 10;
  panel.high = std::ceil(panel.high * 10) / 10;
  return panel;
}

std::string over_updates(const ConvergenceReport& report, const std::vector<Curve>& means, const Panel& panel) {
  std::string svg = axes(panel,
                         fmt::format("Held-out loss (nats a token), mean of {} seeds; every update is of {} samples",
                                     report.options.seeds, report.batch_samples),
                         0.1, "");
  std::vector<std::tuple<double, std::string, const char*>> labels;
  for (std::size_t a = 0; a < means.size(); ++a) {
    std::string points;
    for (const CurvePoint& point : means[a]) {
      if (point.loss <= panel.high)
        points += fmt::format("{:.1f},{:.1f} ", panel.x(static_cast<double>(point.updates)), panel.y(point.loss));
    }
    const char* colour = kColours[a % kColours.size()];
    svg += polyline(points, colour);
    labels.emplace_back(panel.y(means[a].back().loss), report.algorithms[a].name, colour);
  }
  return svg + names(labels, panel.bottom);
}

std::string differences_from_ddp(const ConvergenceReport& report, double updates) {
  const Panel panel{410, 720, updates, -3, 8};
  std::string svg =
      axes(panel, "Loss over DDP's, paired by seed, with 90 % intervals (cut at the edges); dashed: +-0.5 %", 1, " %");
  for (const double limit : {-100 * kEquivalent, 100 * kEquivalent}) {
    svg += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#333333\" stroke-dasharray=\"5 4\"/>\n",
        kLeft, kWidth - kRight, panel.y(limit), panel.y(limit));
  }
  std::vector<std::tuple<double, std::string, const char*>> labels;
  const Curve& base = report.algorithms.front().curves.front();
  for (std::size_t a = 0; a < report.algorithms.size(); ++a) {
    const AlgorithmConvergence& algorithm = report.algorithms[a];
    if (is_synchronous(algorithm)) continue;
    std::string points, above, below;
    for (std::size_t i = 0; i < algorithm.differences.size(); ++i) {
      const Estimate& e = algorithm.differences[i];
      const double x = panel.x(static_cast<double>(base[i].updates));
      points += fmt::format("{:.1f},{:.1f} ", x, panel.y(100 * e.value));
      above += fmt::format("{:.1f},{:.1f} ", x, panel.y(100 * e.high));
      below = fmt::format("{:.1f},{:.1f} ", x, panel.y(100 * e.low)) + below;
    }
    const char* colour = kColours[a % kColours.size()];
    svg += fmt::format("<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.15\"/>\n", above, below, colour);
    svg += polyline(points, colour);
    labels.emplace_back(panel.y(100 * algorithm.differences.back().value), algorithm.name, colour);
  }
  return svg + names(labels, panel.bottom) +
         text_at((kLeft + kWidth - kRight) / 2, kTwoPanels - 6, "middle", "updates");
}

}  // namespace

std::string convergence_svg(const ConvergenceReport& report) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n",
      kWidth, report.network.empty() ? kTwoPanels : kThreePanels);
  const auto updates = static_cast<double>(report.options.updates);
  const std::vector<Curve> means = mean_curves(report);
  const Panel losses = panel_of(means, updates);
  svg += over_updates(report, means, losses) + differences_from_ddp(report, updates);
  if (!report.network.empty()) svg += over_time(report, means, losses);
  return svg + "</svg>\n";
}

}  // namespace accocal
