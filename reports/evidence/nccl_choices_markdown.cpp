// One table a collective and GPU: a row a size.
#include <fmt/format.h>

#include <ostream>

#include "models/base/quantity.hpp"
#include "models/base/text.hpp"
#include "reports/evidence/validation_report.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

std::string in_words(const std::optional<NcclWay>& way) {
  return way ? fmt::format("{} {}", name_of(way->algorithm), name_of(way->protocol)) : "-";
}

/// Bold where the release chooses otherwise than for the size before.
std::string cell_of(const ChoiceSeries& series, std::size_t row, std::size_t release) {
  const std::optional<NcclWay>& way = series.rows[row].ways[release];
  const bool changes = row > 0 && series.rows[row - 1].ways[release] != way;
  return changes ? "**" + in_words(way) + "**" : in_words(way);
}

void write_series(std::ostream& out, const ChoiceSeries& series) {
  out << fmt::format("\n## {} on {} {}\n\nMeasured with NCCL {}.\n\n| size |", name_of(series.kind), series.ranks,
                     in_markdown(series.device), to_text(series.measured_with));
  for (const NcclRelease& release : shown_releases()) out << fmt::format(" NCCL {} |", to_text(release));
  out << " measured | slope | predicted |\n|---|";
  for (std::size_t i = 0; i < shown_releases().size(); ++i) out << "---|";
  out << "---|---|---|\n";
  for (std::size_t i = 0; i < series.rows.size(); ++i) {
    const ChoiceRow& row = series.rows[i];
    out << fmt::format("| {} |", to_text(row.bytes));
    for (std::size_t release = 0; release < row.ways.size(); ++release)
      out << fmt::format(" {} |", cell_of(series, i, release));
    out << fmt::format(" {} | {} | {} |\n", human_time(row.measured),
                       row.slope ? fmt::format("{:.2f}", *row.slope) : "-", human_time(row.predicted));
  }
}

}  // namespace

void write_nccl_choices(std::ostream& out, const std::vector<ChoiceSeries>& series) {
  out << "# Which way NCCL chooses inside a node, by size\n\nWritten by `accosim validate --nccl-choices`. NCCL's own "
         "constants choose; nothing of a choice is fitted. A choice that changes from\nthe size before is in bold. "
         "Slope: "
         "of the measured curve from the size before, log over log: near 0 a launch decides, near 1 the bytes. A "
         "dash:\n"
         "the release does not know the GPU.\n";
  for (const ChoiceSeries& each : series) write_series(out, each);
}

}  // namespace accosim
