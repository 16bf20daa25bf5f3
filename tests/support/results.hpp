// Results of several schedules, and what they warn of.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/result/metrics.hpp"

namespace accosim {

inline const RunResult& result_labelled(const std::vector<RunResult>& results, const std::string& label) {
  for (const RunResult& result : results)
    if (result.label == label) return result;
  throw std::out_of_range("no result " + label);
}

/// Null where it does not warn of that.
inline const Warning* warning_of(const RunResult& result, const std::string& code) {
  const auto found = std::find_if(result.warnings.begin(), result.warnings.end(),
                                  [&](const Warning& warning) { return warning.code == code; });
  return found == result.warnings.end() ? nullptr : &*found;
}
inline bool warns(const RunResult& result, const std::string& code) { return warning_of(result, code) != nullptr; }

}  // namespace accosim
