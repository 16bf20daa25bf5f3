#include "sim/evidence/known_errors.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {
namespace {

/// The cells of a line of a table; none where it is no such line.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  if (line.rfind("| ", 0) != 0) return cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) cells.emplace_back(trimmed(cell));
  return cells;
}

bool is_same_title(std::string group, const std::string& title) {
  if (!group.empty() && group[0] >= 'a' && group[0] <= 'z') group[0] = static_cast<char>(group[0] - 'a' + 'A');
  return group == title;
}

}  // namespace

std::vector<KnownError> known_errors(std::string_view page, const std::vector<std::string>& devices) {
  constexpr std::size_t kFigures = 4;  // name, cases, without the source, fitted
  std::vector<KnownError> groups, of_devices;
  std::string table, section;  // what the table's first column holds, and the heading above it
  std::istringstream lines{std::string(page)};
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("## ", 0) == 0) section = line.substr(3);
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty() && line.rfind("|--", 0) != 0) table.clear();
    if (cells.size() < kFigures) continue;
    if (table.empty()) {
      table = cells[1] == "cases" ? cells[0] : "another";
    } else if (table == "group" && section.empty()) {
      groups.push_back({cells[0], "", cells[1], cells[2], cells[3]});
    } else if (table == "device" && std::ranges::find(devices, cells[0]) != devices.end()) {
      const auto group =
          std::ranges::find_if(groups, [&](const KnownError& each) { return is_same_title(each.group, section); });
      if (group != groups.end()) of_devices.push_back({group->group, cells[0], cells[1], cells[2], cells[3]});
    }
  }
  std::vector<KnownError> all;
  for (const KnownError& group : groups) {
    all.push_back(group);
    std::ranges::copy_if(of_devices, std::back_inserter(all),
                         [&](const KnownError& each) { return each.group == group.group; });
  }
  return all;
}

std::vector<KnownError> shipped_known_errors(const std::vector<std::string>& devices) {
  std::string page;
  constexpr std::size_t kMostBytes = std::size_t{1} << 24;
  const std::string wrong = read_text_file(data_dir() + "/reports/published/validation.md", page, kMostBytes);
  return wrong.empty() ? known_errors(page, devices) : std::vector<KnownError>{};
}

}  // namespace accosim
