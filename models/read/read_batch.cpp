#include "models/read/read_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "models/spec/frameworks.hpp"
#include "models/spec/parallel.hpp"

namespace accosim {
namespace {

constexpr const char* kSteps = "gradient_accumulation_steps";
constexpr const char* kMicroBatch = "micro_batch_size";
constexpr const char* kBatch = "global_batch_size";

/// Samples that all replicas do with one micro-batch each.
long long samples_at_once(const Training& training, const Cluster& cluster) {
  long long samples = 0;
  for (const NodeGroup& group : cluster.nodes) samples += 1LL * group.count * group.gpus * group.micro_batch_size;
  return samples / model_ranks_of(training.parallel);
}

std::string nearest_multiples(long long asked, long long part) {
  const long long below = asked / part * part, above = below + part;
  return below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
}

}  // namespace

void read_steps(ObjectReader& reader, Training& training) {
  if (!reader.has(kBatch)) {
    training.gradient_accumulation_steps = reader.integer(kSteps, 1, kMaxInteger, 1);
    return;
  }
  training.gradient_accumulation_steps = 0;
  reader.integer(kBatch, 1, kMaxInteger);
  if (reader.has(kSteps)) {
    reader.integer(kSteps, 1, kMaxInteger);
    reader.fail(kBatch,
                "says how many micro-batches an update has, as gradient_accumulation_steps does; write one of "
                "the two");
  }
}

void share_global_batch(Training& training, const Cluster& cluster, ObjectReader& top) {
  JsonValue* const value = top.find("training");
  const JsonValue* const batch = value == nullptr ? nullptr : value->find(kBatch);
  if (batch == nullptr || batch->kind != JsonKind::kNumber) return;
  if (!(batch->number >= 1 && batch->number <= kMaxInteger)) return;  // which has been said
  ObjectReader reader(*value, "/training", top.diagnostics());
  if (std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                  [](const NodeGroup& group) { return !group.accumulation_steps.empty(); }))
    return reader.fail(kBatch,
                       "is of replicas that do equally many micro-batches, and a node group has "
                       "gradient_accumulation_steps of its own; write those of the training in its place");
  const long long at_once = samples_at_once(training, cluster), apart = micro_batches_apart(training.parallel);
  const auto asked = static_cast<long long>(batch->number);
  if (at_once < 1) return;  // which has been said
  const auto grouped = [&](long long steps) {
    return apart == 1 || steps % apart == 0 ||
           (training.parallel.overlap_messages &&
            micro_batch_group(training.framework, training.parallel.pipeline, static_cast<int>(steps)) > 0);
  };
  if (asked % at_once == 0 && grouped(asked / at_once)) {
    training.gradient_accumulation_steps = static_cast<int>(asked / at_once);
    return;
  }
  const int replicas = static_cast<int>(gpu_count(cluster)) / model_ranks_of(training.parallel);
  reader.fail(
      kBatch,
      fmt::format("is {}, and {} replica{} of the model with a micro-batch each do{} {} samples at a time{}; "
                  "write {}",
                  asked, replicas, replicas == 1 ? "" : "s", replicas == 1 ? "es" : "", at_once,
                  apart == 1 ? std::string() : fmt::format(", in groups of {} that interleaved chunks take", apart),
                  nearest_multiples(asked, at_once * apart)));
}

int read_own_micro_batch(ObjectReader& reader, const Training& training, const std::optional<Cluster>& cluster,
                         Balance balance) {
  if (!reader.has(kMicroBatch)) return 0;
  const int size = reader.integer(kMicroBatch, 1, kMaxInteger);
  const std::int64_t samples = 1LL * training.micro_batch_size * training.gradient_accumulation_steps;
  if (!reader.good(kMicroBatch) || samples == 0) return 0;
  const auto fail = [&](const std::string& why) {
    reader.fail(kMicroBatch, why);
    return 0;
  };
  if (balance != Balance::kNone)
    return fail(fmt::format("is given, and \"balance\": \"{}\" chooses how much each GPU does; remove one of the two",
                            name_of(balance)));
  if (cluster && !has_one_micro_batch(*cluster, training))
    return fail(
        "is given, and node groups have a micro_batch_size or gradient_accumulation_steps of their own; remove it, or "
        "these");
  std::int64_t divisor = std::min<std::int64_t>(size, samples);
  while (samples % divisor != 0) --divisor;
  if (divisor != size)
    return fail(
        fmt::format("is {}, which does not divide the {} samples of a GPU in an update (micro_batch_size x "
                    "gradient_accumulation_steps of the training); write {}",
                    size, samples, divisor));
  return size == training.micro_batch_size ? 0 : size;
}

}  // namespace accosim
