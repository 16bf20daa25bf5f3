// What a sweep's axes and their values are called in sentences, tables and pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/summary.hpp"

namespace accosim {

/// An axis of a heading, which outlives this.
class AxisWords {
 public:
  AxisWords(const Axis& axis, std::string called);

  std::string name;                 ///< "bandwidth"
  std::string title;                ///< with the unit that all values share: "bandwidth (Gbit/s)"
  std::vector<std::string> values;  ///< without that unit; files by their names
  std::optional<Numbers> numbers;   ///< none: the values are names
  bool whole = false;               ///< the numbers count things: between two of them there is nothing

  const std::string& pointer() const { return axis_->pointer; }
  /// One of the values: "dgx-h100-4x8", "2 nodes", "adapter = 100 Gbit/s".
  std::string value(std::size_t at) const;

  // Of an axis of numbers.
  /// Without and with the unit: "25", "25 Gbit/s".
  std::string digits(double number) const;
  std::string number(double number) const { return digits(number) + numbers->unit; }
  /// "6-8", "25 to 50 Gbit/s": least and greatest of several lines.
  std::string range(const Interval& all) const { return range(all, whole ? "-" : " to "); }
  std::string range(const Interval& all, const char* to) const;
  /// "6-8 V100 nodes", "n = 6", "25 Gbit/s (adapter)".
  std::string named(const Interval& all) const;
  /// Whether the name can stand behind a number: "6 V100 nodes".
  bool is_count() const;

 private:
  const Axis* axis_;
};
/// In the order of the heading.
std::vector<AxisWords> axes_in_words(const Heading& heading);

}  // namespace accosim
