#include "reports/stages_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

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
  Column names{"stage", "", {}, true}, times{"times", "", {}, false}, seconds{"time", "", {}, false},
      shares{"share", "", {}, false}, memory{"memory", "more", {}, false};
  for (const StageUse& row : rows) {
    names.cells.push_back(Cell{row.name});
    times.cells.push_back(Cell{row.times > 0 ? human_count(static_cast<double>(row.times)) : "-"});
    seconds.cells.push_back(Cell{human_time(Seconds{row.seconds})});
    shares.cells.push_back(Cell{human_percent(all.seconds > 0 ? row.seconds / all.seconds : 0)});
    memory.cells.push_back(Cell{human_bytes(Bytes{1024.0 * static_cast<double>(row.peak_kib)})});
  }
  out << '\n';
  write_table(out, {names, times, seconds, shares, memory}, options);
  std::string counts;
  for (const auto& [what, count] : used.tallies)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", human_count(static_cast<double>(count)), what);
  if (!counts.empty()) write_wrapped(out, "", counts, options.width);
}

}  // namespace accosim
