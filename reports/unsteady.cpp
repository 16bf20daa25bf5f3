#include "reports/unsteady.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <utility>

#include "reports/human.hpp"

namespace accosim {
namespace {

using CellOf = std::function<std::string(const RunResult&)>;

Column column(const char* head, const char* sub_head, const std::vector<RunResult>& results, const CellOf& cell) {
  Column column{head, sub_head, {}, false};
  for (const RunResult& result : results) column.cells.push_back(Cell{cell(result)});
  return column;
}

Column labels(const std::vector<RunResult>& results) {
  Column names = column("schedule", "", results, [](const RunResult& r) { return r.label; });
  names.left = true;
  return names;
}

std::string to(const std::string& low, const std::string& high) { return low + " - " + high; }

void write_drawn(std::ostream& out, const std::vector<RunResult>& results, const ConsoleOptions& options) {
  if (results.empty() || !results.front().drawn) return;
  out << '\n';
  write_wrapped(out, "",
                fmt::format("Micro-batches are drawn, seed {}. Single updates scatter; their mean is known "
                            "to the share that stands beside it.",
                            results.front().drawn->seed),
                options.width);
  // Every schedule meets the same draws; the one that played most of them knows their means best.
  const RunResult& most = *std::max_element(results.begin(), results.end(), [](const RunResult& a, const RunResult& b) {
    return a.drawn->played < b.drawn->played;
  });
  if (most.tokens_padded_per_second > most.tokens_per_second)
    write_wrapped(out, "",
                  fmt::format("A sequence has {:.0f} tokens on average; {:.0f} % of what is computed is padding.",
                              most.tokens_per_second * most.update_time.value / most.samples_per_update,
                              100 * (1 - most.tokens_per_second / most.tokens_padded_per_second)),
                  options.width);
  out << '\n';
  const auto of = [](const auto& text) { return [text](const RunResult& r) { return text(*r.drawn); }; };
  write_table(out,
              {labels(results), column("single update", "10 to 90 %", results, of([](const DrawnUpdates& d) {
                                         return to(human_time(d.p10), human_time(d.p90));
                                       })),
               column("median", "", results, of([](const DrawnUpdates& d) { return human_time(d.median); })),
               column("updates", "played", results, of([](const DrawnUpdates& d) { return human_count(d.played); })),
               column("mean known", "to (80 %)", results, of([](const DrawnUpdates& d) {
                        return "±" + human_percent(d.band_of_mean) + (d.narrow ? "" : " (budget)");
                      }))},
              options);
}

void write_seeds(std::ostream& out, const std::vector<RunResult>& results, const ConsoleOptions& options) {
  if (results.empty() || !results.front().seeds) return;
  out << '\n';
  write_wrapped(out, "", fmt::format("Over {} seeds, medians and 10 to 90 %:", results.front().seeds->seeds),
                options.width);
  out << '\n';
  const auto time = [](double seconds) { return human_time(Seconds{seconds}); };
  const auto factors = [](const std::optional<SeedBand>& band, bool median) -> std::string {
    if (!band) return "-";
    return median ? human_factor(band->median) : to(human_factor(band->p10), human_factor(band->p90));
  };
  write_table(
      out,
      {labels(results),
       column("update", "median", results, [&](const RunResult& r) { return time(r.seeds->update_time.median); }),
       column("update", "10 to 90 %", results,
              [&](const RunResult& r) { return to(time(r.seeds->update_time.p10), time(r.seeds->update_time.p90)); }),
       column("speedup", "median", results, [&](const RunResult& r) { return factors(r.seeds->speedup, true); }),
       column("speedup", "10 to 90 %", results, [&](const RunResult& r) { return factors(r.seeds->speedup, false); }),
       column("same batch", "median", results,
              [&](const RunResult& r) { return factors(r.seeds->speedup_same_batch, true); }),
       column("same batch", "10 to 90 %", results,
              [&](const RunResult& r) { return factors(r.seeds->speedup_same_batch, false); })},
      options);
}

void write_pauses(std::ostream& out, const std::vector<RunResult>& results, const ConsoleOptions& options) {
  Column names{"schedule", "", {}, true}, pauses{"pause", "", {}, true};
  Column every{"every", "updates", {}, false}, lasts{"lasts", "", {}, false},
      delays{"delays the", "updates by", {}, false}, more{"micro-batches", "done meanwhile", {}, false},
      share{"share of", "the time", {}, false};
  for (const RunResult& result : results) {
    for (const PauseResult& pause : result.pauses) {
      names.cells.push_back(Cell{result.label});
      pauses.cells.push_back(Cell{pause.name});
      every.cells.push_back(Cell{human_count(pause.every_updates)});
      lasts.cells.push_back(Cell{human_time(pause.lasts)});
      delays.cells.push_back(Cell{human_time(std::max(Seconds{0}, pause.cost))});
      more.cells.push_back(Cell{human_count(std::max(0.0, pause.micro_batches))});
      share.cells.push_back(Cell{human_percent(pause.cost / (pause.every_updates * result.update_time))});
    }
  }
  if (names.cells.empty()) return;
  out << '\n';
  write_table(out, {names, pauses, every, lasts, delays, more, share}, options);
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
                                     {"played", drawn.played},
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
  std::vector<JsonValue> pauses;
  for (const PauseResult& pause : result.pauses)
    pauses.push_back(json_object({{"name", pause.name},
                                  {"every_updates", pause.every_updates},
                                  {"lasts_s", pause.lasts.value},
                                  {"delays_s", pause.cost.value},
                                  {"micro_batches_meanwhile", pause.micro_batches}}));
  body.set("pauses", std::move(pauses));
}

void write_unsteady(std::ostream& out, const std::vector<RunResult>& results, const ConsoleOptions& options) {
  write_seeds(out, results, options);
  write_drawn(out, results, options);
  write_pauses(out, results, options);
}

std::string band_in_words(const RunResult& result) {
  if (!result.seeds) return {};
  const SeedBand& band = result.seeds->update_time;
  return fmt::format(" (10 to 90 % of {} seeds: {} to {} an update)", result.seeds->seeds,
                     human_time(Seconds{band.p10}), human_time(Seconds{band.p90}));
}

}  // namespace accosim
