#include "reports/ladder_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  if (gain > all && gain > 1)
    text += fmt::format("; what gains most, {}, is: {}.", human_factor(gain), ladder.rungs[best].change);
  else if (gain > 1)
    text += fmt::format("; the largest part, {} of {} on a logarithmic scale, is: {}.",
                        human_percent(std::log(gain) / std::log(all)), human_factor(all), ladder.rungs[best].change);
  else
    text += ".";
  const ScheduleSpec& first = ladder.rungs.front().spec;
  if (!(accumulating(first) == first))
    text += fmt::format(" \"{}\" stands here as it is written, and reduces after every micro-batch.", ladder.from);
  if (last.most_same_batch > 0)
    text += fmt::format(" At the same batch \"{}\" can never be more than {} as fast as serial ZeRO-1, here \"{}\".",
                        ladder.to, human_factor(last.most_same_batch), ladder.rungs[last.most_over].change);
  return text;
}

Document ladder_document(const Ladder& ladder) {
  const std::vector<Rung>& rungs = ladder.rungs;
  std::vector<double> speedups;
  for (std::size_t i = 0; i < rungs.size(); ++i) speedups.push_back(shown_speedup(ladder, i));
  const auto [least, most] = std::ranges::minmax_element(speedups);
  constexpr double kLeastScale = 1.25;  // a change of less than a quarter fills no bar
  const double highest = std::max(*most, kLeastScale * *least);
  Table table({left("change"), right("update"), right("samples", "an update"), right("times", "per token"),
               right("speedup", "per token"), right("times", "same batch"), right("speedup", "same batch"),
               left(known_at_same_batch(ladder) ? "same batch," : "per token,", "logarithmic")});
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Rung& rung = rungs[i];
    const bool first = i == 0;
    table.add({rung.change, duration(rung.update_time), human_count(rung.samples_per_update),
               first ? "" : factor(rung.times), factor(rung.speedup), first ? "" : factor(rung.times_same_batch),
               first ? "1.00x" : factor(rung.speedup_same_batch),
               first ? "" : bar_of(speedups[i - 1], speedups[i], *least, highest, 24)});
  }
  Document document;
  document.table(std::move(table));
  document.say({ladder_in_words(ladder)});
  return document;
}

JsonValue ladder_json(const Ladder& ladder) {
  JsonValue rungs = mapped<JsonValue>(ladder.rungs, [&](const Rung& rung) {
    const bool bound = rung.most_same_batch > 0;
    return json_object(
        {{"change", rung.change},
         {"schedule", rung.spec.name},
         {"update_time_s", rung.update_time.value},
         {"samples_per_update", rung.samples_per_update},
         {"tokens_per_s", rung.tokens_per_second},
         {"times", rung.times},
         {"speedup", rung.speedup},
         {"times_same_batch", rung.times_same_batch},
         {"speedup_same_batch", rung.speedup_same_batch},
         {"most_same_batch", bound ? JsonValue(rung.most_same_batch) : JsonValue()},
         {"most_same_batch_over", bound ? JsonValue(ladder.rungs[rung.most_over].change) : JsonValue()}});
  });
  return json_object(
      {{"schema", "accosim.ladder/1"}, {"from", ladder.from}, {"to", ladder.to}, {"rungs", std::move(rungs)}});
}

}  // namespace accosim
