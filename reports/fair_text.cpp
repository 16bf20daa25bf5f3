#include "reports/fair_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/human.hpp"

namespace accosim {
namespace {

std::string name_of(const FairBaseline& each) {
  if (!each.part.empty()) return each.part + " alone";
  return each.as_written ? "all, as written" : "all, balanced";
}

/// "V100" of "16 V100-SXM2-32GB".
std::string family_of(const std::string& gpus) {
  const std::size_t begin = gpus.find(' ') + 1;
  return gpus.substr(begin, std::min(gpus.find('-'), gpus.size()) - begin);
}

/// "V100s"; "V100-SXM2-32GB GPUs" where others are V100 too.
std::string short_name_of(const std::string& gpus, const Adding& adding) {
  std::vector<std::string> all = adding.others;
  all.push_back(adding.part);
  const std::string family = family_of(gpus);
  const bool alone = std::ranges::count_if(all, [&](const auto& each) { return family_of(each) == family; }) == 1;
  std::string name = alone ? family : gpus.substr(gpus.find(' ') + 1);
  if (gpus.rfind("1 ", 0) == 0) return name;
  return name + (alone && name.back() != 'S' ? "s" : " GPUs");
}

std::string times_in_words(const Adding::Whole& whole) {
  if (!whole.fits) return "no fit in memory";
  const char* const open = !whole.open() ? "" : whole.times < 1 ? ", so perhaps faster" : ", so perhaps slower";
  return fmt::format("{} ({:.2f} to {:.2f}{})", human_factor(whole.times), whole.interval.low, whole.interval.high,
                     open);
}

/// "11 and 5" of "11 and 5 micro-batches".
std::string counts_of(std::string work) {
  constexpr std::string_view kNoun = " micro-batches";
  if (work.ends_with(kNoun)) work.resize(work.size() - kNoun.size());
  return work;
}

JsonValue whole_json(const Adding::Whole& whole) {
  return json_object({{"work", whole.work},
                      {"speedup", whole.times},
                      {"speedup_low", whole.interval.low},
                      {"speedup_high", whole.interval.high},
                      {"fits", whole.fits}});
}

}  // namespace

std::string in_words(const Adding& adding) {
  std::vector<std::string> others;
  for (const std::string& each : adding.others) others.push_back(short_name_of(each, adding));
  const std::string text =
      fmt::format("Adding the {} to the homogeneous subset of {}, under the same schedule: ", in_words(others),
                  short_name_of(adding.part, adding));
  const Adding::Whole &balanced = adding.balanced, &written = adding.written;
  if (adding.as_written)
    return text + fmt::format("{} with the micro-batches as written; no other division of them is faster.",
                              times_in_words(balanced));
  const std::string without = written.even ? "even ones" : fmt::format("those written ({})", counts_of(written.work));
  const std::string with = fmt::format("load-balanced micro-batches ({})", counts_of(balanced.work));
  return text +
         fmt::format("{} with {}, {} with {}.", times_in_words(balanced), with, times_in_words(written), without);
}

JsonValue adding_json(const std::optional<Adding>& adding) {
  if (!adding) return {};
  return json_object({{"schedule", adding->schedule},
                      {"subset", adding->part},
                      {"added", adding->others},
                      {"load_balanced", whole_json(adding->balanced)},
                      {"as_written", whole_json(adding->written)}});
}

void add_fair_comparison(Document& document, const FairComparison& fair) {
  Table table({left("GPUs"), right("work of", "each GPU"), right("samples", "an update"), right("update"),
               right("tokens", "per s"), right("speedup", "per token")});
  if (!std::ranges::all_of(fair.baselines, [](const FairBaseline& each) { return each.fits; }))
    table.heads.push_back(right("memory"));
  for (const FairBaseline& each : fair.baselines)
    table.add({name_of(each),
               each.work,
               human_count(each.samples_per_update),
               human_time(each.update_time),
               human_count(each.tokens_per_second),
               {human_factor(each.speedup), each.speedup > 1.005 ? Style::kGood : Style::kPlain},
               each.fits ? Value("fits") : Value("OOM", Style::kBad)});
  if (!table.empty()) document.say({fair.schedule, " with its work divided by speed, and on each kind of GPU alone"});
  document.table(std::move(table));
  document.say_each(fair.words);
}

JsonValue fair_baselines_json(const FairComparison& fair) {
  return mapped<JsonValue>(fair.baselines, [](const FairBaseline& each) {
    JsonValue shares = mapped<JsonValue>(each.shares, [](const Share& share) {
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
  return mapped<JsonValue>(fair.gains, [](const FairGain& gain) {
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
