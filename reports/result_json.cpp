#include "reports/result_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

#include "build_info/project.hpp"
#include "reports/fair_text.hpp"
#include "reports/unsteady.hpp"
#include "sim/result/metric_table.hpp"

namespace accosim {
namespace {

JsonValue kinds_of(const std::vector<KindMemory>& kinds) {
  return mapped<JsonValue>(kinds, [](const KindMemory& kind) {
    JsonValue one = json_object({{"device", kind.device},
                                 {"ranks", kind.ranks},
                                 {"memory_resident_bytes", kind.parts.total().value},
                                 {"memory_capacity_bytes", kind.capacity.value},
                                 {"fit_verdict", name_of(kind.fit.verdict)},
                                 {"fit_probability", kind.fit.probability}});
    if (!kind.stages.empty()) one.set("stages", kind.stages);
    return one;
  });
}

JsonValue list_of(const std::vector<WayToFit>& ways) {
  return mapped<JsonValue>(ways, [](const WayToFit& way) {
    return json_object({{"what", way.change},
                        {"set", way.set},
                        {"memory_bytes", way.memory.value},
                        {"saves_bytes", way.saves.value},
                        {"time_ratio", way.time_ratio},
                        {"fits", way.fits()},
                        {"fit_verdict", name_of(way.fit.verdict)},
                        {"fit_probability", way.fit.probability}});
  });
}

/// KEY_low and KEY_high: null where there is no interval.
void set_interval(JsonValue& body, const std::string& key, const std::optional<Interval>& interval) {
  body.set(key + "_low", interval ? JsonValue(interval->low) : JsonValue());
  body.set(key + "_high", interval ? JsonValue(interval->high) : JsonValue());
}

void set_time_to_loss(JsonValue& body, const TimeToLoss& to_loss) {
  body.set("samples_to_loss", to_loss.samples);
  body.set("loss_reached", to_loss.reached);
  body.set("speedup_to_loss", to_loss.speedup);
  body.set("speedup_to_loss_low", to_loss.reached ? JsonValue(to_loss.speedup_low) : JsonValue());
  body.set("speedup_to_loss_high", to_loss.speedup_high);
}

void set_fit(JsonValue& body, const RunResult& result) {
  body.set("fits", result.fits());
  body.set("fit_verdict", name_of(result.fit.verdict));
  body.set("fit_probability", result.fit.probability);
  body.set("memory_by_kind", kinds_of(result.memory_by_kind));
  JsonValue& parts = body.set("memory_parts_bytes", json_object({}));
  for (const MemoryPart& part : result.memory_parts.parts) parts.set(name_of(part.use), part.bytes.value);
  const WaysToFit& ways = result.ways_to_fit;
  body.set("largest_micro_batch_size",
           ways.largest_micro_batch > 0 ? JsonValue(ways.largest_micro_batch) : JsonValue());
  body.set("ways_to_fit", list_of(ways.alone));
  body.set("ways_to_fit_together", list_of(ways.together));
}

JsonValue steady_json(const SteadyState& steady) {
  const bool repeats = steady.repeats_after > 0;
  return json_object({{"updates_played", steady.played},
                      {"repeats_after_updates", repeats ? JsonValue(steady.repeats_after) : JsonValue()},
                      {"updates_averaged", steady.averaged},
                      {"halves_differ", repeats ? JsonValue() : JsonValue(steady.halves_differ)}});
}

/// A number, true or false, or null where it is not known.
JsonValue json_of(const Metric& metric, const Metrics& all) {
  const std::optional<double> value = metric.figure.of(all);
  if (metric.format == Format::kYesNo && value) return *value != 0;
  return value;
}

/// What is no metric, or is not known of every play, before the metric that it has always stood before.
void set_before(JsonValue& body, std::string_view key, const RunResult& result) {
  if (key == "speedup" && !result.currency.empty()) body.set("currency", result.currency);
  if (key == "speedup" && result.drawn) body.set("tokens_padded_per_s", result.tokens_padded_per_second);
  if (key == "published_speedup" && result.speedup) {
    set_interval(body, "speedup", result.speedup_interval);
    set_interval(body, "speedup_same_batch", result.speedup_same_batch_interval);
    set_interval(body, "speedup_over_best_synchronous", result.over_best_synchronous_interval);
  }
  if (key == "published_speedup" && result.to_loss) set_time_to_loss(body, *result.to_loss);
  if (key == "samples_per_update") body.set("statistics", name_of(result.statistics));
}

/// All of a result but its ranks.
JsonValue body_of(const RunResult& result) {
  JsonValue body = json_object({{"schedule", result.schedule}, {"label", result.label}});
  for (const Metric& metric : metrics()) {
    if (!metric.in_json) continue;
    set_before(body, metric.key, result);
    body.set(metric.key, json_of(metric, result));
    const bool speedup = metric.format == Format::kFactor;  // those stand together, before what was published
    if (metric.interval.of != nullptr && !speedup) set_interval(body, metric.key, metric.interval.of(result));
  }
  body.set("steady", steady_json(result.steady));
  set_unsteady(body, result);
  set_fit(body, result);
  body.set("warnings", mapped<JsonValue>(result.warnings, [](const Warning& warning) {
             return json_object({{"code", warning.code}, {"message", warning.message}, {"advice", warning.advice}});
           }));
  return body;
}

/// `value` over several lines, each after the first behind `indent`. No string of JSON holds a line's end, so every one
/// in the text is layout.
std::string indented(const JsonValue& value, const std::string& indent) {
  std::string text;
  for (const char c : dump_json(value, 2)) {
    text += c;
    if (c == '\n') text += indent;
  }
  return text;
}

/// What each of the ranks does, to follow who they are in an object.
std::string figures_of(const RankResult& alike) {
  return fmt::format(R"("device": {}, "micro_batches_per_round": {{"mean": {}, "least": {}, "most": {}}}, )"
                     R"("micro_batches_per_update": {}, "idle_fraction": {}}})",
                     quoted_json(alike.device), digits_json(alike.micro_batches_per_round),
                     alike.micro_batches_per_round_min, alike.micro_batches_per_round_max,
                     digits_json(alike.micro_batches_per_update), digits_json(alike.idle_fraction));
}

/// A list, a line an item.
template <typename WriteItems>
void write_list(std::ostream& out, const char* name, const WriteItems& write_items) {
  out << ",\n      \"" << name << "\": [";
  bool any = false;
  write_items([&](const std::string& item) {
    out << (any ? ",\n        " : "\n        ") << item;
    any = true;
  });
  out << (any ? "\n      ]" : "]");
}

/// Each rank by itself, in order.
void write_ranks(std::ostream& out, const Scenario& scenario, const RunResult& result) {
  const std::vector<Place> places = places_of(scenario.cluster);
  std::vector<std::pair<RankRange, std::size_t>> ranges;
  std::vector<std::string> figures;
  for (const RankResult& alike : result.ranks) {
    for (const RankRange& range : alike.ranks) ranges.emplace_back(range, figures.size());
    figures.push_back(figures_of(alike));
  }
  std::ranges::sort(ranges, [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
  write_list(out, "ranks", [&](const auto& item) {
    for (const auto& [range, of] : ranges)
      for (int rank = range.first; rank <= range.last; ++rank)
        item(fmt::format(R"({{"rank": {}, "node": {}, )", rank, places.at(rank).node) + figures[of]);
  });
}

void write_result(std::ostream& out, const Scenario& scenario, const RunResult& result, bool all_ranks) {
  std::string body = indented(body_of(result), "    ");
  body.resize(body.find_last_of('}'));  // the ranks go in before the closing brace
  body.erase(body.find_last_not_of(" \n") + 1);
  out << "    " << body;
  write_list(out, "rank_classes", [&](const auto& item) {
    for (const RankResult& alike : result.ranks)
      item(fmt::format(R"({{"ranks": {}, "count": {}, )", quoted_json(in_words(alike.ranks)), alike.count()) +
           figures_of(alike));
  });
  if (all_ranks) write_ranks(out, scenario, result);
  out << "\n    }";
}

/// Who wins, or comes nearest to it, and who is faster, `times` as fast, with the figures that are held against each.
JsonValue answer_json(const std::vector<RunResult>& results, const Standing& standing) {
  const auto one = [&](const std::optional<std::size_t>& i) {
    if (!i) return JsonValue();
    return json_object(
        {{"label", results[*i].label}, {"times", standing.times[*i]}, {"caveats", caveats_json(standing.caveats[*i])}});
  };
  return json_object({{"batch_growth", standing.rule.batch_growth},
                      {"fit_probability", standing.rule.fit_probability},
                      {"winner", one(standing.winner)},
                      {"nearest", one(standing.nearest)},
                      {"cannot_be_told_from_winner", one(standing.alike)},
                      {"faster", mapped<JsonValue>(standing.faster, one)}});
}

/// "entry" is null where it repeats a schedule of the scenario's.
JsonValue added_json(const AddedSchedule& added) {
  return json_object({{"label", added.label}, {"form", added.name()}, {"entry", added.entry}, {"set", added.set}});
}

}  // namespace

void write_results_json(std::ostream& out, const Scenario& scenario, const std::string& network,
                        const Comparison& comparison, bool all_ranks, const JsonValue& settings) {
  const auto& [results, standing, fair, tuned] = comparison;
  const auto member = [&](const char* key, const std::string& text) { out << ",\n  \"" << key << "\": " << text; };
  const auto document = [&](const char* key, const JsonValue& value) { member(key, indented(value, "  ")); };
  out << "{\n  \"schema\": \"accosim.result/2\"";
  member("version", quoted_json(kVersion));
  member("sets", dump_json(scenario.sets));
  member("scenario", quoted_json(scenario.name));
  member("network", quoted_json(network));
  member("model", fmt::format(R"({{"name": {}, "parameters": {}}})", quoted_json(scenario.model.name),
                              parameter_count(scenario.model)));
  member("gpus", fmt::format("{:.0f}", gpu_count(scenario.cluster)));
  member("baseline", scenario.baseline.empty() ? "null" : quoted_json(scenario.baseline));
  if (settings.kind != JsonKind::kNull) member("settings", dump_json(settings));
  member("results", "[");
  const char* separator = "\n";
  for (const RunResult& result : results) {
    out << separator;
    write_result(out, scenario, result, all_ranks);
    separator = ",\n";
  }
  out << (results.empty() ? "]" : "\n  ]");
  if (tuned.synchronous) document("best_synchronous", added_json(*tuned.synchronous));
  if (tuned.delayed) document("best_delayed", added_json(*tuned.delayed));
  if (const std::optional<Elsewhere>& other = tuned.elsewhere) {
    JsonValue elsewhere = added_json(other->added);
    elsewhere.set("framework", other->framework);
    elsewhere.set("times_as_fast", other->times);
    document("elsewhere", elsewhere);
  }
  if (const std::optional<Beyond>& beyond = tuned.beyond)
    document("beyond", json_object({{"set", beyond->set}, {"times_as_fast", beyond->times}}));
  if (!fair.baselines.empty()) {
    document("fair_baselines", fair_baselines_json(fair));
    document("fair_gains", fair_gains_json(fair));
  }
  if (fair.adding) document("adding", adding_json(fair.adding));
  if (!fair.words.empty()) document("fair_words", fair.words);
  if (standing.best()) document("answer", answer_json(results, standing));
  out << "\n}\n";
}

}  // namespace accosim
