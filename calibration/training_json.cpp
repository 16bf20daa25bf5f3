// A training run as the documents that others read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/statistics.hpp"
#include "calibration/training.hpp"

namespace accosim {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

const char* lane_name(TrainingSpan::Lane lane) {
  return lane == TrainingSpan::Lane::kCompute ? "compute" : "communication";
}

Json options_json(const TrainingOptions& options) {
  Json json = {{"workload", options.timed ? "timed" : "gpt"},
               {"storage", options.storage == ElementType::kBf16 ? "bf16" : "fp32"},
               {"micro_batches_per_round", options.micro_batches_per_round},
               {"accumulate", options.accumulate == Accumulate::kFixed ? "fixed" : "at-least"},
               {"poll_every", options.poll_every},
               {"warmup_updates", options.warmup_updates},
               {"seed", options.gpt.seed}};
  if (!options.device.empty()) json["device"] = options.device;
  if (options.random_vocabulary > 0) json["random_vocabulary"] = options.random_vocabulary;
  if (options.timed) {
    json["compute_time_s"] = options.compute_time.value;
  } else {
    const GptShape& shape = options.gpt.shape;
    json["layers"] = shape.layers;
    json["width"] = shape.width;
    json["heads"] = shape.heads;
    json["context"] = shape.context;
    json["sequences"] = options.gpt.sequences;
  }
  const OptimizerOptions& optimizer = options.optimizer;
  json["optimizer"] = optimizer.kind == OptimizerKind::kSgd ? "sgd" : "adamw";
  json["learning_rate"] = optimizer.learning_rate;
  json["learning_rate_warmup"] = optimizer.warmup;
  json["learning_rate_schedule"] = optimizer.cosine ? "cosine" : "constant";
  json["schedule_counts"] = options.samples > 0 ? "samples" : "updates";
  if (optimizer.kind == OptimizerKind::kAdamW) {
    json["beta1"] = optimizer.adamw.beta1;
    json["beta2"] = optimizer.adamw.beta2;
    json["epsilon"] = optimizer.adamw.epsilon;
    json["weight_decay"] = optimizer.adamw.weight_decay;
  }
  if (options.algorithm == Algorithm::kAcco || options.algorithm == Algorithm::kWp)
    json["estimate_state"] = name_of(options.estimate_state);
  if (options.algorithm == Algorithm::kAcco)
    json["initial_gradient"] = options.keep_initial_gradient ? "kept" : "dropped";
  if (options.algorithm == Algorithm::kDiloco) {
    json["inner_updates"] = options.inner_updates;
    json["outer_learning_rate"] = options.outer_learning_rate;
    json["outer_momentum"] = options.outer_momentum;
  }
  Json slow = Json::object();
  for (const auto& [rank, factor] : options.slow) slow[std::to_string(rank)] = factor;
  json["slow"] = slow;
  return json;
}

}  // namespace

std::string name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kDdp: return "ddp";
    case Algorithm::kZero1: return "zero1";
    case Algorithm::kDpu: return "dpu";
    case Algorithm::kWp: return "wp";
    case Algorithm::kAcco: return "acco";
    case Algorithm::kDiloco: return "diloco";
  }
  return "";
}

std::string name_of(EstimateState state) {
  switch (state) {
    case EstimateState::kRollback: return "rollback";
    case EstimateState::kKeep: return "keep";
    case EstimateState::kReleased: return "released";
  }
  return "";
}

std::string run_json(const TrainingOptions& options, const TrainingResult& result) {
  Json json = {{"schema", "accosim.run/1"}, {"algorithm", name_of(options.algorithm)}, {"ranks", result.ranks}};
  json["parameters"] = result.parameters;
  if (!result.device.name.empty()) {
    json["device"] = {{"name", result.device.name}, {"memory_bytes", result.device.memory}};
    if (!result.device.experiment.empty()) json["device"]["experiment"] = result.device.experiment;
  }
  json["options"] = options_json(options);
  Json updates = Json::array();
  // The first tenth, at least one, is left out: it holds the start of the pipeline and cold caches.
  const std::size_t skipped = result.updates.size() < 2 ? 0 : std::max<std::size_t>(1, result.updates.size() / 10);
  std::vector<double> steady;
  double seconds = 0;
  std::int64_t samples = 0;
  for (std::size_t i = 0; i < result.updates.size(); ++i) {
    const UpdateRecord& update = result.updates[i];
    updates.push_back({{"seconds", update.duration.value}, {"loss", number(update.loss)}, {"samples", update.samples}});
    if (i < skipped) continue;
    steady.push_back(update.duration.value);
    seconds += update.duration.value;
    samples += update.samples;
  }
  std::sort(steady.begin(), steady.end());
  if (!steady.empty()) {
    json["median_update_s"] = quantile(steady, 0.5);
    json["p10"] = quantile(steady, 0.1);
    json["p90"] = quantile(steady, 0.9);
    json["mean_update_s"] = seconds / static_cast<double>(steady.size());
    json["tokens_per_s"] = static_cast<double>(samples) * result.tokens_per_sample / seconds;
    json["updates_left_out"] = skipped;
  }
  json["processor_wait_share"] = result.processor_wait_share;
  json["held_out_loss"] = number(result.held_out_loss);
  json["updates"] = std::move(updates);
  Json spans = Json::array();
  for (const TrainingSpan& span : result.spans) {
    spans.push_back({{"rank", span.rank},
                     {"lane", lane_name(span.lane)},
                     {"label", span.label},
                     {"begin_s", span.begin.value},
                     {"end_s", span.end.value},
                     {"update", span.update}});
  }
  json["spans"] = std::move(spans);
  return json.dump() + "\n";
}

std::string trace_events_json(const TrainingOptions& options, const TrainingResult& result) {
  Json events = Json::array();
  for (int rank = 0; rank < result.ranks; ++rank) {
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", rank},
                      {"args", {{"name", fmt::format("rank {} ({}, measured)", rank, name_of(options.algorithm))}}}});
    for (const auto lane : {TrainingSpan::Lane::kCompute, TrainingSpan::Lane::kCommunication}) {
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", rank},
                        {"tid", static_cast<int>(lane)},
                        {"args", {{"name", lane_name(lane)}}}});
    }
  }
  for (const TrainingSpan& span : result.spans) {
    events.push_back({{"ph", "X"},
                      {"name", span.label},
                      {"pid", span.rank},
                      {"tid", static_cast<int>(span.lane)},
                      {"ts", span.begin.value * 1e6},
                      {"dur", (span.end - span.begin).value * 1e6},
                      {"args", {{"update", span.update}}}});
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

std::string loss_csv(const TrainingResult& result) {
  std::string text = "update,samples,seconds,loss\n";
  double seconds = 0;
  std::int64_t samples = 0;
  for (std::size_t i = 0; i < result.updates.size(); ++i) {
    seconds += result.updates[i].duration.value;
    samples += result.updates[i].samples;
    text += fmt::format("{},{},{:.6f},{}\n", i + 1, samples, seconds,
                        std::isfinite(result.updates[i].loss) ? fmt::format("{:.6f}", result.updates[i].loss) : "");
  }
  return text;
}

}  // namespace accosim
