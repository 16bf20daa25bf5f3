#include "reports/fair_text.hpp"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "models/base/json_list.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

std::string name_of(const FairBaseline& each) {
  if (!each.part.empty()) return each.part + " alone";
  return each.as_written ? "all, as written" : "all, balanced";
}

}  // namespace

void write_fair_comparison(std::ostream& out, const FairComparison& fair, const ConsoleOptions& options) {
  if (fair.baselines.empty()) return;
  TableOf<FairBaseline> table(fair.baselines);
  const bool all_fit =
      std::all_of(fair.baselines.begin(), fair.baselines.end(), [](const FairBaseline& each) { return each.fits; });
  table.add("GPUs", "", [](const FairBaseline& each) { return name_of(each); });
  table.add("work of", "each GPU", [](const FairBaseline& each) { return each.work; });
  table.add("samples", "an update", [](const FairBaseline& each) { return human_count(each.samples_per_update); });
  table.add("update", "", [](const FairBaseline& each) { return human_time(each.update_time); });
  table.add("tokens", "per s", [](const FairBaseline& each) { return human_count(each.tokens_per_second); });
  table.add("speedup", "per token", [](const FairBaseline& each) {
    return Cell{human_factor(each.speedup), each.speedup > 1.005 ? Style::kGood : Style::kPlain};
  });
  if (!all_fit)
    table.add("memory", "", [](const FairBaseline& each) {
      return each.fits ? Cell{"fits"} : Cell{"OOM", Style::kBad};
    });
  write_table_below(out, fair.schedule + " with its work divided by speed, and on each kind of GPU alone",
                    table.columns(), options);
  out << '\n';
  for (const std::string& sentence : fair.words) write_wrapped(out, "", sentence, options.width);
}

JsonValue fair_baselines_json(const FairComparison& fair) {
  return json_list(fair.baselines, [](const FairBaseline& each) {
    JsonValue shares = json_list(each.shares, [](const Share& share) {
      return json_object({{"group", share.group},
                          {"device", share.device},
                          {"gpus", share.gpus},
                          {"micro_batch_size", share.micro_batch_size},
                          {"gradient_accumulation_steps", share.accumulation_steps}});
    });
    const bool is_part = !each.part.empty();
    return json_object({{"label", each.label},
                        {"kind", is_part ? "part" : "balanced"},
                        {"part", is_part ? JsonValue(each.part) : JsonValue()},
                        {"work", each.work},
                        {"samples_per_update", each.samples_per_update},
                        {"update_time_s", each.update_time.value},
                        {"tokens_per_s", each.tokens_per_second},
                        {"speedup_over_baseline", each.speedup},
                        {"fits", each.fits},
                        {"accumulation", std::move(shares)}});
  });
}

JsonValue fair_gains_json(const FairComparison& fair) {
  return json_list(fair.gains, [](const FairGain& gain) {
    return json_object({{"label", gain.label},
                        {"speedup", gain.speedup},
                        {"speedup_same_batch", gain.same_batch()},
                        {"by_tuning", gain.tuning},
                        {"by_balance", gain.balance},
                        {"by_hiding", gain.hidden},
                        {"share_of_balance", gain.share_of_balance()},
                        {"work", gain.work}});
  });
}

}  // namespace accosim
