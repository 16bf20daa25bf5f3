// What ranks that measure collectives are told, and how their times come back; no device is needed for it.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "calibration/measure/measure_collectives.hpp"

namespace accocal {

std::vector<NetworkSetting> network_settings() {
  std::vector<NetworkSetting> settings(1);
  for (const char* algorithm : {"Ring", "Tree"})
    for (const char* protocol : {"LL", "LL128", "Simple"}) settings.push_back({algorithm, protocol, 0});
  settings.push_back({"NVLS", "Simple", 0});
  for (const int channels : {1, 2, 4, 8, 16, 24, 32}) settings.push_back({"Ring", "Simple", channels});
  return settings;
}

std::string write_collective_times(const std::vector<CollectiveTimes>& times) {
  std::string text;
  for (const CollectiveTimes& one : times)
    text += fmt::format("{} {} {} {} {}\n", one.collective, one.bytes, one.first.size(), fmt::join(one.first, " "),
                        fmt::join(one.second, " "));
  return text;
}

std::vector<CollectiveTimes> read_collective_times(const std::string& text) {
  std::vector<CollectiveTimes> times;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    CollectiveTimes one;
    std::size_t count = 0;
    words >> one.collective >> one.bytes >> count;
    for (double seconds = 0; words >> seconds;) (one.first.size() < count ? one.first : one.second).push_back(seconds);
    times.push_back(std::move(one));
  }
  return times;
}

std::vector<CollectiveTimes> slowest(const std::vector<std::vector<CollectiveTimes>>& ranks) {
  std::vector<CollectiveTimes> all = ranks.front();
  const auto raise = [](std::vector<double>& to, const std::vector<double>& by) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], by.at(i));
  };
  for (const std::vector<CollectiveTimes>& rank : ranks) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      raise(all[i].first, rank.at(i).first);
      raise(all[i].second, rank.at(i).second);
    }
  }
  return all;
}

}  // namespace accocal
