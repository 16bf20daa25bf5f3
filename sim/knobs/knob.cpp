#include "sim/knobs/knob.hpp"

namespace accosim {

std::string in_words(const std::vector<ScheduleKey>& keys) {
  std::string text;
  for (const auto& [key, value] : keys) {
    std::string bare = value;
    if (bare.size() >= 2 && bare.front() == '"' && bare.back() == '"') bare = bare.substr(1, bare.size() - 2);
    text += (text.empty() ? "" : ", ") + key + " " + bare;
  }
  return text;
}

}  // namespace accosim
