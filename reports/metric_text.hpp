// The figures of metrics (sim/result/metric_table.hpp) as people read them, each by its format.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/result/metric_table.hpp"

namespace accosim {

/// With its unit: "3.02 s"; of a rate of computation in TFLOP/s, without.
std::string in_words(Format format, double value);

/// How the figures of one column are written, all in the same way, so that they can be compared at a glance. Times are
/// in the largest of ns, us, ms and s, min, h, d in which the longest is at least 1; those of whole runs as "h:mm:ss"
/// where the longest takes a minute, "d hh:mm" from 100 hours on; rates of computation in TFLOP/s where the largest is
/// above 0.1 TFLOP/s, else GFLOP/s or MFLOP/s. Three digits of the largest and two of the least that is not 0, but at
/// most three decimals.
struct ColumnText {
  std::string unit;                            ///< that all share, for the head: "ms"; "" where each has its own
  std::function<std::string(double)> text_of;  ///< without that unit; 0 is "0"
};
ColumnText column_text(Format format, const std::vector<double>& values);

}  // namespace accosim
