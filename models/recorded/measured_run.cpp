#include "models/recorded/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "models/base/statistics.hpp"
#include "models/base/text.hpp"
#include "models/fit/document.hpp"
#include "models/read/read_scenario.hpp"

namespace accosim {
namespace {

constexpr Range kTime{0, 1e6, true};
constexpr Range kClock{-1e6, 1e6};  ///< of a span: a rank's clock may begin before the others'
constexpr Range kSlowdown{0.001, 1e6};
constexpr double kMostCounted = 1e15;
constexpr int kMostMicroBatches = 10'000;  ///< of a round
constexpr int kMostUpdates = 100'000;
constexpr std::size_t kMostSpans = 500'000;  ///< as many as there can be values
constexpr std::size_t kMostLabels = 256;

/// null: accocal had no finite number to write.
void read_number_or_null(ObjectReader& reader, const char* key) {
  const JsonValue* member = reader.find(key);
  if (member != nullptr && member->kind != JsonKind::kNull) reader.number(key, Range{-1e300, 1e300});
}

void read_slow(ObjectReader& options, MeasuredRun& run) {
  read_object(options, "slow", [&](ObjectReader& slow) {
    if (slow.value().members.size() > static_cast<std::size_t>(run.ranks)) {
      options.fail("slow", fmt::format("names {} ranks of {}; leave out those that are none",
                                       slow.value().members.size(), run.ranks));
      return slow.drop_unknown();
    }
    for (const JsonMember& member : slow.value().members) {
      const std::string key = member.key;
      int rank = 0;
      while (rank < run.ranks && std::to_string(rank) != key) ++rank;
      const double factor = slow.number(key, kSlowdown);
      if (rank == run.ranks)
        slow.fail(key, fmt::format("is no rank; the ranks are 0 to {}", run.ranks - 1));
      else
        run.slow[rank] = factor;
    }
  });
}

void read_lengths(ObjectReader& options, MeasuredRun& run) {
  if (options.has("context")) run.context = options.integer("context", 1, kMaxInteger);
  if (!options.has("lengths")) return;
  read_object(options, "lengths", [&](ObjectReader& lengths) {
    for (const std::string& key : keys_of(lengths.value())) {
      const double weight = lengths.number(key, Range{0, 1e18, true});
      const int tokens = whole_number(key).value_or(0);
      if (tokens < 1 || tokens > run.context)
        lengths.fail(key, "is no length up to the context; make the run again");
      else
        run.lengths[tokens] = weight;
    }
  });
}

void read_options(ObjectReader& options, MeasuredRun& run) {
  if (options.has("compute_time_s")) run.compute_time = Seconds{options.number("compute_time_s", kTime)};
  run.micro_batches_per_round = options.integer("micro_batches_per_round", 1, kMostMicroBatches);
  run.warmup = options.integer("warmup_updates", 0, kMostUpdates, 0);
  run.poll_every = options.integer("poll_every", 1, kMaxInteger, 1);
  run.inner_updates = options.integer("inner_updates", 1, kMostUpdates, 1);
  run.sequences = options.integer("sequences", 1, kMaxInteger, 1);
  run.fixed = options.one_of("accumulate", {"at-least", "fixed"}, "at-least") == "fixed";
  run.keep_state = options.one_of("estimate_state", {"rollback", "keep", "released"}, "rollback") == "keep";
  run.bf16 = options.one_of("storage", {"fp32", "bf16"}, "fp32") == "bf16";
  read_slow(options, run);
  if (options.has("lengths") || options.has("context")) read_lengths(options, run);
  run.jitter = options.number("jitter", Range{0, 10}, 0);
  pass_over(options, {"workload", "seed", "device", "random_vocabulary", "layers", "width", "heads"});
  pass_over(options, {"optimizer", "learning_rate", "learning_rate_warmup", "learning_rate_schedule", "schedule_counts",
                      "beta1", "beta2", "epsilon", "weight_decay"});
  pass_over(options, {"initial_gradient", "outer_learning_rate", "outer_momentum", "outer_every", "outer_clip", "delay",
                      "mixing", "fragments", "payload", "estimate"});
}

MeasuredUpdate read_update(ObjectReader& reader) {
  MeasuredUpdate update{.duration = Seconds{reader.number("seconds", kTime)},
                        .samples = reader.whole("samples", 0, kMostCounted)};
  read_number_or_null(reader, "loss");
  return update;
}

MeasuredSpan read_span(ObjectReader& reader, int ranks) {
  MeasuredSpan span{.rank = reader.integer("rank", 0, ranks - 1),
                    .communication = reader.one_of("lane", {"compute", "communication"}, "") == "communication",
                    .label = reader.text("label"),
                    .begin = Seconds{reader.number("begin_s", kClock)},
                    .end = Seconds{reader.number("end_s", kClock)}};
  if (reader.good() && span.end < span.begin) reader.fail("end_s", "is before begin_s; make the run again");
  reader.find("update");
  return span;
}

/// A lane does one thing after the other. What overlaps by less than clocks are off by begins when the lane is free.
void check_lanes(MeasuredRun& run, ObjectReader& top) {
  constexpr Seconds kClocks{1e-5};
  std::vector<std::size_t> order(run.spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto lane = [&](std::size_t i) { return std::pair(run.spans[i].rank, run.spans[i].communication); };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::tuple(lane(a), run.spans[a].begin.value) < std::tuple(lane(b), run.spans[b].begin.value);
  });
  for (std::size_t i = 1; i < order.size() && !top.diagnostics().enough(); ++i) {
    MeasuredSpan& span = run.spans[order[i]];
    const MeasuredSpan& before = run.spans[order[i - 1]];
    if (lane(order[i]) != lane(order[i - 1]) || span.begin >= before.end) continue;
    if (before.end - span.begin > kClocks) {
      const JsonValue& written = top.find("spans")->elements[order[i]];
      top.diagnostics().add(
          written.origin, top.pointer("spans") + pointer_part(order[i]),
          fmt::format("begins {:.3g} s before its lane is free; a lane does one thing after the other",
                      (before.end - span.begin).value));
    }
    span.begin = before.end;
    span.end = std::max(span.begin, span.end);
  }
}

void check_labels(const MeasuredRun& run, ObjectReader& top) {
  std::set<std::string> labels;
  for (const MeasuredSpan& span : run.spans) labels.insert(span.label);
  if (labels.size() > kMostLabels)
    top.fail("spans", fmt::format("have {} different labels; write at most {}", labels.size(), kMostLabels));
}

void read_run(ObjectReader& top, MeasuredRun& run) {
  run.algorithm = top.one_of("algorithm", accocal_algorithms(), "");
  run.ranks = top.integer("ranks", 1, kMostMeasuredRanks);
  if (!top.good("ranks")) run.ranks = kMostMeasuredRanks;  // so that each rank that is named may be one
  run.parameters = top.whole("parameters", 1, kMostCounted);
  if (top.has("network"))
    read_object(top, "network", [&](ObjectReader& network) {
      const MeasuredNetwork read = read_network(network, top.good("ranks") ? run.ranks : 0, "make the run again");
      run.network = read.kind;
      run.rates = read.rates;
    });
  run.processor_wait_share = top.number("processor_wait_share", Range{0, 1}, 0);
  run.left_out = top.integer("updates_left_out", 0, kMostUpdates, 0);
  read_object(top, "options", [&](ObjectReader& options) { read_options(options, run); });
  if (run.warmup > 0) run.left_out = std::max(run.left_out, run.warmup + 1);
  read_objects(top, "updates", 1, kMostUpdates,
               [&](ObjectReader& update) { run.updates.push_back(read_update(update)); });
  read_objects(top, "spans", 0, kMostSpans,
               [&](ObjectReader& span) { run.spans.push_back(read_span(span, run.ranks)); });
  pass_over(top, {"device", "machine", "compiler", "commit", "date", "transport", "median_update_s", "p10", "p90",
                  "mean_update_s", "tokens_per_s", "held_out_loss"});
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

std::size_t block_of(const MeasuredRun& run) { return static_cast<std::size_t>(updates_per_mark(run)); }

std::vector<double> steady_times(const MeasuredRun& run) {
  return mapped<double>(steady(run, block_of(run)), [](const MeasuredUpdate& update) { return update.duration.value; });
}

}  // namespace

int updates_per_mark(const MeasuredRun& run) { return updates_per_mark(traits_of(run.algorithm), run.inner_updates); }

MeasuredRun read_measured_run(const std::string& text, const std::string& name) {
  MeasuredRun run;
  read_document(text, name, {"accosim.run/1", "accocal train"}, [&](ObjectReader& top) {
    read_run(top, run);
    if (!top.diagnostics().errors.empty()) return;
    const std::vector<MeasuredUpdate> updates = steady(run, block_of(run));
    const auto moved = [](const MeasuredUpdate& update) { return update.samples > 0; };
    if (std::ranges::none_of(updates, moved))
      top.fail("updates", fmt::format("holds no steady update with samples ({} of {} are left out); make the run with "
                                      "more --updates",
                                      std::min<std::size_t>(static_cast<std::size_t>(run.left_out), run.updates.size()),
                                      run.updates.size()));
    check_lanes(run, top);
    check_labels(run, top);
  });
  return run;
}

Seconds update_time(const MeasuredRun& run) {
  std::vector<double> times = steady_times(run);
  std::ranges::sort(times);
  const std::size_t cut = times.size() / 10;
  double sum = 0;
  for (std::size_t i = cut; i < times.size() - cut; ++i) sum += times[i];
  return Seconds{sum / static_cast<double>(times.size() - 2 * cut) / static_cast<double>(block_of(run))};
}

Seconds update_percentile(const MeasuredRun& run, double p) {
  return Seconds{percentile(steady_times(run), p) / static_cast<double>(block_of(run))};
}

double micro_batches_per_update(const MeasuredRun& run) {
  double sum = 0;
  const std::size_t block = block_of(run);
  const std::vector<MeasuredUpdate> updates = steady(run, block);
  for (const MeasuredUpdate& update : updates) sum += update.samples;
  return sum / static_cast<double>(updates.size() * block) / run.sequences;
}

std::vector<Setting> settings_of(const MeasuredRun& run) {
  const ScheduleTraits& traits = traits_of(run.algorithm);
  std::vector<Setting> sets = {{"/model/parameters", json_number(run.parameters, {})},
                               {"/training/gradient_accumulation_steps", traits.rounds * run.micro_batches_per_round}};
  if (run.compute_time)
    sets.push_back({"/model/micro_batch_time", print_quantity(run.compute_time->value, Dimension::kTime)});
  for (const auto& [rank, factor] : run.slow)
    sets.push_back({fmt::format("/cluster/nodes/{}/device/slowdown", rank), json_number(factor, {})});
  if (run.jitter > 0)
    sets.push_back({"/training/compute_jitter", json_object({{"micro_batch", json_number(run.jitter, {})}})});
  if (!run.lengths.empty()) {
    std::vector<JsonValue> bars;
    for (const auto& [tokens, weight] : run.lengths)
      bars.emplace_back(std::vector<JsonValue>{json_number(tokens, {}), json_number(weight, {})});
    sets.push_back({"/training/micro_batch_size", run.sequences});
    sets.push_back({"/training/sequence_length", run.context});
    sets.push_back({"/training/sequence_lengths", json_object({{"histogram", std::move(bars)}})});
  }
  JsonValue spec = own_schedule(traits);
  if (traits.takes("late_communication")) {
    spec.set("poll_every", run.poll_every);
    spec.set("late_communication", run.fixed ? "wait" : "accumulate");
  }
  if (traits.takes("rollback_estimate")) spec.set("rollback_estimate", !run.keep_state);
  if (traits.local) spec.set("inner_updates", run.inner_updates);
  if (run.bf16) spec.set("parameter_dtype", "bf16");
  sets.push_back({"/schedules", std::vector<JsonValue>{spec}});
  for (Setting& set : sets) give_origin(set.value, origin_named("the run"));
  return sets;
}

}  // namespace accosim
