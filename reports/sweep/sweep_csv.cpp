#include "reports/sweep/sweep_csv.hpp"

#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "models/base/text.hpp"

namespace accosim {
namespace {

/// In quotes where it holds what would end a cell.
std::string cell_of(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::optional<double> low_of(const std::optional<Interval>& interval) {
  return interval ? std::optional(interval->low) : std::nullopt;
}
std::optional<double> high_of(const std::optional<Interval>& interval) {
  return interval ? std::optional(interval->high) : std::nullopt;
}

struct Figure {
  const char* name;
  std::optional<double> (*of)(const Figures&);
};

constexpr std::array<Figure, 27> kFigures = {{
    {"update_time_s", [](const Figures& f) { return std::optional(f.update_time); }},
    {"update_time_s_low", [](const Figures& f) { return std::optional(f.update_time_low); }},
    {"update_time_s_high", [](const Figures& f) { return std::optional(f.update_time_high); }},
    {"samples_per_update", [](const Figures& f) { return std::optional(f.samples_per_update); }},
    {"tokens_per_s", [](const Figures& f) { return std::optional(f.tokens_per_second); }},
    {"speedup", [](const Figures& f) { return f.speedup; }},
    {"speedup_low", [](const Figures& f) { return low_of(f.speedup_interval); }},
    {"speedup_high", [](const Figures& f) { return high_of(f.speedup_interval); }},
    {"speedup_same_batch", [](const Figures& f) { return f.speedup_same_batch; }},
    {"speedup_same_batch_low", [](const Figures& f) { return low_of(f.speedup_same_batch_interval); }},
    {"speedup_same_batch_high", [](const Figures& f) { return high_of(f.speedup_same_batch_interval); }},
    {"speedup_over_alone", [](const Figures& f) { return f.over_alone; }},
    {"speedup_over_alone_low", [](const Figures& f) { return low_of(f.over_alone_interval); }},
    {"speedup_over_alone_high", [](const Figures& f) { return high_of(f.over_alone_interval); }},
    {"speedup_over_balanced", [](const Figures& f) { return f.over_balanced; }},
    {"speedup_over_balanced_low", [](const Figures& f) { return low_of(f.over_balanced_interval); }},
    {"speedup_over_balanced_high", [](const Figures& f) { return high_of(f.over_balanced_interval); }},
    {"behind", [](const Figures& f) { return std::optional(f.behind); }},
    {"behind_low", [](const Figures& f) { return std::optional(f.behind_interval.low); }},
    {"behind_high", [](const Figures& f) { return std::optional(f.behind_interval.high); }},
    {"fits", [](const Figures& f) { return std::optional(f.fits ? 1.0 : 0.0); }},
    {"memory_resident_bytes", [](const Figures& f) { return std::optional(f.memory); }},
    {"memory_capacity_bytes", [](const Figures& f) { return std::optional(f.capacity); }},
    {"bytes_sent_per_rank_per_update", [](const Figures& f) { return std::optional(f.sent); }},
    {"exposed_communication_s", [](const Figures& f) { return std::optional(f.exposed); }},
    {"mfu", [](const Figures& f) { return std::optional(f.mfu); }},
    {"gpu_idle_fraction", [](const Figures& f) { return std::optional(f.idle); }},
}};

constexpr std::size_t kAloneColumns = 4;

/// Empty where nothing is known of it.
std::string alone_cells(const Heading& heading, const Row& row) {
  if (!row.alone) return std::string(kAloneColumns, ',');
  const Alone& alone = *row.alone;
  return "," + cell_of(alone.part) + "," + cell_of(heading.schedules[alone.schedule]) + "," +
         shortest(alone.samples_per_update) + "," + shortest(alone.tokens_per_second);
}

}  // namespace

void write_sweep_csv(std::ostream& out, const SweepRows& rows) {
  const Heading& heading = rows.heading;
  out << "index";
  for (const Axis& axis : heading.axes) out << ',' << cell_of(axis.pointer);
  out << ",status,why,schedule";
  for (const Figure& figure : kFigures) out << ',' << figure.name;
  out << ",alone_part,alone_schedule,alone_samples_per_update,alone_tokens_per_s\n";
  for (const Row& row : rows.rows) {
    std::string begin = std::to_string(row.index);
    for (std::size_t i = 0; i < heading.axes.size(); ++i) begin += "," + cell_of(heading.axes[i].values[row.point[i]]);
    if (!row.done()) {
      out << begin << ",failed," << cell_of(row.failure) << ',' << std::string(kFigures.size() + kAloneColumns, ',')
          << '\n';
      continue;
    }
    for (std::size_t s = 0; s < row.schedules.size(); ++s) {
      out << begin << ",done,," << cell_of(heading.schedules[s]);
      for (const Figure& figure : kFigures) {
        out << ',';
        if (const std::optional<double> value = figure.of(row.schedules[s])) out << shortest(*value);
      }
      out << alone_cells(heading, row) << '\n';
    }
  }
}

}  // namespace accosim
