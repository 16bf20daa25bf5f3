#include "models/base/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/nearest.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

JsonOrigin place(const std::string& source, int line, int column) {
  JsonOrigin origin = origin_named(source);
  origin.line = line;
  origin.column = column;
  return origin;
}

std::vector<CsvCell> cells_of(std::string_view line) {
  std::vector<CsvCell> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    std::size_t from = begin, to = end;
    while (from < to && (line[from] == ' ' || line[from] == '\t')) ++from;
    while (to > from && (line[to - 1] == ' ' || line[to - 1] == '\t' || line[to - 1] == '\r')) --to;
    cells.push_back({std::string(line.substr(from, to - from)), static_cast<int>(from) + 1});
    if (end == line.size()) return cells;
    begin = end + 1;
  }
}

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

JsonOrigin CsvTable::origin(const CsvRow& row, std::size_t column) const {
  return place(source, row.line, row.cells[column].column);
}

CsvTable parse_csv(std::string_view text, const std::string& source, Diagnostics& diagnostics) {
  CsvTable table{.source = source};
  int line = 0;
  std::size_t all = 0;  // cells
  for (std::size_t begin = 0; begin < text.size() && !diagnostics.enough();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (content.find_first_not_of(" \t\r") == std::string_view::npos || content[0] == '#') continue;
    if (content.size() > kMaxCsvLine) {
      diagnostics.add(place(source, line, 1), "",
                      fmt::format("is {} bytes long; write at most {} a line", content.size(), kMaxCsvLine));
      continue;
    }
    std::vector<CsvCell> cells = cells_of(content);
    all += cells.size();
    if (all > kMaxCsvCells) {
      diagnostics.add(place(source, line, 1), "", fmt::format("more than {} cells; split the table", kMaxCsvCells));
      break;
    }
    if (table.columns.empty()) {
      table.heading = line;
      for (const CsvCell& cell : cells) {
        if (table.find(cell.text) || cell.text.empty())
          diagnostics.add(place(source, line, cell.column), "",
                          cell.text.empty()
                              ? "a column without a name; name it"
                              : fmt::format("two columns are named {}; rename one", in_quotes(cell.text)));
        table.columns.push_back(cell.text);
      }
    } else if (cells.size() != table.columns.size()) {
      diagnostics.add(place(source, line, 1), "",
                      fmt::format("has {} cells; write {}, as the heading has", cells.size(), table.columns.size()));
    } else {
      table.rows.push_back({line, std::move(cells)});
    }
  }
  if (table.rows.empty()) diagnostics.add(origin_named(source), "", "holds no rows; write one below the heading");
  return table;
}

std::optional<CsvTable> read_csv(const std::string& path, const std::string& shown, const JsonOrigin& named_at,
                                 Diagnostics& diagnostics) {
  std::string text;
  const std::string wrong = read_text_file(path, text, kMaxMeasuredBytes);
  if (wrong.empty()) return parse_csv(text, shown, diagnostics);
  diagnostics.add(named_at, "", in_quotes(shown, 200) + " " + wrong);
  return std::nullopt;
}

void CsvRowReader::fail(std::string_view column, const std::string& what) {
  const std::optional<std::size_t> at = table_.find(column);
  diagnostics_.add(at ? table_.origin(row_, *at) : place(table_.source, table_.heading, 1), "",
                   fmt::format("{}: {}", printable(column), what));
}

std::string CsvRowReader::text(std::string_view column, const std::optional<std::string>& fallback) {
  const std::optional<std::size_t> at = table_.find(column);
  if (!at) {
    if (!fallback) fail(column, "there is no such column" + hint(column, table_.columns));
    return fallback.value_or("");
  }
  const std::string& cell = row_.cells[*at].text;
  if (cell.empty() && !fallback) fail(column, "is empty; write a text");
  if (printable(cell, cell.size()) != cell) fail(column, in_quotes(cell) + " holds control characters");
  return cell.empty() ? fallback.value_or("") : cell;
}

double CsvRowReader::number(std::string_view column, Range range, std::optional<double> fallback) {
  const double harmless = fallback.value_or(range.most);
  const std::string cell = text(column, fallback ? std::optional<std::string>("") : std::nullopt);
  if (cell.empty()) return harmless;
  const std::optional<double> value = finite_number(cell);
  if (value && range.holds(*value)) return *value;
  fail(column, fmt::format("{} is no number {} {}, at most {}", in_quotes(cell), range.above ? "above" : "from",
                           shortest(range.least), shortest(range.most)));
  return harmless;
}

int CsvRowReader::integer(std::string_view column, int least, int most, std::optional<int> fallback) {
  const int harmless = fallback.value_or(least);
  const std::string cell = text(column, fallback ? std::optional<std::string>("") : std::nullopt);
  if (cell.empty()) return harmless;
  const std::optional<double> value = finite_number(cell);
  if (value && *value == std::floor(*value) && *value >= least && *value <= most) return static_cast<int>(*value);
  fail(column, fmt::format("{} is no whole number from {} to {}", in_quotes(cell), least, most));
  return harmless;
}

Seconds CsvRowReader::time() {
  constexpr Range kMicroseconds{0, 1e12, true}, kSeconds{0, 1e6, true};
  const char* const column = has("time_us") || !has("time_s") ? "time_us" : "time_s";
  const bool microseconds = std::string_view(column) == "time_us";
  const double value = number(column, microseconds ? kMicroseconds : kSeconds);
  const double seconds = microseconds ? 1e-6 * value : value;
  constexpr double kLeast = 1e-12;
  if (seconds > 0 && seconds < kLeast) fail(column, "is less than any clock tells from nothing; look at the unit");
  return Seconds{seconds};
}

}  // namespace accosim
