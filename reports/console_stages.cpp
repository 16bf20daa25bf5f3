// Where the program's own time went; see console.hpp.
#include <fmt/format.h>

#include <ostream>
#include <string>

#include "reports/console.hpp"
#include "reports/human.hpp"

namespace accosim {

void write_stages(std::ostream& out, const StagesUsed& used, const ConsoleOptions& options) {
  if (used.stages.empty()) return;
  std::vector<StageUse> rows = used.stages;
  rows.push_back(used.outside);
  rows.back().name = "all else";
  StageUse all;
  for (const StageUse& row : rows) {
    all.seconds += row.seconds;
    all.peak_kib += row.peak_kib;
  }
  all.name = "together";
  rows.push_back(all);
  TableOf<StageUse> table(rows);
  table.add("stage", "", [](const StageUse& row) { return row.name; });
  table.add("times", "", [](const StageUse& row) {
    return row.times > 0 ? human_count(static_cast<double>(row.times)) : std::string("-");
  });
  table.add("time", "", [](const StageUse& row) { return human_time(Seconds{row.seconds}); });
  table.add("share", "",
            [&](const StageUse& row) { return human_percent(all.seconds > 0 ? row.seconds / all.seconds : 0); });
  table.add("memory", "more",
            [](const StageUse& row) { return human_bytes(Bytes{1024.0 * static_cast<double>(row.peak_kib)}); });
  write_table_below(out, "", table.columns(), options);
  std::string counts;
  for (const auto& [what, count] : used.tallies)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", human_count(static_cast<double>(count)), what);
  if (!counts.empty()) write_sentence(out, options, counts);
}

}  // namespace accosim
