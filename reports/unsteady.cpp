#include "reports/unsteady.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/human.hpp"

namespace accosim {
namespace {

TableOf<RunResult> by_schedule(const std::vector<RunResult>& results) {
  TableOf<RunResult> table(results);
  table.add("schedule", "", [](const RunResult& r) { return r.label; });
  return table;
}

std::string to(const std::string& low, const std::string& high) { return low + " - " + high; }

void add_drawn(Document& document, const std::vector<RunResult>& results) {
  if (results.empty() || !results.front().drawn) return;
  const bool rounds =
      std::ranges::any_of(results, [](const RunResult& result) { return result.drawn->updates_each > 1; });
  document.say({fmt::format(
      "Micro-batches are drawn, seed {}. Single updates scatter{}; their mean is known to the share that stands beside "
      "it.",
      results.front().drawn->seed,
      rounds ? ", of replicas that make updates by themselves the means of rounds between meetings" : "")});
  // Every schedule meets the same draws; the one that played most of them knows their means best.
  const RunResult& most = *std::ranges::max_element(
      results, [](const RunResult& a, const RunResult& b) { return a.drawn->played < b.drawn->played; });
  if (most.tokens_padded_per_second > most.tokens_per_second)
    document.go_on({fmt::format("A sequence has {:.0f} tokens on average; {:.0f} % of what is computed is padding.",
                                most.tokens_per_second * most.update_time.value / most.samples_per_update,
                                100 * (1 - most.tokens_per_second / most.tokens_padded_per_second))});
  TableOf<RunResult> table = by_schedule(results);
  if (rounds) table.add("mean of", "updates", [](const RunResult& r) { return human_count(r.drawn->updates_each); });
  table.add(rounds ? "an update" : "single update", "10 to 90 %",
            [](const RunResult& r) { return to(human_time(r.drawn->p10), human_time(r.drawn->p90)); });
  table.add("median", "", [](const RunResult& r) { return human_time(r.drawn->median); });
  table.add("updates", "played",
            [](const RunResult& r) { return human_count(1.0 * r.drawn->played * r.drawn->updates_each); });
  table.add("mean known", "to (80 %)", [](const RunResult& r) {
    return "±" + human_percent(r.drawn->band_of_mean) + (r.drawn->narrow ? "" : " (budget)");
  });
  document.table(table);
}

void add_seeds(Document& document, const std::vector<RunResult>& results) {
  if (results.empty() || !results.front().seeds) return;
  TableOf<RunResult> table = by_schedule(results);
  const auto add = [&](const char* head, Format format, const auto& band_of) {
    table.add(head, "median", [&](const RunResult& r) {
      const std::optional<SeedBand> band = band_of(*r.seeds);
      return band ? in_words(format, band->median) : std::string("-");
    });
    table.add(head, "10 to 90 %", [&](const RunResult& r) {
      const std::optional<SeedBand> band = band_of(*r.seeds);
      return band ? to(in_words(format, band->p10), in_words(format, band->p90)) : std::string("-");
    });
  };
  add("update", Format::kTime, [](const SeedBands& bands) { return std::optional(bands.update_time); });
  add("speedup", Format::kFactor, [](const SeedBands& bands) { return bands.speedup; });
  add("same batch", Format::kFactor, [](const SeedBands& bands) { return bands.speedup_same_batch; });
  document.say({fmt::format("Over {} seeds, medians and 10 to 90 %:", results.front().seeds->seeds)});
  document.table(table);
}

void add_pauses(Document& document, const std::vector<RunResult>& results) {
  Table table({left("schedule"), left("pause"), right("every", "updates"), right("lasts"),
               right("delays the", "updates by"), right("micro-batches", "done meanwhile"),
               right("share of", "the time")});
  for (const RunResult& result : results)
    for (const PauseCost& pause : result.pauses)
      table.add({result.label, pause.name, human_count(pause.every_updates), human_time(pause.lasts),
                 human_time(std::max(Seconds{0}, pause.time)), human_count(pause.done_meanwhile()),
                 human_percent(pause.time / (pause.every_updates * result.update_time))});
  document.table(std::move(table));
}

void set_band(JsonValue& body, const std::string& name, const std::optional<SeedBand>& band) {
  body.set(name + "_median", band ? JsonValue(band->median) : JsonValue());
  body.set(name + "_p10", band ? JsonValue(band->p10) : JsonValue());
  body.set(name + "_p90", band ? JsonValue(band->p90) : JsonValue());
}

}  // namespace

void set_unsteady(JsonValue& body, const RunResult& result) {
  if (result.drawn) {
    const DrawnUpdates& drawn = *result.drawn;
    body.set("updates", json_object({{"seed", drawn.seed},
                                     {"played", 1.0 * drawn.played * drawn.updates_each},
                                     {"mean_of", drawn.updates_each},
                                     {"band_of_mean", drawn.band_of_mean},
                                     {"narrow", drawn.narrow},
                                     {"p10_s", drawn.p10.value},
                                     {"median_s", drawn.median.value},
                                     {"p90_s", drawn.p90.value}}));
  }
  if (result.seeds) {
    body.set("seeds", result.seeds->seeds);
    set_band(body, "update_time_s", result.seeds->update_time);
    set_band(body, "tokens_per_s", result.seeds->tokens_per_second);
    set_band(body, "speedup", result.seeds->speedup);
    set_band(body, "speedup_same_batch", result.seeds->speedup_same_batch);
  }
  if (result.pauses.empty()) return;
  body.set("pauses", mapped<JsonValue>(result.pauses, [](const PauseCost& pause) {
             return json_object({{"name", pause.name},
                                 {"every_updates", pause.every_updates},
                                 {"lasts_s", pause.lasts.value},
                                 {"delays_s", pause.time.value},
                                 {"micro_batches_meanwhile", pause.done_meanwhile()}});
           }));
}

void add_unsteady(Document& document, const std::vector<RunResult>& results) {
  add_seeds(document, results);
  add_drawn(document, results);
  add_pauses(document, results);
}

std::string band_in_words(const RunResult& result) {
  if (!result.seeds) return {};
  const SeedBand& band = result.seeds->update_time;
  return fmt::format(" (10 to 90 % of {} seeds: {} an update)", result.seeds->seeds,
                     human_range(human_time(Seconds{band.p10}), human_time(Seconds{band.p90})));
}

}  // namespace accosim
