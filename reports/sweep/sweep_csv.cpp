// The table of a sweep.
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "reports/plot/figures_csv.hpp"
#include "reports/sweep/sweep_report.hpp"
#include "sim/result/metric_table.hpp"

namespace accosim {
namespace {

/// The columns of a schedule's figures: each metric, and both ends of its interval.
struct CsvColumn {
  std::string head;
  std::function<std::optional<double>(const Metrics&)> of;
};
std::vector<CsvColumn> columns_of_rows() {
  std::vector<CsvColumn> columns;
  for (const Metric* const metric : metrics_by(&Metric::in_rows)) {
    const std::string key = metric->key;
    columns.push_back({key, metric->figure.of});
    if (!metric->interval_in_rows()) continue;
    const auto end = [&](const char* which, double Interval::*member) {
      columns.push_back({key + which, [of = metric->interval.of, member](const Metrics& all) {
                           const std::optional<Interval> interval = of(all);
                           return interval ? std::optional((*interval).*member) : std::nullopt;
                         }});
    };
    end("_low", &Interval::low);
    end("_high", &Interval::high);
  }
  return columns;
}

/// Empty where nothing is known of it.
std::string alone_cells(const Heading& heading, const Row& row) {
  if (!row.alone) return ",,,,";
  const Alone& alone = *row.alone;
  return fmt::format(",{},{},{},{}", in_csv(alone.part), in_csv(heading.schedules[alone.schedule]),
                     shortest(alone.samples_per_update), shortest(alone.tokens_per_second));
}

}  // namespace

void write_sweep_csv(std::ostream& out, const SweepRows& rows, const Merit& merit) {
  const Heading& heading = rows.heading;
  out << "index";
  for (const Axis& axis : heading.axes) out << ',' << in_csv(axis.pointer);
  out << ",status,why,schedule,wins,statistics";
  const std::vector<CsvColumn> columns = columns_of_rows();
  for (const CsvColumn& column : columns) out << ',' << column.head;
  out << ",alone_part,alone_schedule,alone_samples_per_update,alone_tokens_per_s\n";
  for (const Row& row : rows.rows) {
    // `says`: the status and why; `who`: the schedule, whether it wins, and its statistics.
    const auto write = [&](const std::string& says, const std::string& who, const Metrics* figures) {
      out << row.index;
      for (std::size_t i = 0; i < heading.axes.size(); ++i) out << ',' << in_csv(heading.axes[i].values[row.point[i]]);
      out << ',' << says << ',' << who;
      for (const CsvColumn& column : columns) {
        const std::optional<double> value = figures == nullptr ? std::nullopt : column.of(*figures);
        out << ',' << (value ? shortest(*value) : "");
      }
      out << alone_cells(heading, row) << '\n';
    };
    if (!row.done()) write("failed," + in_csv(row.failure), ",,", nullptr);
    const std::optional<std::size_t> winner = winner_of(row, merit);
    for (std::size_t s = 0; s < row.schedules.size(); ++s) {
      const std::string label = in_csv(heading.schedules[s]);
      const Metrics& figures = row.schedules[s];
      if (row.has(s))
        write("done,", fmt::format("{},{},{}", label, winner == s ? 1 : 0, name_of(figures.statistics)), &figures);
      else
        write("left_out," + in_csv(row.left_out[s]), label + ",0,", nullptr);
    }
  }
}

}  // namespace accosim
