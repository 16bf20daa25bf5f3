// The figures of metrics (sim/result/metric_table.hpp) as people read them, each by its format.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "sim/result/metric_table.hpp"

namespace accosim {

/// With its unit: "3.02 s"; of a rate of computation in TFLOP/s, without.
std::string in_words(Format format, double value);

/// How the figures of one column are written, all in the same way.
struct ColumnText {
  std::string unit;  ///< that all share, for the head; "" where each has its own
  std::function<std::string(double)> text_of;
};
ColumnText column_text(Format format, const std::vector<double>& values);

/// As documents have it: a number, true or false, or null where it is not known.
JsonValue json_of(const Metric& metric, const Metrics& all);

/// What the page has to know of the metrics that it shows, in its order.
JsonValue page_metrics_json();

}  // namespace accosim
