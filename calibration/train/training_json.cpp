// A training run as the documents that others read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/base/names.hpp"
#include "calibration/train/training.hpp"
#include "models/base/json.hpp"
#include "models/base/statistics.hpp"

namespace accocal {
namespace {

const char* lane_name(TrainingSpan::Lane lane) {
  return lane == TrainingSpan::Lane::kCompute ? "compute" : "communication";
}

JsonValue options_json(const TrainingOptions& options) {
  JsonValue json = json_object({{"workload", options.timed ? "timed" : "gpt"},
                                {"storage", options.storage == ElementType::kBf16 ? "bf16" : "fp32"},
                                {"micro_batches_per_round", options.micro_batches_per_round},
                                {"accumulate", options.accumulate == Accumulate::kFixed ? "fixed" : "at-least"},
                                {"poll_every", options.poll_every},
                                {"warmup_updates", options.warmup_updates},
                                {"seed", options.gpt.seed}});
  if (!options.device.empty()) json.set("device", options.device);
  if (options.random_vocabulary > 0) json.set("random_vocabulary", options.random_vocabulary);
  if (options.timed) {
    json.set("compute_time_s", options.compute_time.value);
    if (options.jitter > 0) json.set("jitter", options.jitter);
  } else {
    const GptShape& shape = options.gpt.shape;
    json.set("layers", shape.layers);
    json.set("width", shape.width);
    json.set("heads", shape.heads);
    json.set("context", shape.context);
    json.set("sequences", options.gpt.sequences);
    if (!options.gpt.lengths.empty()) {
      JsonValue& lengths = json.set("lengths", json_object({}));
      for (const auto& [tokens, weight] : options.gpt.lengths) lengths.set(std::to_string(tokens), weight);
    }
  }
  const OptimizerOptions& optimizer = options.optimizer;
  json.set("optimizer", optimizer.kind == OptimizerKind::kSgd ? "sgd" : "adamw");
  json.set("learning_rate", optimizer.learning_rate);
  json.set("learning_rate_warmup", optimizer.warmup);
  json.set("learning_rate_schedule", optimizer.cosine ? "cosine" : "constant");
  json.set("schedule_counts", options.samples > 0 ? "samples" : "updates");
  if (optimizer.kind == OptimizerKind::kAdamW) {
    json.set("beta1", optimizer.adamw.beta1);
    json.set("beta2", optimizer.adamw.beta2);
    json.set("epsilon", optimizer.adamw.epsilon);
    json.set("weight_decay", optimizer.adamw.weight_decay);
  }
  add_own_options(json, options);
  JsonValue& slow = json.set("slow", json_object({}));
  for (const auto& [rank, factor] : options.slow) slow.set(std::to_string(rank), factor);
  return json;
}

JsonValue update_json(const UpdateRecord& update) {
  return json_object({{"seconds", update.duration.value}, {"loss", update.loss}, {"samples", update.samples}});
}

JsonValue span_json(const TrainingSpan& span) {
  return json_object({{"rank", span.rank},
                      {"lane", lane_name(span.lane)},
                      {"label", span.label},
                      {"begin_s", span.begin.value},
                      {"end_s", span.end.value},
                      {"update", span.update}});
}

JsonValue span_event(const TrainingSpan& span) {
  return json_object({{"ph", "X"},
                      {"name", span.label},
                      {"pid", span.rank},
                      {"tid", static_cast<int>(span.lane)},
                      {"ts", span.begin.value * 1e6},
                      {"dur", (span.end - span.begin).value * 1e6},
                      {"args", json_object({{"update", span.update}})}});
}

/// Updates at the start that do not count: the first tenth, at least one. They hold the start of the pipeline and cold
/// caches.
std::size_t left_out(const TrainingResult& result) {
  return result.updates.size() < 2 ? 0 : std::max<std::size_t>(1, result.updates.size() / 10);
}

/// An instant on the rank's compute lane where so many updates have ended, in the form that accosim's traces have.
JsonValue update_event(int rank, double end, std::size_t updates) {
  return json_object({{"ph", "i"},
                      {"name", "update"},
                      {"pid", rank},
                      {"tid", static_cast<int>(TrainingSpan::Lane::kCompute)},
                      {"ts", end * 1e6},
                      {"s", "t"},
                      {"args", json_object({{"class", "mark"}, {"updates", updates}})}});
}

/// What stands between the brackets. One after the other, since a tree of all would take many times its text's memory.
template <typename Item, typename Make>
std::string list_json(const std::vector<Item>& items, const Make& make) {
  std::string text;
  for (const Item& item : items) text += dump_json(make(item)) + ',';
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace

void add_own_options(JsonValue& json, const TrainingOptions& options) {
  const AlgorithmTraits& traits = traits_of(options.algorithm);
  if (traits.takes("--estimate")) json.set("estimate", options.local_estimate ? "local" : "gathered");
  if (traits.looks_ahead && !options.local_estimate) json.set("estimate_state", name_of(options.estimate_state));
  if (traits.takes("--initial-gradient"))
    json.set("initial_gradient", options.keep_initial_gradient ? "kept" : "dropped");
  if (traits.takes("--inner-updates")) json.set("inner_updates", options.inner_updates);
  if (traits.takes("--outer-every")) json.set("outer_every", options.outer_every);
  if (traits.takes("--outer-learning-rate")) json.set("outer_learning_rate", options.outer_learning_rate);
  if (traits.takes("--outer-momentum")) json.set("outer_momentum", options.outer_momentum);
  if (traits.takes("--outer-clip")) json.set("outer_clip", options.outer_clip);
  if (traits.takes("--delay")) json.set("delay", options.delay);
  if (traits.takes("--mixing")) json.set("mixing", options.mixing);
  if (traits.takes("--fragments")) json.set("fragments", options.fragments);
  if (traits.takes("--payload")) json.set("payload", options.payload == Payload::kE3m0 ? "e3m0" : "fp32");
}

std::string run_json(const TrainingOptions& options, const TrainingResult& result, const JsonValue& provenance) {
  JsonValue json =
      json_object({{"schema", "accosim.run/1"}, {"algorithm", name_of(options.algorithm)}, {"ranks", result.ranks}});
  json.set("parameters", result.parameters);
  if (!result.device.name.empty()) {
    JsonValue& device =
        json.set("device", json_object({{"name", result.device.name}, {"memory_bytes", result.device.memory}}));
    if (!result.device.experiment.empty()) device.set("experiment", result.device.experiment);
  }
  json.set("options", options_json(options));
  const std::size_t skipped = left_out(result);
  std::vector<double> steady;
  double seconds = 0;
  std::int64_t samples = 0;
  for (std::size_t i = skipped; i < result.updates.size(); ++i) {
    steady.push_back(result.updates[i].duration.value);
    seconds += result.updates[i].duration.value;
    samples += result.updates[i].samples;
  }
  if (!steady.empty()) {
    json.set("median_update_s", percentile(steady, 0.5));
    json.set("p10", percentile(steady, 0.1));
    json.set("p90", percentile(steady, 0.9));
    json.set("mean_update_s", seconds / static_cast<double>(steady.size()));
    json.set("tokens_per_s", static_cast<double>(samples) * result.tokens_per_sample / seconds);
    json.set("updates_left_out", skipped);
  }
  json.set("processor_wait_share", result.processor_wait_share);
  json.set("held_out_loss", result.held_out_loss);
  for (const JsonMember& each : provenance.members) json.set(each.key, each.value);
  std::string text = dump_json(json);
  text.pop_back();  // the brace: what is long comes last, and as text
  return text + ",\"updates\":[" + list_json(result.updates, update_json) + "],\"spans\":[" +
         list_json(result.spans, span_json) + "]}\n";
}

std::string trace_events_json(const TrainingOptions& options, const TrainingResult& result) {
  std::vector<JsonValue> names;
  for (int rank = 0; rank < result.ranks; ++rank) {
    const std::string name = fmt::format("rank {} ({}, measured)", rank, name_of(options.algorithm));
    names.push_back(
        json_object({{"ph", "M"}, {"name", "process_name"}, {"pid", rank}, {"args", json_object({{"name", name}})}}));
    for (const auto lane : {TrainingSpan::Lane::kCompute, TrainingSpan::Lane::kCommunication}) {
      names.push_back(json_object({{"ph", "M"},
                                   {"name", "thread_name"},
                                   {"pid", rank},
                                   {"tid", static_cast<int>(lane)},
                                   {"args", json_object({{"name", lane_name(lane)}})}}));
    }
  }
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  text += list_json(names, [](const JsonValue& name) { return name; });
  if (!names.empty() && !result.spans.empty()) text += ',';
  text += list_json(result.spans, span_event);
  // Of local updates whole rounds, since the last update of each takes longer.
  const bool local = traits_of(options.algorithm).takes("--inner-updates");
  const std::size_t phase = local ? static_cast<std::size_t>(std::max(1, options.inner_updates)) : 1;
  double end = 0;
  for (std::size_t i = 1; i <= result.updates.size(); ++i) {
    end += result.updates[i - 1].duration.value;
    if (i % phase != 0 || i < left_out(result)) continue;
    for (int rank = 0; rank < result.ranks; ++rank) text += ',' + dump_json(update_event(rank, end, phase));
  }
  return text + "],\"otherData\":{\"producer\":\"accocal\"}}\n";
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

}  // namespace accocal
