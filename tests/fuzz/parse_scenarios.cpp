// Parsers of what a scenario is made of, and what comes out of a small one.
#include <cmath>
#include <sstream>

#include "models/base/csv.hpp"
#include "models/base/json.hpp"
#include "models/base/quantity.hpp"
#include "models/fit/published.hpp"
#include "models/launch/import_launch.hpp"
#include "models/price/kernel.hpp"
#include "models/price/layer_time.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/shipped.hpp"
#include "reports/console.hpp"
#include "reports/explain/explain_text.hpp"
#include "reports/result_json.hpp"
#include "sim/evidence/validate.hpp"
#include "sim/explain/explanation.hpp"
#include "tests/fuzz/parsers.hpp"
#include "tests/support/advised.hpp"
#include "tests/support/printed.hpp"

namespace accosim {
namespace {

void read_json(const std::string& text) {
  const JsonDocument document = parse_json(text, "input");
  for (const std::string& line : document.errors) require_printable(line, "an error");
  if (!document.errors.empty()) return;
  const std::string written = write_json(document.root);
  require_printable(written, "written JSON");
  const JsonDocument again = parse_json(written, "input");
  require(again.errors.empty(), "what was written does not parse: " + written);
  require(write_json(again.root) == written, "what was written is read as something else: " + written);
}

/// What comes out is a scenario, or is refused when it is loaded; what is told of it can be printed.
void read_launch_file(const std::string& text, const char* file) {
  const ImportedLaunch launch = import_launch(text, file, {"dgx-h100-4x8"});
  for (const auto& list : {launch.taken, launch.without_effect, launch.not_modelled, launch.not_known})
    for (const std::string& line : list) require_printable(line, "what is told of a launch script");
  load_scenario(scratch_file("launched.json", write_json(launch.scenario)), {});
}

void read_launch(const std::string& text) { read_launch_file(text, "train.sh"); }
void read_launch_yaml(const std::string& text) { read_launch_file(text, "train.yaml"); }
void read_launch_toml(const std::string& text) { read_launch_file(text, "train.toml"); }

void read_pointer(const std::string& text) {
  const std::optional<std::vector<std::string>> keys = pointer_keys(text);
  if (!keys) return;
  std::string pointer;
  for (const std::string& key : *keys) pointer += pointer_part(key);
  const std::optional<std::vector<std::string>> again = pointer_keys(pointer);
  require(again && *again == *keys, "the keys of a pointer make another pointer: " + text);
  static const JsonDocument kTree = parse_json(R"({"a": [1, {"b/c": 2, "~": 3}], "": 4})", "tree");
  at_pointer(kTree.root, text);
}

void read_quantity(const std::string& text) {
  for (const Dimension dimension :
       {Dimension::kTime, Dimension::kData, Dimension::kBandwidth, Dimension::kCompute, Dimension::kPower}) {
    const ParsedQuantity quantity = parse_quantity(text, dimension);
    require_printable(quantity.error, "an error");
    if (!quantity.error.empty()) continue;
    require(std::isfinite(quantity.value) && quantity.value >= 0, "neither finite nor an error");
    const std::string written = print_quantity(quantity.value, dimension);
    const ParsedQuantity again = parse_quantity(written, dimension);
    require(again.error.empty() && again.value == quantity.value, "is written as something else: " + written);
  }
}

void read_table(const std::string& text) {
  Diagnostics diagnostics;
  const CsvTable table = parse_csv(text, "input", diagnostics);
  for (const std::string& line : diagnostics.errors) require_printable(line, "an error");
  if (!diagnostics.errors.empty()) return;
  for (const CsvRow& row : table.rows) {
    require(row.cells.size() == table.columns.size(), "a row of another width than the heading");
    CsvRowReader reader(table, row, diagnostics);
    for (const std::string& column : table.columns) {
      reader.text(column, std::string());
      reader.number(column, Range{0, 1e18});
    }
  }
  for (const std::string& line : diagnostics.errors) require_printable(line, "an error");
}

/// Whether it can be played within some milliseconds.
bool is_small(const Scenario& scenario) {
  double gpus = 0;
  for (const NodeGroup& group : scenario.cluster.nodes) gpus += 1.0 * group.count * group.gpus;
  return gpus <= 32 && scenario.training.gradient_accumulation_steps <= 32 && scenario.model.num_hidden_layers <= 32 &&
         scenario.schedules.size() <= 8;
}

void play(const LoadedScenario& loaded) {
  const Scenario& scenario = loaded.scenario;
  std::vector<RunResult> results;
  for (const ScheduleSpec& spec : scenario.schedules) {
    if (spec.bucket_cap > Bytes{0} && spec.bucket_cap < Bytes{1e6}) return;
    const SteadyPlay played =
        play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, NetworkKind::kReference);
    require_printable(on_terminal(explanations_document({explain(spec, played)})), "an explanation");
    const RunResult result = advised(loaded, results.size(), NetworkKind::kReference);
    const double time = result.update_time.value;
    require(std::isfinite(time) && time > 0, "an update takes " + std::to_string(time) + " s");
    require(result.update_time_low <= result.update_time && result.update_time <= result.update_time_high,
            "an interval that the prediction is not in");
    require_printable(on_terminal(run_document(scenario, result, standing_of(contenders_of({result}, ""), {}))),
                      "a page");
    results.push_back(result);
  }
  std::ostringstream json;
  const Standing standing = standing_of(contenders_of(results, scenario.baseline), {});
  write_results_json(json, scenario, "reference", {results, standing});
  const JsonDocument document = parse_json(json.str(), "result");
  require(document.errors.empty(), "the result is no JSON");
  require_printable(on_terminal(comparison_document(scenario, {results, standing})), "a page");
}

void read_scenario_file(const std::string& text) {
  const LoadedScenario loaded = load_scenario(scratch_file("paper/input.json", text), {});
  require_printable(loaded.resolved(), "a resolved scenario");
  std::string again;
  try {
    again = load_scenario(scratch_file("paper/input.json", loaded.resolved()), {}).resolved();
  } catch (const ScenarioError& error) {
    require(false, std::string("what was resolved does not load: ") + error.what());
  }
  require(again == loaded.resolved(), "what was resolved is resolved to something else");
  if (is_one_in(8, text) && is_small(loaded.scenario)) play(loaded);
}

/// Each line a setting.
void read_settings(const std::string& text) {
  std::vector<std::string> settings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && settings.size() < 20;) settings.push_back(line);
  const LoadedScenario loaded = load_scenario(data_dir() + "/scenarios/paper/finetune_2x4_a100.json", settings);
  if (is_one_in(8, text) && is_small(loaded.scenario)) play(loaded);
}

