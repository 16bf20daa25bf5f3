// The document's parts; the spans, which are many, are written by page_timelines.cpp as they are.
#include "reports/page.hpp"

#include <fmt/format.h>

#include <ostream>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "build_info/project.hpp"
#include "models/spec/parallel_words.hpp"
#include "reports/console_rows.hpp"
#include "reports/human.hpp"
#include "reports/ladder_text.hpp"
#include "reports/page_files.hpp"
#include "reports/result_json.hpp"
#include "sim/explain/memory_bars.hpp"
#include "sim/result/metric_table.hpp"

namespace accosim {
namespace {

JsonValue breakdown_json(const UpdateBreakdown& breakdown) {
  std::vector<JsonValue> uses;
  for (std::size_t use = 0; use < breakdown.parts.size(); ++use)
    if (breakdown.parts[use] > 1e-6 * breakdown.update_time)  // what rounding leaves is nothing
      uses.push_back(json_object({{"name", name_of(static_cast<TimeUse>(use))}, {"s", breakdown.parts[use].value}}));
  return json_object(
      {{"label", breakdown.label}, {"update_s", breakdown.update_time.value}, {"uses", std::move(uses)}});
}

constexpr double kGiga = 1e9;

/// "81 measured kernels, typical error 5.1 %"; of a relative where they were measured on one.
std::string in_words(const FitQuality& quality) {
  std::string text = quality.samples > 0 ? fmt::format("{} measured kernels", quality.samples) : "measured kernels";
  if (quality.inherited) text += " of a relative of the device";
  if (quality.other_generation) text += " of another generation";
  return fmt::format("{}, typical error {}", text, human_percent(quality.spread));
}

std::string known(const Device& device, Dtype dtype) {
  const auto& fit = device.gemm[static_cast<std::size_t>(dtype)];
  std::string text = fit ? "matrix products: fitted to " + in_words(fit->quality)
                         : std::string("matrix products: a share of the peak that the profile gives, not fitted");
  if (device.attention) text += "; fused attention: fitted to " + in_words(device.attention->quality);
  if (!device.kernels->empty()) text += "; kernels that accocal measured on it";
  return text;
}

std::string known(const LinkQuality& quality) {
  return fmt::format("typical error of collectives {} from 1 MiB, {} below", human_percent(quality.spread),
                     human_percent(quality.spread_small));
}

std::string figures(const Device& device, Dtype dtype) {
  const auto& peak = device.peak[static_cast<std::size_t>(dtype)];
  return fmt::format("{}{} at {} of memory",
                     peak ? fmt::format("{}/s {}, ", human_flops(Flops{peak->value}), name_of(dtype)) : "",
                     human_memory(device.memory), human_rate(device.memory_bandwidth));
}

/// The member "ground", what a prediction rests on, in words: the devices and links that were priced, and how well each
/// is known. A list of {"what", "name", "figures", "known"}: one a device and a kind of links.
JsonValue ground_json(const Scenario& scenario) {
  std::vector<JsonValue> rows;
  std::set<std::string> seen;
  const auto add = [&](const char* what, const std::string& name, const std::string& figures,
                       const std::string& known) {
    JsonValue row = json_object({{"what", what}, {"name", name}, {"figures", figures}, {"known", known}});
    if (seen.insert(dump_json(row)).second) rows.push_back(std::move(row));
  };
  const std::vector<NodeGroup>& groups = scenario.cluster.nodes;
  for (const NodeGroup& group : groups)
    for (const Device& device : group.devices)
      add("GPU", device_name(scenario.cluster, device), figures(device, group.precision),
          known(device, group.precision));
  const int nodes = sum_of<int>(groups, &NodeGroup::count);
  for (const NodeGroup& group : groups)
    if (group.gpus > 1)
      add("links in a node", group.intra.kind, human_rate(group.intra.bandwidth) + " a GPU and direction",
          known(group.intra.quality));
  for (const NodeGroup& group : groups)
    if (nodes > 1)
      add("links between nodes", group.nics.kind,
          fmt::format("{} x {:.4g} Gbit/s a node and direction", group.nics.count,
                      8 * group.nics.bandwidth.value / kGiga),
          known(group.nics.quality));
  if (nodes > 1 && (scenario.cluster.fabric.oversubscription > 1 || scenario.cluster.fabric.latency.value > 0))
    add("fabric", "",
        fmt::format("oversubscribed {:.3g} to 1, {} of wire", scenario.cluster.fabric.oversubscription,
                    human_time(scenario.cluster.fabric.latency)),
        "as the scenario says");
  if (scenario.cluster.fabric.between_groups)
    add("links between sites", "",
        fmt::format("{:.4g} Gbit/s, {} one way", 8 * scenario.cluster.fabric.between_groups->bandwidth.value / kGiga,
                    human_time(scenario.cluster.fabric.between_groups->latency)),
        "as the scenario says");
  return rows;
}

JsonValue errors_json(const std::vector<KnownError>& errors) {
  return mapped<JsonValue>(errors, [](const KnownError& error) {
    return json_object({{"group", error.group},
                        {"device", error.device},
                        {"cases", error.cases},
                        {"without_source", error.without_source},
                        {"fitted", error.fitted}});
  });
}

/// What each kind of rank holds, under the names that a result's own memory has.
JsonValue memory_json(const std::vector<RunResult>& results) {
  std::vector<JsonValue> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::vector<MemoryBar> bars = memory_bars({results[i]});
    for (const MemoryBar& bar : bars) {
      JsonValue parts = json_object({});
      for (const MemoryPart& part : bar.parts.parts) parts.set(name_of(part.use), part.bytes.value);
      const std::string kind = !bar.stages.empty() ? stages_in_words(bar.stages) : bars.size() > 1 ? bar.device : "";
      all.push_back(json_object({{"schedule", static_cast<int>(i)},
                                 {"label", kind.empty() ? bar.label : fmt::format("{}, {}", kind, bar.label)},
                                 {"memory_parts_bytes", std::move(parts)},
                                 {"memory_resident_bytes_low", bar.low.value},
                                 {"memory_resident_bytes_high", bar.high.value},
                                 {"memory_capacity_bytes", bar.capacity.value}}));
    }
  }
  return all;
}

JsonValue run_json(const PageRun& run) {
  JsonValue parts = mapped<JsonValue>(run.parts, [](const TimelinePart& part) {
    return json_object({{"name", part.name},
                        {"measured_count", part.measured_count},
                        {"measured_s", part.measured.value},
                        {"predicted_count", part.predicted_count},
                        {"predicted_s", part.predicted.value}});
  });
  return json_object({{"file", run.file},
                      {"measured_s", run.measured.value},
                      {"predicted_s", run.predicted.value},
                      {"measured_micro_batches", run.measured_micro_batches},
                      {"predicted_micro_batches", run.predicted_micro_batches},
                      {"parts", std::move(parts)}});
}

/// What the page has to know of the metrics that it shows, in its order.
JsonValue metrics_json() {
  return mapped<JsonValue>(metrics_by(&Metric::page), [](const Metric* metric) {
    return json_object({{"key", metric->key},
                        {"format", name_of(metric->format)},
                        {"name", metric->page.name},
                        {"meaning", metric->page.says}});
  });
}

JsonValue words_json(const Scenario& scenario, const Page& page) {
  JsonValue facts = mapped<JsonValue>(scenario_facts(scenario), [](const ScenarioFact& fact) {
    return json_object({{"name", fact.name}, {"text", fact.text}});
  });
  return json_object({{"question", question_in_words(scenario, page.results)},
                      {"answer", answer_in_words(scenario, page)},
                      {"description", scenario.description},
                      {"facts", std::move(facts)}});
}

/// What a script element may hold: `<` and the two ends of a line that JSON allows in its texts and JavaScript does
/// not, as escapes, which say the same in JSON. They occur nowhere but in texts.
std::string safe_in_script(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view next = json.substr(i, 3);
    if (json[i] == '<') {
      safe += "\\u003c";
    } else if (next == "\xe2\x80\xa8" || next == "\xe2\x80\xa9") {
      safe += next == "\xe2\x80\xa8" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += json[i];
    }
  }
  return safe;
}

}  // namespace

