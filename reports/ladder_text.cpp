#include "reports/ladder_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "reports/human.hpp"

namespace accosim {
namespace {

/// From the speedup before a change to that after it on a logarithmic scale that holds all speedups.
std::string bar_of(double before, double after, double least, double most, int width) {
  if (!(most > least)) return "";
  const auto place = [&](double speedup) {
    return static_cast<int>(std::lround(std::log(speedup / least) / std::log(most / least) * width));
  };
  const auto [from, to] = std::minmax({place(before), place(after)});
  std::string bar(static_cast<std::size_t>(from), ' ');
  for (int i = from; i < std::max(to, from + 1); ++i) bar += after >= before ? "█" : "░";
  return bar;
}

std::string factor(const std::optional<double>& value) { return value ? human_factor(*value) : "-"; }

}  // namespace

std::string ladder_in_words(const Ladder& ladder) {
  const bool at_same_batch = known_at_same_batch(ladder);
  std::size_t best = 1;
  for (std::size_t i = 2; i < ladder.rungs.size(); ++i)
    if (shown_times(ladder, i) > shown_times(ladder, best)) best = i;
  const Rung& last = ladder.rungs.back();
  const double all = shown_speedup(ladder, ladder.rungs.size() - 1), gain = shown_times(ladder, best);
  std::string text = fmt::format("\"{}\" is {:.2f} times as fast as \"{}\" {}", ladder.to, all, ladder.from,
                                 at_same_batch ? "at the same batch" : "per token");
  if (all > 1 && gain > 1)
    text += fmt::format("; the largest part, {} of {} on a logarithmic scale, is: {}.",
                        human_percent(std::log(gain) / std::log(all)), human_factor(all), ladder.rungs[best].change);
  else
    text += ".";
  if (last.most_same_batch > 0)
    text += fmt::format(" At the same batch the last change can never bring more than {}.",
                        human_factor(last.most_same_batch));
  return text;
}

void write_ladder(std::ostream& out, const Ladder& ladder, const ConsoleOptions& options) {
  const std::vector<Rung>& rungs = ladder.rungs;
  const bool at_same_batch = known_at_same_batch(ladder);
  const auto speedup = [&](const Rung& rung) {
    return shown_speedup(ladder, static_cast<std::size_t>(&rung - rungs.data()));
  };
  const auto [least, most] = std::minmax_element(rungs.begin(), rungs.end(),
                                                 [&](const Rung& a, const Rung& b) { return speedup(a) < speedup(b); });
  std::vector<Column> columns;
  const auto add = [&](const char* head, const char* sub_head, bool left,
                       const std::function<std::string(const Rung&)>& cell) {
    Column column{head, sub_head, {}, left};
    for (const Rung& rung : rungs) column.cells.push_back(Cell{cell(rung)});
    columns.push_back(std::move(column));
  };
  const auto first = [&](const Rung& rung) { return &rung == &rungs.front(); };
  add("change", "", true, [](const Rung& rung) { return rung.change; });
  add("update", "", false, [](const Rung& rung) { return human_time(rung.update_time); });
  add("samples", "an update", false, [](const Rung& rung) { return human_count(rung.samples_per_update); });
  add("times", "per token", false,
      [&](const Rung& rung) { return first(rung) ? std::string() : human_factor(rung.times); });
  add("speedup", "per token", false, [](const Rung& rung) { return human_factor(rung.speedup); });
  add("times", "same batch", false,
      [&](const Rung& rung) { return first(rung) ? std::string() : factor(rung.times_same_batch); });
  add("speedup", "same batch", false,
      [&](const Rung& rung) { return first(rung) ? "1.00x" : factor(rung.speedup_same_batch); });
  constexpr double kLeastScale = 1.25;  // a change of less than a quarter fills no bar
  const double lowest = speedup(*least), highest = std::max(speedup(*most), kLeastScale * lowest);
  const Rung* before = &rungs.front();
  add(at_same_batch ? "same batch," : "per token,", "logarithmic", true, [&](const Rung& rung) {
    const double was = speedup(*before);
    before = &rung;
    if (first(rung)) return std::string();
    return bar_of(was, speedup(rung), lowest, highest, 24);
  });
  write_table(out, columns, options);
  out << '\n';
  write_wrapped(out, "", ladder_in_words(ladder), options.width);
}

JsonValue ladder_json(const Ladder& ladder) {
  const auto optional = [](const std::optional<double>& value) { return value ? JsonValue(*value) : JsonValue(); };
  std::vector<JsonValue> rungs;
  for (const Rung& rung : ladder.rungs)
    rungs.push_back(
        json_object({{"change", rung.change},
                     {"schedule", rung.spec.name},
                     {"update_time_s", rung.update_time.value},
                     {"samples_per_update", rung.samples_per_update},
                     {"tokens_per_s", rung.tokens_per_second},
                     {"times", rung.times},
                     {"speedup", rung.speedup},
                     {"times_same_batch", optional(rung.times_same_batch)},
                     {"speedup_same_batch", optional(rung.speedup_same_batch)},
                     {"most_same_batch", rung.most_same_batch > 0 ? JsonValue(rung.most_same_batch) : JsonValue()}}));
  return json_object(
      {{"schema", "accosim.ladder/1"}, {"from", ladder.from}, {"to", ladder.to}, {"rungs", std::move(rungs)}});
}

}  // namespace accosim
