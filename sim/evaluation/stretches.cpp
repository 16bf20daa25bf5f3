#include "sim/evaluation/stretches.hpp"

#include <algorithm>
#include <cstddef>

#include "models/base/each.hpp"

namespace accosim {

Stretches merged(Stretches stretches, double from, double to) {
  std::ranges::sort(stretches);
  Stretches result;
  for (auto [begin, end] : stretches) {
    begin = std::max(begin, from);
    end = std::min(end, to);
    if (begin >= end) continue;
    if (!result.empty() && begin <= result.back().second)
      result.back().second = std::max(result.back().second, end);
    else
      result.emplace_back(begin, end);
  }
  return result;
}

double length(const Stretches& stretches) {
  return sum_of<double>(stretches, [](const Stretch& stretch) { return stretch.second - stretch.first; });
}

double common(const Stretches& a, const Stretches& b) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    if (a[i].second < b[j].second)
      ++i;
    else
      ++j;
  }
  return sum;
}

}  // namespace accosim
