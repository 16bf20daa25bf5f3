#include "models/read/read_training.hpp"

#include <fmt/format.h>

#include "models/read/other_words.hpp"
#include "models/read/read_batch.hpp"
#include "models/read/read_nccl.hpp"
#include "models/read/read_parallel.hpp"
#include "models/read/read_unsteady.hpp"
#include "models/spec/accocal_step.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/frameworks.hpp"

namespace accosim {
namespace {

/// Which blocks "full" and "full_early_stop" are of.
RecomputedBlocks read_recomputed_blocks(ObjectReader& reader, Recompute recompute, const std::optional<Model>& model) {
  const bool every = reader.has("recompute_every"), fraction = reader.has("recompute_fraction");
  RecomputedBlocks blocks;
  if (every) blocks.every = reader.integer("recompute_every", 1, kMaxInteger);
  if (fraction) blocks.fraction = reader.number("recompute_fraction", Range{0, 1, true});
  const char* const key = every ? "recompute_every" : "recompute_fraction";
  const bool whole = recompute == Recompute::kFull || recompute == Recompute::kFullEarlyStop;
  if ((every || fraction) && !whole && reader.good("activation_recompute"))
    reader.fail(key, "is of whole blocks; write activation_recompute full or full_early_stop, or leave it out");
  if (every && fraction) reader.fail("recompute_fraction", "says the same as recompute_every; write one of them");
  if (every && model && reader.good("recompute_every") && blocks.every > model->num_hidden_layers)
    reader.fail("recompute_every", fmt::format("is {}, and the model has {} blocks; write at most that", blocks.every,
                                               model->num_hidden_layers));
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
  Training training;
  training.overheads = constants().overheads;
  training.sequence_length = reader.integer("sequence_length", 1, kMaxInteger);
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
  training.recomputed_blocks = read_recomputed_blocks(reader, training.activation_recompute, model);
  training.implementation = reader.choice("implementation", Implementation::kEager);
  training.framework = reader.choice("framework", Framework::kPytorch);
  training.pytorch = read_pytorch(reader);
  read_optimizer_implementation(reader, training);
  training.dropout = reader.number("dropout", Range{0, 0.999}, 0);
  training.gradient_clipping = reader.boolean("gradient_clipping", false);
  if (reader.has("launch_interval")) training.launch_interval = reader.seconds("launch_interval");
  training.interference = reader.boolean("interference", true);
  training.unsteady = read_unsteady(reader, training.sequence_length);
  training.parallel = read_parallel(reader, training, model);
  if (training.balance != Balance::kNone && model_ranks_of(training.parallel) > 1) reader.fail("balance", kNoBalance);
  if (training.implementation == Implementation::kAccocal) check_own_step(reader, training, model);
  // After an error no schedule shall complain about a count that nobody wrote.
  if (!reader.good("gradient_accumulation_steps")) training.gradient_accumulation_steps = 0;
  const bool too_long = model && model->learned_positions && reader.good("sequence_length") &&
                        training.sequence_length > model->max_position_embeddings;
  if (too_long) {
    reader.fail("sequence_length", fmt::format("is {}, and the model has learned {} positions; write at most that",
                                               training.sequence_length, model->max_position_embeddings));
  }
  reader.finish(training_words());
  return training;
}

}  // namespace accosim
