#include "models/read/read_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/base/text.hpp"
#include "models/read/other_words.hpp"
#include "models/read/parts.hpp"
#include "models/read/read_nccl.hpp"
#include "models/read/read_parallel.hpp"
#include "models/read/read_unsteady.hpp"
#include "models/spec/accocal_step.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"

namespace accosim {
namespace {

constexpr const char* kSteps = "gradient_accumulation_steps";
constexpr const char* kMicroBatch = "micro_batch_size";
constexpr const char* kBatch = "global_batch_size";

/// Of the rank that has the most.
int most_own_blocks(const Model& model, const Parallel& parallel) {
  if (parallel.blocks.empty()) return model.num_hidden_layers;
  std::vector<int> own(static_cast<std::size_t>(parallel.pipeline), 0);
  for (std::size_t run = 0; run < parallel.blocks.size(); ++run) own[run % own.size()] += parallel.blocks[run];
  return *std::ranges::max_element(own);
}

/// Which blocks "full" and "full_early_stop" are of. Precondition: training.parallel has been read.
RecomputedBlocks read_recomputed_blocks(ObjectReader& reader, const Training& training,
                                        const std::optional<Model>& model) {
  constexpr const char *kEvery = "recompute_every", *kFraction = "recompute_fraction", *kFirst = "recompute_layers";
  const bool whole =
      training.activation_recompute == Recompute::kFull || training.activation_recompute == Recompute::kFullEarlyStop;
  RecomputedBlocks blocks;
  if (reader.has(kEvery)) blocks.every = reader.integer(kEvery, 1, kMaxInteger);
  if (reader.has(kFraction)) blocks.fraction = reader.number(kFraction, Range{0, 1, true});
  if (reader.has(kFirst)) blocks.first = reader.integer(kFirst, 1, kMaxInteger);
  const char* before = nullptr;
  for (const char* const key : {kEvery, kFraction, kFirst}) {
    if (!reader.has(key)) continue;
    if (before != nullptr)
      reader.fail(key, fmt::format("says the same as {}; write one of them", before));
    else if (!whole && reader.good("activation_recompute"))
      reader.fail(key, "is of whole blocks; write activation_recompute full or full_early_stop, or leave it out");
    before = key;
  }
  if (!model) return blocks;
  const auto hold = [&](const char* key, int asked, int most, const char* what) {
    if (reader.has(key) && reader.good(key) && asked > most)
      reader.fail(key, fmt::format("is {}, and {} has {} blocks; write at most that", asked, what, most));
  };
  const std::vector<int>& chunks = training.parallel.blocks;
  const bool split = !chunks.empty();
  hold(kEvery, blocks.every, most_own_blocks(*model, training.parallel), split ? "the largest stage" : "the model");
  hold(kFirst, blocks.first, split ? *std::ranges::max_element(chunks) : model->num_hidden_layers,
       split ? "the largest chunk" : "the model");
  return blocks;
}

/// What accocal's own step cannot do.
void check_own_step(ObjectReader& reader, const Training& training, const std::optional<Model>& model) {
  const auto refuse = [&](const char* key, bool wrong, const char* what) {
    if (wrong) reader.fail(key, std::string("accocal's step ") + what);
  };
  if (model) {
    const std::string lacking = not_for_accocal(*model);
    if (!lacking.empty()) reader.fail("implementation", fmt::format("accocal trains GPT-2, and the model {}", lacking));
  }
  check_own_kernels(reader, training.precision, training.attention);
  refuse("activation_recompute", training.activation_recompute != Recompute::kNone,
         "keeps all activations; write \"none\"");
  refuse("optimizer_implementation", training.optimizer_implementation != OptimizerImplementation::kFused,
         "has AdamW in one kernel; write \"fused\"");
  refuse("autocast", training.autocast != Autocast::kNone, "casts nothing; write \"none\"");
  refuse("framework", training.framework != Framework::kPytorch, "is run by accocal; leave the framework out");
  refuse("dropout", training.dropout > 0, "has no dropout; write 0");
  refuse("gradient_clipping", training.gradient_clipping, "does not clip gradients; write false");
  refuse("parallel", model_ranks_of(training.parallel) > 1, "has the whole model on every rank; leave it out");
}

}  // namespace

void check_own_kernels(ObjectReader& reader, Dtype precision, Attention attention) {
  if (precision != Dtype::kBf16 && precision != Dtype::kFp32)
    reader.fail("precision", "accocal's step runs in bf16 or fp32; write one of these");
  if (attention != Attention::kNaive)
    reader.fail("attention", "accocal's step has products and a softmax; write \"naive\"");
}

namespace {

/// Reads "gradient_accumulation_steps", or "global_batch_size" in its place: then training.gradient_accumulation_steps
/// is 0 until share_global_batch() knows between how many replicas the batch is shared.
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

/// How the loss is run, and in how many pieces.
void read_loss(ObjectReader& reader, Training& training, const std::optional<Model>& model) {
  training.loss = reader.choice("loss", Loss::kWhole);
  const char* const key = "loss_chunks";
  const bool pieces = training.loss == Loss::kChunked || training.loss == Loss::kFusedLinear;
  if (reader.has(key)) training.loss_chunks = reader.integer(key, 1, kMostLossChunks);
  if (reader.has(key) && !pieces)
    reader.fail(key, fmt::format("is of the losses chunked and fused_linear, and loss is {}; leave it out",
                                 name_of(training.loss)));
  if (training.loss == Loss::kWhole) return;
  const auto refuse = [&](bool wrong, const char* what) {
    if (wrong) reader.fail("loss", fmt::format("is {}, and {}; write \"whole\"", name_of(training.loss), what));
  };
  refuse(training.parallel.tensor > 1, "with tensor parallelism each rank has logits of a part of the vocabulary");
  refuse(training.implementation == Implementation::kAccocal, "accocal's step has all logits at once");
  refuse(model && family_of(*model).measured, "of a measured model there are no logits");
}

/// "all-linear", or names of a block's matrices as Hugging Face's modules and PEFT have them, or Megatron-Bridge and
/// NeMo; those of matrices that a family has in one stand for all that is in it.
std::vector<LoraTarget> read_targets(ObjectReader& reader) {
  using enum LoraTarget;
  const std::pair<std::string_view, std::vector<LoraTarget>> groups[] = {
      {" all-linear all ", values_of<LoraTarget>()},
      {" qkv_proj c_attn query_key_value linear_qkv attention_qkv ", {kQuery, kKey, kValue}},
      {" out_proj linear_proj attention_dense ", {kOutput}},
      {" gate_up_proj linear_fc1 mlp_fc1 ", {kGate, kUp}},
      {" c_fc ", {kUp}},
      {" linear_fc2 mlp_fc2 ", {kDown}},
      {" c_proj ", {kOutput, kDown}},
      {" attention ", {kQuery, kKey, kValue, kOutput}},
      {" mlp ", {kGate, kUp, kDown}}};
  const char* const key = "targets";
  std::vector<LoraTarget> targets;
  for (const JsonValue* each : reader.list(key, 1, 20)) {
    std::vector<LoraTarget> meant;
    for (const LoraTarget target : values_of<LoraTarget>())
      if (each->text == name_of(target)) meant = {target};
    for (const auto& [names, group] : groups)
      if (names.find(" " + each->text + " ") != std::string_view::npos) meant = group;
    if (meant.empty())
      reader.fail(key, fmt::format("has {}; write [\"all-linear\"] or some of \"{}\", \"qkv_proj\", \"gate_up_proj\"",
                                   in_quotes(each->text, 40), fmt::join(kNames<LoraTarget>, "\", \"")));
    targets.insert(targets.end(), meant.begin(), meant.end());
  }
  std::ranges::sort(targets);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

void read_lora(ObjectReader& reader, Training& training, const std::optional<Model>& model) {
  const char* const key = "lora";
  read_part(reader, key, [&](ObjectReader& own) {
    training.lora.rank = own.integer("rank", 1, 100'000);
    training.lora.targets = read_targets(own);
    training.lora.base = own.choice("base_dtype", LoraBase::kParameters);
  });
  const Lora& lora = training.lora;
  if (!lora.on()) return;
  const auto refuse = [&](bool wrong, const char* what) {
    if (wrong) reader.fail(key, what);
  };
  refuse(training.implementation == Implementation::kAccocal, "accocal's step trains everything; leave it out");
  refuse(model && family_of(*model).measured, "a measured model has no products to stand beside; leave it out");
  refuse(model && !model->gated_mlp && lora.targets == std::vector{LoraTarget::kGate},
         "targets gate_proj, and the model's MLP has no gate; write up_proj and down_proj");
  refuse(model && (model->experts.count > 0 || model->latent.key_value_rank > 0),
         "stands beside products of attention and MLPs; beside those of experts and of latent attention it is not "
         "modelled yet: leave it out");
  refuse(lora.base == LoraBase::kNf4 && training.precision == Dtype::kFp8,
         "has a base in nf4, whose products run in 16 bits, and precision is fp8; write bf16");
}

/// After "implementation".
void read_experts_implementation(ObjectReader& reader, Training& training, const std::optional<Model>& model) {
  const char* const key = "experts_implementation";
  if (!reader.has(key)) return;
  training.experts_implementation = reader.choice(key, ExpertsImplementation::kGroupedMm);
  if (model && model->experts.count == 0)
    reader.fail(key, "is about models with experts, and this one has none; leave it out");
  else if (reader.good("implementation") && training.implementation != Implementation::kEager)
    reader.fail(key, fmt::format("is about eager code, and \"implementation\" is {}, which groups the products of a "
                                 "layer's experts in its own way; leave it out",
                                 name_of(training.implementation)));
}

/// After "parallel".
void read_expert_imbalance(ObjectReader& reader, Training& training, const std::optional<Model>& model) {
  const char* const key = "expert_imbalance";
  if (!reader.has(key)) return;
  training.expert_imbalance = reader.number(key, Range{1, 1e5});
  if (!model || !reader.good(key) || training.expert_imbalance == 1) return;
  const int ranks = training.parallel.experts;
  if (model->experts.count == 0)
    reader.fail(key, "is about models with experts, and this one has none; leave it out");
  else if (ranks == 1 && reader.good("parallel"))
    reader.fail(
        key,
        "is about ranks that share experts, and here each has all of them, and so all rows of its tokens; write "
        "\"expert_parallel_size\": 8 in \"parallel\", or leave it out");
  else if (training.expert_imbalance > ranks)
    reader.fail(key, fmt::format("is above {}, and no rank of {} has more than all rows; write less", ranks, ranks));
}

/// accocal has one kernel; otherwise the framework's own.
void read_optimizer_implementation(ObjectReader& reader, Training& training) {
  const char* const key = "optimizer_implementation";
  const bool own = training.implementation == Implementation::kAccocal, written = reader.has(key);
  const OptimizerImplementation usual = own ? OptimizerImplementation::kFused : default_optimizer(training.framework);
  training.optimizer_implementation = reader.choice(key, usual);
  if (written || own || reader.find(key) == nullptr) return;
  reader.find(key)->origin = origin_named(fmt::format("default of {}", title_of(training.framework)));
}

}  // namespace

Training read_training(JsonValue& value, const std::string& pointer, const std::optional<Model>& model,
                       Diagnostics& diagnostics) {
  ObjectReader reader(value, pointer, diagnostics);
  Training training{.sequence_length = reader.integer("sequence_length", 1, kMaxInteger),
                    .overheads = constants().overheads};
  training.micro_batch_size = reader.integer("micro_batch_size", 1, kMaxInteger);
  read_steps(reader, training);
  training.balance = reader.choice("balance", Balance::kNone);
  training.train_tokens = reader.number("train_tokens", Range{0, 1e18, true});
  training.precision = reader.choice("precision", Dtype::kBf16, dtype_advice());
  training.autocast = reader.choice("autocast", Autocast::kNone);
  if (training.precision == Dtype::kFp8 && training.autocast != Autocast::kNone)
    reader.fail("autocast", "fp8 says itself what is cast; write \"none\"");
  training.optimizer = reader.choice("optimizer", Optimizer::kAdamW);
  const JsonValue* const implementation = reader.find("implementation");
  const bool own_step = implementation != nullptr && implementation->text == name_of(Implementation::kAccocal);
  training.attention = reader.choice("attention", own_step ? Attention::kNaive : Attention::kFlash);
  training.activation_recompute = reader.choice("activation_recompute", Recompute::kNone);
  training.implementation = reader.choice("implementation", Implementation::kEager);
  read_experts_implementation(reader, training, model);
  training.framework = reader.choice("framework", Framework::kPytorch);
  training.pytorch = read_pytorch(reader);
  read_optimizer_implementation(reader, training);
  training.dropout = reader.number("dropout", Range{0, 0.999}, 0);
  training.gradient_clipping = reader.boolean("gradient_clipping", false);
  if (reader.has("launch_interval")) training.launch_interval = reader.seconds("launch_interval");
  training.interference = reader.boolean("interference", true);
  training.unsteady = read_unsteady(reader, training.sequence_length);
  training.parallel = read_parallel(reader, training, model);
  read_expert_imbalance(reader, training, model);
  training.recomputed_blocks = read_recomputed_blocks(reader, training, model);
  read_loss(reader, training, model);
  read_lora(reader, training, model);
  if (training.unsteady.lengths.separate && training.attention == Attention::kNaive)
    reader.fail("attention",
                "is naive, which computes the whole row whatever its sequences are; write \"flash\", or leave "
                "sequence_lengths/separate out");
  if (training.implementation == Implementation::kAccocal) check_own_step(reader, training, model);
  // After an error no schedule shall complain about a count that nobody wrote.
  if (!reader.good("gradient_accumulation_steps")) training.gradient_accumulation_steps = 0;
  const int positions = model && model->learned_positions ? positions_of(*model) : kMaxInteger;
  if (reader.good("sequence_length") && training.sequence_length > positions) {
    reader.fail("sequence_length", fmt::format("is {}, and the model has learned {} positions; write at most that",
                                               training.sequence_length, positions));
  }
  reader.finish(training_words());
  return training;
}

namespace {

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

void share_global_batch(Training& training, const Cluster& cluster, ObjectReader& top) {
  JsonValue* const value = top.find("training");
  const JsonValue* const batch = value == nullptr ? nullptr : value->find(kBatch);
  if (batch == nullptr || batch->kind != JsonKind::kNumber) return;
  if (!(batch->number >= 1 && batch->number <= kMaxInteger)) return;  // which has been said
  ObjectReader reader(*value, "/training", top.diagnostics());
  if (std::ranges::any_of(cluster.nodes, [](const NodeGroup& group) { return !group.accumulation_steps.empty(); }))
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
