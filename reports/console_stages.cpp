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
  Table table({left("stage"), right("times"), right("time"), right("share"), right("memory", "more")});
  for (const StageUse& row : rows)
    table.add(Style::kPlain,
              {row.name, row.times > 0 ? human_count(static_cast<double>(row.times)) : "-",
               human_time(Seconds{row.seconds}), human_percent(all.seconds > 0 ? row.seconds / all.seconds : 0),
               human_bytes(Bytes{1024.0 * static_cast<double>(row.peak_kib)})});
  write_table_below(out, "", table.columns(), options);
  std::string counts;
  for (const auto& [what, count] : used.tallies)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", human_count(static_cast<double>(count)), what);
  if (!counts.empty()) write_sentence(out, options, counts);
}

}  // namespace accosim
