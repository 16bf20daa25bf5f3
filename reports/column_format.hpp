// How the figures of one column of a table are written, all in the same way, so that they can be compared at a glance.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"

namespace accosim {

/// One unit, and as many decimals for all.
struct UnitFormat {
  double unit = 1;   ///< in the base unit
  std::string name;  ///< "ms"
  int decimals = 2;

  /// Without the unit; 0 is "0".
  std::string text_of(double value) const;
};

/// The largest of ns, us, ms and s, min, h, d in which the longest time is at least 1; three digits of it and two of
/// the shortest that is not 0, but at most three decimals.
UnitFormat time_format(const std::vector<Seconds>& times);

/// Of how long whole runs take: "h:mm:ss" where the longest takes a minute, "d hh:mm" from 100 hours on, else as
/// time_format().
struct ClockFormat {
  std::string name;  ///< "h:mm:ss"
  UnitFormat unit;   ///< where that is no clock

  std::string text_of(Seconds time) const;
};
ClockFormat clock_format(const std::vector<Seconds>& times);

/// Rates of computation: TFLOP/s where the largest is above 0.1 TFLOP/s, else GFLOP/s or MFLOP/s.
UnitFormat flops_format(const std::vector<FlopsPerSecond>& rates);

}  // namespace accosim
