#include "sim/result/metrics.hpp"

#include <fmt/format.h>

namespace accosim {

std::string in_words(const std::vector<RankRange>& ranges) {
  std::string words;
  for (const RankRange& range : ranges) {
    if (!words.empty()) words += ',';
    words += range.first == range.last ? fmt::format("{}", range.first) : fmt::format("{}-{}", range.first, range.last);
  }
  return words;
}

int RankResult::count() const {
  int count = 0;
  for (const RankRange& range : ranks) count += range.count();
  return count;
}

int RunResult::rank_count() const {
  int count = 0;
  for (const RankResult& alike : ranks) count += alike.count();
  return count;
}

}  // namespace accosim
