// A case is a scenario as a user would write it, so what is held against the measurement is what a user of the fitted
// profile is told.
#include "models/fit/gpu_cases.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "models/base/quantity.hpp"
#include "models/base/text.hpp"
#include "models/fit/document.hpp"
#include "models/fit/fit_gpu.hpp"
#include "models/price/layers.hpp"
#include "models/read/hf_config.hpp"
#include "models/read/overrides.hpp"
#include "models/read/read_scenario.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

/// The schedule that the algorithm is; a micro-batch or an optimizer alone is that of any.
JsonValue schedule_of(const GpuStepSample& step) {
  const ScheduleTraits& traits = step.algorithm.empty() ? plain_sharded_schedule() : traits_of(step.algorithm);
  JsonValue schedule = own_schedule(traits);
  if (traits.takes("late_communication")) schedule.set("late_communication", "wait");
  return schedule;
}

/// Without the device, whose own text has places of its own.
JsonValue scenario_document(const GpuStepSample& step) {
  JsonValue model = accocal_config({step.layers, step.width, step.heads, step.context, step.vocabulary});
  model.set("name", step.model);
  const JsonValue node = json_object({{"gpus", 1}});
  const JsonValue cluster =
      json_object({{"schema", "accosim.cluster/1"}, {"name", "one GPU"}, {"nodes", std::vector<JsonValue>{node}}});
  const JsonValue training = json_object({{"sequence_length", step.context},
                                          {"micro_batch_size", step.sequences},
                                          {"gradient_accumulation_steps", step.micro_batches},
                                          {"train_tokens", 1e9},
                                          {"precision", name_of(step.storage)},
                                          {"implementation", name_of(Implementation::kAccocal)}});
  return json_object({{"schema", "accosim.scenario/1"},
                      {"name", "measured by us"},
                      {"model", model},
                      {"cluster", cluster},
                      {"training", training},
                      {"schedules", std::vector<JsonValue>{schedule_of(step)}}});
}

std::shared_ptr<const Scenario> scenario_of(const GpuStepSample& step, const std::string& profile,
                                            const std::string& key) {
  JsonDocument device = parse_json(profile, key);
  JsonValue document = scenario_document(step);
  give_origin(document, origin_named(key));
  document.find("cluster")->find("nodes")->elements.front().set("device", std::move(device.root));
  Diagnostics diagnostics;
  Scenario scenario = read_scenario(document, key, diagnostics);
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return std::make_shared<const Scenario>(std::move(scenario));
}

/// What is asked of the time of a part of a step, and of its memory.
std::pair<Asked, Asked> asked_of(const GpuStepSample& step) {
  if (step.part == "micro_batch") return {Asked::kMicroBatchTime, Asked::kMemoryMicroBatch};
  if (step.part == "optimizer") return {Asked::kOptimizerTime, Asked::kMemoryOptimizer};
  return {Asked::kStepTime, Asked::kMemoryInUse};
}

/// "345 TFLOP/s": what the model needs of a micro-batch over its time; of an optimizer its bytes.
std::string achieved(const GpuStepSample& step, const Scenario& scenario) {
  if (step.part == "optimizer") {
    const Bytes bytes = bytes_of(StepKernel::kAdamw, step.parameters, bytes_of(step.storage));
    return fmt::format("{:.0f} GB/s", 1e-9 * (bytes / step.time.mean()).value);
  }
  Workload workload{step.sequences, step.context, step.storage, step.storage, step.storage, Attention::kNaive};
  workload.implementation = Implementation::kAccocal;
  const Flops needed = step.micro_batches * model_flops(scenario.model, workload);
  return fmt::format("{:.1f} TFLOP/s", 1e-12 * (needed / step.time.mean()).value);
}

std::string id_of(const GpuStepSample& step) {
  const std::string algorithm =
      step.algorithm.empty() ? "" : fmt::format(" {} of {}", step.algorithm, step.micro_batches);
  return fmt::format("{} {}x{} {}{}, {} words", step.model, step.sequences, step.context, step.part, algorithm,
                     step.vocabulary);
}

