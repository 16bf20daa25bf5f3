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

struct Figure {
  const char* name;
  std::optional<double> (*of)(const Figures&);
};

constexpr std::array<Figure, 21> kFigures = {{
    {"update_time_s", [](const Figures& f) { return std::optional(f.update_time); }},
    {"update_time_s_low", [](const Figures& f) { return std::optional(f.update_time_low); }},
    {"update_time_s_high", [](const Figures& f) { return std::optional(f.update_time_high); }},
    {"samples_per_update", [](const Figures& f) { return std::optional(f.samples_per_update); }},
    {"tokens_per_s", [](const Figures& f) { return std::optional(f.tokens_per_second); }},
    {"speedup", [](const Figures& f) { return f.speedup; }},
    {"speedup_low",
     [](const Figures& f) { return f.speedup_interval ? std::optional(f.speedup_interval->low) : std::nullopt; }},
    {"speedup_high",
     [](const Figures& f) { return f.speedup_interval ? std::optional(f.speedup_interval->high) : std::nullopt; }},
    {"speedup_same_batch", [](const Figures& f) { return f.speedup_same_batch; }},
    {"speedup_same_batch_low",
     [](const Figures& f) {
       return f.speedup_same_batch_interval ? std::optional(f.speedup_same_batch_interval->low) : std::nullopt;
     }},
    {"speedup_same_batch_high",
     [](const Figures& f) {
       return f.speedup_same_batch_interval ? std::optional(f.speedup_same_batch_interval->high) : std::nullopt;
     }},
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

}  // namespace

void write_sweep_csv(std::ostream& out, const SweepRows& rows) {
  const Heading& heading = rows.heading;
  out << "index";
  for (const Axis& axis : heading.axes) out << ',' << cell_of(axis.pointer);
  out << ",status,why,schedule";
  for (const Figure& figure : kFigures) out << ',' << figure.name;
  out << '\n';
  for (const Row& row : rows.rows) {
    std::string begin = std::to_string(row.index);
    for (std::size_t i = 0; i < heading.axes.size(); ++i) begin += "," + cell_of(heading.axes[i].values[row.point[i]]);
    if (!row.done()) {
      out << begin << ",failed," << cell_of(row.failure) << ',' << std::string(kFigures.size(), ',') << '\n';
      continue;
    }
    for (std::size_t s = 0; s < row.schedules.size(); ++s) {
      out << begin << ",done,," << cell_of(heading.schedules[s]);
      for (const Figure& figure : kFigures) {
        out << ',';
        if (const std::optional<double> value = figure.of(row.schedules[s])) out << shortest(*value);
      }
      out << '\n';
    }
  }
}

}  // namespace accosim
