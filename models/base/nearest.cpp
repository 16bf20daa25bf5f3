// Distances between words. Input may be hostile, so a long word is never compared: no name of ours has 100 letters.
#include "models/base/nearest.hpp"

#include <algorithm>
#include <cstddef>

#include "models/base/text.hpp"

namespace accosim {
namespace {

constexpr std::size_t kLongestWord = 100;

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> before(width), previous(width), current(width);
  for (std::size_t j = 0; j < width; ++j) previous[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::string nearest(std::string_view written, const std::vector<std::string>& candidates) {
  if (written.empty() || written.size() > kLongestWord) return {};
  const std::string word = lower(written);
  std::string best;
  int best_distance = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    const int distance = edit_distance(word, lower(candidate));
    const bool near = 3 * distance <= static_cast<int>(std::max(word.size(), candidate.size()));
    if (near && (best.empty() || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view written, const std::vector<std::string>& candidates) {
  const std::string near = nearest(written, candidates);
  return near.empty() ? "" : "did you mean " + in_quotes(near) + "? ";
}

std::string hint(std::string_view written, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return {};
  const std::string near = nearest(written, candidates);
  if (!near.empty()) return "; did you mean " + in_quotes(near) + "?";
  std::string out = "; one of: ";
  const std::size_t shown = std::min<std::size_t>(candidates.size(), kMostNamed);
  for (std::size_t i = 0; i < shown; ++i) out += (i > 0 ? ", " : "") + in_quotes(candidates[i]);
  if (shown < candidates.size()) out += ", ...";
  return out;
}

}  // namespace accosim