void write_page_json(std::ostream& out, const Scenario& scenario, const Page& page) {
  std::ostringstream text;
  const auto member = [&](const char* key, const JsonValue& value) {
    text << ",\n\"" << key << "\": " << dump_json(value);
  };
  text << "{\"schema\": \"accosim.page/1\"";
  member("version", kVersion);
  member("command", page.command);
  member("words", words_json(scenario, page));
  member("metrics", metrics_json());
  member("breakdown", mapped<JsonValue>(page.breakdowns, breakdown_json));
  member("ground", ground_json(scenario));
  member("errors", errors_json(page.errors));
  member("run", page.run ? run_json(*page.run) : JsonValue());
  if (page.ladder) {
    JsonValue ladder = ladder_json(*page.ladder);
    ladder.set("words", ladder_in_words(*page.ladder));
    member("ladder", ladder);
  }
  member("memory", memory_json(page.results));
  text << ",\n\"pipelines\": ";
  write_page_pipelines(text, page.pipelines);
  text << ",\n\"timelines\": ";
  write_page_timelines(text, page.timelines);
  text << ",\n\"result\": ";
  write_results_json(text, scenario, page.network, page);
  text << "}\n";
  out << safe_in_script(text.str());
}

void write_page_around(std::ostream& out, const std::string& document) {
  for (const std::string_view part : kPageBefore) out << part;
  out << safe_in_script(document) << '\n';
  for (const std::string_view part : kPageAfter) out << part;
}

void write_page(std::ostream& out, const Scenario& scenario, const Page& page) {
  for (const std::string_view part : kPageBefore) out << part;
  write_page_json(out, scenario, page);
  for (const std::string_view part : kPageAfter) out << part;
}

OutputKind page_kind() {
  return {"a report is a page, HTML", ".html", "<!doctype html>",
          R"(<meta name="generator" content="accosim report">)"};
}

}  // namespace accosim
