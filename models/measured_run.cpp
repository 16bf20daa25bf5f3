// See measured_run.hpp.
#include "models/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/quantity.hpp"
#include "models/scenario.hpp"

namespace accosim {
namespace {

using Json = nlohmann::json;

MeasuredRun run_of(const Json& root) {
  MeasuredRun run;
  run.algorithm = root.at("algorithm").get<std::string>();
  run.ranks = root.at("ranks").get<int>();
  run.parameters = root.at("parameters").get<double>();
  if (const auto network = root.find("network"); network != root.end()) {
    run.network = network->value("kind", "");
    run.rates = network->value("rates_bytes_per_s", std::vector<double>{});
  }
  run.processor_wait_share = root.value("processor_wait_share", 0.0);
  run.left_out = root.value("updates_left_out", 0);
  const Json& options = root.at("options");
  if (options.contains("compute_time_s")) run.compute_time = Seconds{options.at("compute_time_s").get<double>()};
  run.micro_batches_per_round = options.at("micro_batches_per_round").get<int>();
  run.warmup = options.value("warmup_updates", 0);
  if (run.warmup > 0) run.left_out = std::max(run.left_out, run.warmup + 1);
  run.poll_every = options.value("poll_every", 1);
  run.inner_updates = options.value("inner_updates", 1);
  run.sequences = options.value("sequences", 1);
  run.fixed = options.value("accumulate", "") == "fixed";
  run.keep_state = options.value("estimate_state", "") == "keep";
  run.bf16 = options.value("storage", "") == "bf16";
  for (const auto& [rank, factor] : options.at("slow").items()) run.slow[std::stoi(rank)] = factor.get<double>();
  for (const Json& update : root.at("updates"))
    run.updates.push_back({Seconds{update.at("seconds").get<double>()}, update.at("samples").get<double>()});
  for (const Json& span : root.at("spans"))
    run.spans.push_back({span.at("rank").get<int>(), span.at("lane").get<std::string>() == "communication",
                         span.at("label").get<std::string>(), Seconds{span.at("begin_s").get<double>()},
                         Seconds{span.at("end_s").get<double>()}});
  return run;
}

/// Whole outer phases of DiLoCo, each as one; the updates of the others. Without those at the start.
std::vector<MeasuredUpdate> steady(const MeasuredRun& run, std::size_t block) {
  std::vector<MeasuredUpdate> steady;
  const auto out = static_cast<std::size_t>(run.left_out);
  for (std::size_t i = (out + block - 1) / block * block; i + block <= run.updates.size(); i += block) {
    MeasuredUpdate sum;
    for (std::size_t k = i; k < i + block; ++k) {
      sum.duration += run.updates[k].duration;
      sum.samples += run.updates[k].samples;
    }
    steady.push_back(sum);
  }
  return steady;
}

std::size_t block_of(const MeasuredRun& run) {
  return run.algorithm == "diloco" ? static_cast<std::size_t>(run.inner_updates) : 1;
}

}  // namespace

MeasuredRun read_measured_run(const std::string& text, const std::string& name) {
  const auto fail = [&](const std::string& what) {
    return ScenarioError({fmt::format("{}: {}; name a file that accocal train wrote", name, what)});
  };
  const Json root = Json::parse(text, nullptr, false);
  if (!root.is_object() || root.value("schema", Json()) != "accosim.run/1")
    throw fail("is no JSON of schema accosim.run/1");
  MeasuredRun run;
  try {
    run = run_of(root);
  } catch (const std::exception& error) {
    throw fail(std::string("lacks something: ") + error.what());
  }
  const bool possible = run.ranks > 0 && run.parameters >= 1 && run.micro_batches_per_round > 0 && run.left_out >= 0 &&
                        run.inner_updates > 0 && run.sequences > 0 &&
                        (!run.compute_time || run.compute_time->value > 0);
  if (!possible || steady(run, block_of(run)).empty())
    throw fail("holds no steady update of a possible run: give it more --updates");
  return run;
}

Seconds update_time(const MeasuredRun& run) {
  std::vector<double> times;
  const std::size_t block = block_of(run);
  for (const MeasuredUpdate& update : steady(run, block)) times.push_back(update.duration.value);
  std::sort(times.begin(), times.end());
  const std::size_t cut = times.size() / 10;
  double sum = 0;
  for (std::size_t i = cut; i < times.size() - cut; ++i) sum += times[i];
  return Seconds{sum / static_cast<double>(times.size() - 2 * cut) / static_cast<double>(block)};
}

double micro_batches_per_update(const MeasuredRun& run) {
  double sum = 0;
  const std::size_t block = block_of(run);
  const std::vector<MeasuredUpdate> updates = steady(run, block);
  for (const MeasuredUpdate& update : updates) sum += update.samples;
  return sum / static_cast<double>(updates.size() * block) / run.sequences;
}

std::vector<std::string> settings_of(const MeasuredRun& run) {
  const bool halves = run.algorithm == "acco";
  std::vector<std::string> sets = {
      fmt::format("/model/parameters={:.0f}", run.parameters),
      fmt::format("/training/gradient_accumulation_steps={}", (halves ? 2 : 1) * run.micro_batches_per_round)};
  if (run.compute_time)
    sets.push_back("/model/micro_batch_time=" + print_quantity(run.compute_time->value, Dimension::kTime));
  for (const auto& [rank, factor] : run.slow)
    sets.push_back(fmt::format("/cluster/nodes/{}/device/slowdown={}", rank, factor));
  std::string spec = fmt::format(R"("name": "{}")", run.algorithm);
  if (run.algorithm == "ddp") spec += R"(, "overlap": "none", "count_micro_batches": true)";
  if (run.algorithm == "zero1") spec += R"(, "count_micro_batches": true)";
  if (run.algorithm == "dpu" || run.algorithm == "wp")
    spec += fmt::format(R"(, "poll_every": {}, "late_communication": "{}")", run.poll_every,
                        run.fixed ? "wait" : "accumulate");
  if (run.algorithm == "wp" && run.keep_state) spec += R"(, "rollback_estimate": false)";
  if (halves)
    spec += fmt::format(R"(, "poll_every": {}, "late_communication": "{}", "rollback_estimate": {})", run.poll_every,
                        run.fixed ? "wait" : "accumulate", run.keep_state ? "false" : "true");
  if (run.algorithm == "diloco") spec += fmt::format(R"(, "inner_updates": {})", run.inner_updates);
  if (run.bf16) spec += R"(, "parameter_dtype": "bf16")";
  sets.push_back("/schedules=[{" + spec + "}]");
  return sets;
}

}  // namespace accosim
