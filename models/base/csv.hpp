// Tables of measurements: comma-separated text with a heading, comments behind '#', no quoting. Errors know their line
// and column, as those of the JSON files do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/json.hpp"
#include "models/base/reader.hpp"

namespace accosim {

struct CsvCell {
  std::string text;
  int column = 1;  ///< of its first character, from 1
};

struct CsvRow {
  int line = 0;
  std::vector<CsvCell> cells;  ///< as many as the table has columns
};

struct CsvTable {
  std::string source;  ///< the file as it is shown
  int heading = 1;     ///< its line
  std::vector<std::string> columns{};
  std::vector<CsvRow> rows{};

  /// Index of a column.
  std::optional<std::size_t> find(std::string_view column) const;
  JsonOrigin origin(const CsvRow& row, std::size_t column) const;
};

/// Limits that keep a hostile table from costing more than some hundred megabytes and a second.
inline constexpr std::size_t kMaxCsvLine = 4096;
inline constexpr std::size_t kMaxCsvCells = 4'000'000;

/// Blank lines and lines that begin with '#' are skipped; cells are trimmed. A row of another width than the heading,
/// a column named twice, a line of more than kMaxCsvLine bytes and a table without rows are errors.
CsvTable parse_csv(std::string_view text, const std::string& source, Diagnostics& diagnostics);
/// Nothing when the file cannot be read.
std::optional<CsvTable> read_csv(const std::string& path, const std::string& shown, const JsonOrigin& named_at,
                                 Diagnostics& diagnostics);

/// Reads one row by the names of its columns; errors go to the diagnostics, and then a harmless value comes back.
class CsvRowReader {
 public:
  CsvRowReader(const CsvTable& table, const CsvRow& row, Diagnostics& diagnostics)
      : table_(table), row_(row), diagnostics_(diagnostics) {}

  bool has(std::string_view column) const { return table_.find(column).has_value(); }
  /// One line of printable text. A missing column or an empty cell is an error unless there is a fallback.
  std::string text(std::string_view column, const std::optional<std::string>& fallback = {});
  double number(std::string_view column, Range range, std::optional<double> fallback = {});
  int integer(std::string_view column, int least, int most, std::optional<int> fallback = {});
  /// The column "time_us", or "time_s" in a table that has only that.
  Seconds time();
  void fail(std::string_view column, const std::string& what);

 private:
  const CsvTable& table_;
  const CsvRow& row_;
  Diagnostics& diagnostics_;
};

}  // namespace accosim