void read_config(const std::string& text) {
  const Model model = load_model(scratch_file("paper/input.json", text));
  require(parameter_count(model) > 0, "a model without parameters");
}

void read_cluster_file(const std::string& text) {
  const Cluster cluster = load_cluster(scratch_file("paper/input.json", text));
  require(!cluster.nodes.empty(), "a cluster without nodes");
}

void read_device_file(const std::string& text) {
  const Device device = load_device(scratch_file("paper/input.json", text));
  const double time = adamw_time(1e6, Dtype::kBf16, Dtype::kBf16, device).value;
  require(std::isfinite(time) && time > 0, "a device whose optimizer takes no time");
}

void read_published(const std::string& text) {
  scratch_file("validation/input.json", text);
  static const std::string kFolder =
      scratch_file("validation/none.txt", "").substr(0, scratch_file("validation/none.txt", "").rfind('/'));
  const Published published = load_published(kFolder);
  int asked = 0;
  for (const PublishedCase& one : published.cases) {
    if (!one.not_expressible.empty() || ++asked > 100) continue;
    double time = 1;
    if (one.asked == Asked::kCollectiveTime) time = collective_time(one.collective).value;
    if (one.asked == Asked::kKernelTime)
      time = kernel_time(one.kernel.kernel, *one.kernel.device, one.kernel.dtype).value;
    require(std::isfinite(time) && time > 0, "a case takes " + std::to_string(time) + " s: " + one.id);
    require(std::isfinite(one.measured) && one.measured > 0, "measured nothing: " + one.id);
  }
}

void read_bounds(const std::string& text) { load_bounds(scratch_file("bounds.json", text)); }

}  // namespace

std::vector<Parser> scenario_parsers() {
  return {{"json", InputForm::kJson, read_json},
          {"pointer", InputForm::kText, read_pointer},
          {"quantity", InputForm::kText, read_quantity},
          {"csv", InputForm::kTable, read_table},
          {"scenario", InputForm::kJson, read_scenario_file},
          {"launch", InputForm::kText, read_launch},
          {"launch-yaml", InputForm::kText, read_launch_yaml},
          {"launch-toml", InputForm::kText, read_launch_toml},
          {"settings", InputForm::kText, read_settings},
          {"model", InputForm::kJson, read_config},
          {"cluster", InputForm::kJson, read_cluster_file},
          {"device", InputForm::kJson, read_device_file},
          {"published", InputForm::kJson, read_published},
          {"bounds", InputForm::kJson, read_bounds}};
}

}  // namespace accosim
