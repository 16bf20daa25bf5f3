#include "reports/fair_text.hpp"

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "reports/human.hpp"

namespace accosim {
namespace {

std::string name_of(const FairBaseline& each) {
  if (!each.part.empty()) return each.part + " alone";
  return each.as_written ? "all, as written" : "all, balanced";
}

}  // namespace

void write_fair_comparison(std::ostream& out, const FairComparison& fair, const std::string& baseline,
                           const ConsoleOptions& options) {
  if (fair.baselines.empty()) return;
  std::vector<Column> columns;
  const auto add = [&](const char* head, const char* sub_head, const std::function<Cell(const FairBaseline&)>& cell) {
    Column column{head, sub_head, {}, columns.empty()};
    for (const FairBaseline& each : fair.baselines) column.cells.push_back(cell(each));
    columns.push_back(std::move(column));
  };
  const bool all_fit =
      std::all_of(fair.baselines.begin(), fair.baselines.end(), [](const FairBaseline& each) { return each.fits; });
  add("GPUs", "", [](const FairBaseline& each) { return Cell{name_of(each)}; });
  add("work of", "each GPU", [](const FairBaseline& each) { return Cell{each.work}; });
  add("samples", "an update", [](const FairBaseline& each) { return Cell{human_count(each.samples_per_update)}; });
  add("update", "", [](const FairBaseline& each) { return Cell{human_time(each.update_time)}; });
  add("tokens", "per s", [](const FairBaseline& each) { return Cell{human_count(each.tokens_per_second)}; });
  add("speedup", "per token", [](const FairBaseline& each) {
    return Cell{human_factor(each.speedup), each.speedup > 1.005 ? Style::kGood : Style::kPlain};
  });
  if (!all_fit)
    add("memory", "", [](const FairBaseline& each) { return each.fits ? Cell{"fits"} : Cell{"OOM", Style::kBad}; });
  out << '\n';
  write_wrapped(out, "", baseline + " with its work divided by speed, and on each kind of GPU alone", options.width);
  out << '\n';
  write_table(out, columns, options);
  out << '\n';
  for (const std::string& sentence : fair.words) write_wrapped(out, "", sentence, options.width);
}

JsonValue fair_baselines_json(const FairComparison& fair) {
  std::vector<JsonValue> baselines;
  for (const FairBaseline& each : fair.baselines) {
    std::vector<JsonValue> shares;
    for (const Share& share : each.shares)
      shares.push_back(json_object({{"group", share.group},
                                    {"device", share.device},
                                    {"gpus", share.gpus},
                                    {"micro_batch_size", share.micro_batch_size},
                                    {"gradient_accumulation_steps", share.accumulation_steps}}));
    const bool is_part = !each.part.empty();
    baselines.push_back(json_object({{"label", each.label},
                                     {"kind", is_part ? "part" : "balanced"},
                                     {"part", is_part ? JsonValue(each.part) : JsonValue()},
                                     {"work", each.work},
                                     {"samples_per_update", each.samples_per_update},
                                     {"update_time_s", each.update_time.value},
                                     {"tokens_per_s", each.tokens_per_second},
                                     {"speedup_over_baseline", each.speedup},
                                     {"fits", each.fits},
                                     {"accumulation", std::move(shares)}}));
  }
  return baselines;
}

JsonValue fair_gains_json(const FairComparison& fair) {
  std::vector<JsonValue> gains;
  for (const FairGain& gain : fair.gains)
    gains.push_back(json_object({{"label", gain.label},
                                 {"speedup", gain.speedup},
                                 {"speedup_same_batch", gain.speedup_same_batch},
                                 {"balanced", gain.balanced},
                                 {"speedup_over_balanced", gain.speedup_over_balanced},
                                 {"share_of_balance", gain.share_of_balance}}));
  return gains;
}

}  // namespace accosim
