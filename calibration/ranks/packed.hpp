// Several texts as the one that a rank reports, and back.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace accocal {

/// Each behind its length: "3:one5:three".
inline std::string packed(std::initializer_list<std::string_view> texts) {
  std::string report;
  for (const std::string_view text : texts) (report += std::to_string(text.size()) + ':') += text;
  return report;
}

/// What packed() had. Throws std::logic_error where `report` is not of so many texts.
template <std::size_t Count>
std::array<std::string, Count> unpacked(std::string_view report) {
  std::array<std::string, Count> texts;
  for (std::string& text : texts) {
    std::size_t size = 0;
    const auto [colon, error] = std::from_chars(report.data(), report.data() + report.size(), size);
    const std::size_t begin = static_cast<std::size_t>(colon - report.data()) + 1;
    if (error != std::errc() || begin > report.size() || *colon != ':' || size > report.size() - begin)
      throw std::logic_error("a report ends inside its texts");
    text = report.substr(begin, size);
    report.remove_prefix(begin + size);
  }
  if (!report.empty()) throw std::logic_error("a report has more texts than were asked for");
  return texts;
}

}  // namespace accocal