std::string configuration_of(const GpuStepSample& step, const std::string& device) {
  std::string what = step.part == "optimizer" ? "AdamW" : "forward and backward";
  if (step.part == "update") what = fmt::format("{} micro-batches under {}", step.micro_batches, step.algorithm);
  return fmt::format("{}, {}, {}, {} x {} tokens, vocabulary {}, {}", step.model, device, what, step.sequences,
                     step.context, step.vocabulary, name_of(step.storage));
}

void check_parameters(const GpuStepSample& step, const Scenario& scenario, const std::string& key) {
  const double expected = static_cast<double>(parameter_count(scenario.model));
  if (expected == step.parameters) return;
  throw ScenarioError({fmt::format("{}: {} says {:.0f} parameters, and its sizes give {:.0f}", key,
                                   in_quotes(step.model), step.parameters, expected)});
}

}  // namespace

void add_gpu_cases(Published& published, const GpuSamples& samples, const std::string& key, const std::string& url,
                   const std::string& profile) {
  if (samples.steps.empty()) return;
  const bool known = !profile.empty() || known_gpu(samples.device);
  const GpuFit fit = known ? fit_gpu(samples, profile, CrossValidation::kNo) : GpuFit{};
  const std::string title = fmt::format("accocal measure on {}, {}", samples.device, samples.date);
  published.sources.push_back({key, key, title, url, samples.commit, "", "", {}});
  std::set<std::string> ids;
  for (const GpuStepSample& step : samples.steps) {
    PublishedCase one;
    const std::string id = id_of(step);
    one.id = key + "/" + id;
    for (int again = 2; !ids.insert(one.id).second; ++again) one.id = fmt::format("{}/{} {}", key, id, again);
    one.group = kMeasuredGroup;
    one.source = key;
    one.url = url;
    one.device = known ? fit.part : samples.device;
    one.own_machine = true;
    if (!known) {
      one.configuration = configuration_of(step, samples.device);
      one.published = print_quantity(step.time.mean().value, Dimension::kTime);
      one.not_expressible =
          fmt::format("no shipped profile is of {}; name the nearest part or a file with --profile", samples.device);
      published.cases.push_back(std::move(one));
      continue;
    }
    one.scenario = scenario_of(step, fit.profile, key);
    check_parameters(step, *one.scenario, key);
    one.published = achieved(step, *one.scenario);
    one.configuration = configuration_of(step, one.device) + ", at " + one.published;
    one.asked = asked_of(step).first;
    one.measured = step.time.mean().value;
    published.cases.push_back(one);
    if (!(step.memory > Bytes{0})) continue;
    one.id += " memory";
    one.group = kMeasuredMemoryGroup;
    one.asked = asked_of(step).second;
    one.measured = step.memory.value;
    one.published = print_quantity(step.memory.value, Dimension::kData);
    one.configuration = configuration_of(step, one.device);
    published.cases.push_back(std::move(one));
  }
}

int add_gpu_cases(Published& published, const std::string& directory, const std::string& profile) {
  const std::size_t before = published.cases.size();
  std::error_code error;
  for (const std::string& file : json_files_in(directory, error)) {
    const fs::path path = file;
    std::string text;
    const std::string wrong = read_text_file(path.string(), text, kMaxMeasuredBytes);
    if (!wrong.empty()) throw ScenarioError({fmt::format("{}: {}", path.string(), wrong)});
    if (!is_gpu_samples(text)) continue;
    const std::string shown =
        path.lexically_normal().lexically_proximate(fs::path(data_dir()).lexically_normal()).string();
    add_gpu_cases(published, read_gpu_samples(text, path.string()), path.stem().string(), shown, profile);
  }
  return static_cast<int>(published.cases.size() - before);
}

}  // namespace accosim
