// What each form can say, as its argument parser or configuration has it: Megatron-LM core_v0.15
// (megatron/training/arguments.py), Megatron-Bridge 067f987, torchtitan v0.2.0 (torchtitan/config/job_config.py),
// DeepSpeed edaa722 (runtime/config.py) below Hugging Face's Trainer, PyTorch 2.8's fully_shard.
#include "models/launch/form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "models/base/text.hpp"
#include "models/read/read_schedule.hpp"
#include "models/read/scenario_tree.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

using Forms = unsigned;
constexpr Forms bit(LaunchForm form) { return 1U << static_cast<unsigned>(form); }
constexpr Forms kMegatron = bit(LaunchForm::kMegatron) | bit(LaunchForm::kBridge),
                kTitan = bit(LaunchForm::kTorchtitan), kDeepspeed = bit(LaunchForm::kDeepspeed),
                kFsdp2 = bit(LaunchForm::kFsdp2), kPytorch = kTitan | kFsdp2, kAll = kMegatron | kDeepspeed | kPytorch;

struct FormRow {
  Framework framework;
  const char* title;
  const char* nearest;             ///< why another schedule is the nearest
  const char* adapters = nullptr;  ///< why none can be trained
};
constexpr FormRow kForms[] = {
    {Framework::kMegatron, "Megatron-LM", "Megatron-LM shards the optimizer's states, or with Megatron-FSDP everything",
     "pretrain_gpt.py trains all weights, and Megatron-Bridge has LoRA"},
    {Framework::kPytorch, "torchtitan", "torchtitan shards with fully_shard; its DDP trains fp32 under autocast",
     "it trains all weights"},
    {Framework::kDeepspeed, "DeepSpeed", "DeepSpeed shards by its stage"},
    {Framework::kPytorch, "PyTorch", "PyTorch has no ZeRO-1 of buckets; fully_shard without reshard is nearest"},
    {Framework::kMegatron, "Megatron-Bridge", "Megatron-Bridge shards the optimizer's states, or everything"},
};
const char* why_nearest(LaunchForm form) { return kForms[static_cast<std::size_t>(form)].nearest; }

/// Of a training whose tensors are split, that has stages, stages of one chunk each, or none.
enum class When : std::uint8_t { kAlways, kTensor, kPiped, kPlain, kWhole };

/// Values of the training that a form lacks, with the nearest. `from`: words; or "!" and the only one that it has.
struct Value {
  Forms forms;
  const char *key, *from, *to;  ///< to "null": what the framework does by itself
  const char* why;
  When when = When::kAlways;
};
constexpr const char *kWhich = "which blocks are recomputed is no choice there", *kAlike = "all GPUs do as much";

constexpr Value kValues[] = {
    {kMegatron, "implementation", "!fused", "fused", "its kernels are fused by hand"},
    {kDeepspeed | kPytorch, "implementation", "fused accocal", "compiled", "torch.compile merges most of such kernels"},
    {kTitan, "precision", "fp16", "bf16", "mixed_precision_param is bfloat16 or float32"},
    {kMegatron | kTitan, "precision", "tf32", "fp32", "it switches no TF32 on"},
    {kDeepspeed, "precision", "fp8", "bf16", "the Trainer has no FP8"},
    {kMegatron | kDeepspeed | kTitan, "autocast", "!none", "none", "nothing is cast on the way"},
    {kMegatron, "attention", "flash_1 memory_efficient", "flash", "its fused attention is Transformer Engine's"},
    {kTitan, "attention", "!flash", "flash", "its attention is PyTorch's scaled_dot_product_attention"},
    {kDeepspeed, "attention", "flash_1 memory_efficient", "flash", "there are eager, sdpa and FlashAttention 2 and 3"},
    {kMegatron, "activation_recompute", "selective_op", "selective", "it recomputes attention's core, or blocks"},
    {kMegatron, "activation_recompute", "full_early_stop", "full", "it recomputes a block to its end"},
    {kPytorch, "activation_recompute", "selective", "selective_op", "operators are chosen, not attention's core"},
    {kDeepspeed, "activation_recompute", "selective selective_op", "full_early_stop", "the Trainer recomputes blocks"},
    {kMegatron | kDeepspeed, "recompute_every", "!1", "null", kWhich},
    {kAll, "recompute_fraction", "!1", "null", kWhich},
    {kDeepspeed | kPytorch, "recompute_layers", "!null", "null", kWhich},
    {kMegatron, "optimizer_implementation", "foreach", "fused", "its AdamW is one kernel"},
    {kTitan, "dropout", "!0", "0", "its models have no dropout"},
    {kTitan, "gradient_clipping", "false", "true", "it always takes the gradients' norm"},
    {kMegatron | kTitan, "loss", "!whole", "whole", "its logits are whole"},
    {kDeepspeed, "loss", "chunked cut", "fused_linear", "the Trainer has Liger's kernels"},
    {kMegatron, "lora/base_dtype", "nf4", "parameters", "its frozen weights are in the products' type"},
    {kAll, "balance", "!none", "none", kAlike},
    {kDeepspeed | kFsdp2, "parallel", "!null", "null", "a GPU has the whole model there, or a shard of it"},
    {bit(LaunchForm::kMegatron), "parallel/expert_dispatcher", "hybridep", "deepep",
     "Megatron Core 0.15 has DeepEP's kernels alone"},
    {kTitan, "parallel/expert_dispatcher", "!alltoall", "alltoall", "its exchanges are NCCL's all-to-all"},
    {kTitan, "parallel/expert_overlap", "true", "false", "its exchanges run by themselves"},
    {kTitan, "parallel/sequence_parallel", "false", "true", "its split tensors split sequences too", When::kTensor},
    {kTitan, "parallel/overlap_p2p", "false", "true", "its stages send beside their computation", When::kPiped},
    {kMegatron, "parallel/overlap_p2p", "true", "false", "it sends so only where chunks are interleaved", When::kPlain},
    {kMegatron, "parallel/pipeline_schedule", "gpipe", "1f1b", "it has no GPipe"},
    {kMegatron | kTitan, "parallel/scatter_gather_p2p", "true", "false", "its stages send whole tensors"},
    {kTitan, "parallel/order", "!tp-cp-ep-dp-pp", "null", "its stages are the outermost ranks", When::kPiped},
    {kMegatron | kTitan, "parallel/stage_layers", "speed", "null", "blocks are not shared by speed"},
};

/// Keys of a schedule that a form can say where so much is split; "key=value": it is always so, whatever the default.
struct Keys {
  Forms forms;
  Sharding split;
  const char* keys;
};
constexpr Keys kKeys[] = {
    {kMegatron, Sharding::kNothing, "overlap bucket_cap_mb gradient_dtype"},
    {kMegatron, Sharding::kOptimizer,
     "overlap bucket_cap_mb overlap_param_gather align_param_gather shard_group offload_optimizer gradient_dtype"},
    {kMegatron, Sharding::kParameters, "shard_group offload_optimizer"},
    {kTitan, Sharding::kOptimizer, "overlap=backward buckets=units overlap_param_gather=true gradient_dtype=fp32"},
    {kTitan, Sharding::kParameters, "reshard_after_forward shard_group optimizer_dtype reduce_dtype=fp32"},
    {kDeepspeed, Sharding::kNothing, "gradient_dtype"},
    {kDeepspeed, Sharding::kOptimizer,
     "overlap bucket_cap_mb gather_bucket_mb parameter_sync gradient_as_bucket_view offload_optimizer gradient_dtype"},
    {kDeepspeed, Sharding::kGradients,
     "overlap bucket_cap_mb gather_bucket_mb parameter_sync gradient_as_bucket_view offload_optimizer gradient_dtype"},
    {kDeepspeed, Sharding::kParameters, "shard_group all_reduce=last_micro_batch offload_optimizer"},
    {kFsdp2, Sharding::kNothing,
     "sync bucket_cap_mb gradient_as_bucket_view broadcast_buffers optimizer_sharding parameter_dtype gradient_dtype"},
    {kFsdp2, Sharding::kParameters,
     "sync prefetch reshard_after_forward reshard_after_backward shard_group all_reduce parameter_dtype "
     "gradient_dtype optimizer_dtype reduce_dtype"},
};

/// Why a key of a schedule is no choice, where that is worth a word.
constexpr std::pair<const char*, const char*> kReasons[] = {
    {"buckets", "buckets are of whole tensors there, or a unit each where parameters are sharded"},
    {"sync", "when gradients are reduced is no choice there"},
    {"reduce_dtype", "the type of a reduction is no choice there"},
    {"parameter_dtype", "parameters are in the type that is computed in"},
    {"optimizer_dtype", "master parameters and states are in fp32"},
    {"prefetch", "parameters are gathered and freed as it decides"},
    {"offload_optimizer", "the parameters would go to the host too"},
    {"shard_group", "its shards are over all GPUs"},
};

JsonValue parsed(const std::string& text) { return parse_json(text, "").root; }
std::string text_at(const JsonValue& value, const std::string& pointer) {
  const JsonValue* const found = at_pointer(value, pointer);
  if (found == nullptr) return "null";
  return found->kind == JsonKind::kText     ? found->text
         : found->kind == JsonKind::kNumber ? fmt::format("{:g}", found->number)
                                            : dump_json(*found);
}
std::vector<std::string> words_of(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}
bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

bool lacks(const Value& row, const std::string& value) {
  return row.from[0] == '!' ? value != row.from + 1 && value != "null" : contains(words_of(row.from), value);
}
bool holds(When when, const Parallel& parallel) {
  const bool piped = parallel.pipeline > 1, one = parallel.schedule != PipelineSchedule::kInterleaved;
  if (when == When::kWhole) return !piped;
  return when == When::kTensor ? parallel.tensor > 1
                               : when == When::kAlways || (piped && (when == When::kPiped || one));
}

/// The one that splits as much, or nearly.
const ScheduleTraits& nearest_schedule(LaunchForm form, const Training& training, const JsonValue& entry) {
  const bool titan = form == LaunchForm::kTorchtitan, pytorch = framework_of(form) == Framework::kPytorch;
  if (titan && training.parallel.pipeline > 1) return plain_sharded_schedule();  // whose stages keep their parameters
  Sharding split = traits_of(text_at(entry, "/name")).sharding;
  const bool shards = text_at(entry, "/optimizer_sharding") == name_of(OptimizerSharding::kZeroRedundancy);
  if (split == Sharding::kNothing && (titan || (shards && form != LaunchForm::kFsdp2))) split = Sharding::kOptimizer;
  if (pytorch && split == Sharding::kOptimizer) split = Sharding::kGradients;  // fully_shard without reshard
  if (framework_of(form) == Framework::kMegatron && split == Sharding::kGradients) split = Sharding::kOptimizer;
  return plain_schedule(split);
}

void check_adapters(LaunchForm form) {
  std::vector<std::string> others;
  for (const LaunchForm each : values_of<LaunchForm>())
    if (kForms[static_cast<std::size_t>(each)].adapters == nullptr) others.emplace_back(name_of(each));
  if (const char* const none = kForms[static_cast<std::size_t>(form)].adapters; none != nullptr)
    throw ScenarioError({fmt::format("{} has no LoRA: {}; leave \"lora\" out, or ask for {}", title_of(form), none,
                                     in_words(others, " or "))});
}

/// What the scenario's framework does by itself is kept where another one does something else.
void keep_choices(Framework framework, const LoadedScenario& loaded, const JsonValue& resolved, Nearest& nearest) {
  const Training& training = loaded.scenario.training;
  if (training.framework == framework) return;
  const long long runs = 1LL * training.parallel.pipeline * training.parallel.chunks;
  const std::vector<int> usual = usual_blocks(framework, loaded.scenario.model.num_hidden_layers, runs).blocks;
  for (const char* const key : {"optimizer_implementation", "parallel/sequence_parallel", "parallel/overlap_p2p",
                                "parallel/scatter_gather_p2p", "parallel/stage_layers"}) {
    const std::string place = std::string("/training/") + key;
    const bool set = std::ranges::any_of(nearest.set, [&](const std::string& each) {
      return each.starts_with(place + "=") || (key[0] == 'p' && each.starts_with("/training/parallel="));
    });
    const bool same = key == std::string("parallel/stage_layers") && usual == training.parallel.blocks;
    if (const JsonValue* const value = at_pointer(resolved, place); value != nullptr && !set && !same)
      nearest.set.push_back(place + "=" + dump_json(*value));
  }
}

/// The training's part.
void replace_values(LaunchForm form, const LoadedScenario& loaded, const JsonValue& resolved, Nearest& nearest) {
  const Scenario& scenario = loaded.scenario;
  const Training& training = scenario.training;
  const auto replace = [&](const std::string& key, const std::string& to, const char* why) {
    const std::string place = "/training/" + key, was = text_at(resolved, place);
    if (to != "null" || at_pointer(loaded.tree->root, place) != nullptr) nearest.set.push_back(place + "=" + to);
    nearest.replaced.push_back({"", key, was, to, why});
  };
  if (form != LaunchForm::kFsdp2 && training.autocast != Autocast::kNone && bytes_of(training.precision) > Bytes{2})
    replace("precision", form == LaunchForm::kTorchtitan ? name_of(Dtype::kBf16) : name_of(training.autocast),
            "what is computed in is what parameters are stored or gathered in");
  const RecomputedBlocks& part = training.recomputed_blocks;
  if (framework_of(form) == Framework::kMegatron && (part.every > 1 || part.fraction < 1)) {
    const std::vector<int>& chunks = training.parallel.blocks;
    const int most = chunks.empty() ? scenario.model.num_hidden_layers : *std::ranges::max_element(chunks);
    replace("recompute_layers", std::to_string(std::max(1L, std::lround(most * part.fraction / part.every))),
            "it recomputes the first blocks of a chunk");
  }
  for (const Value& row : kValues) {
    if ((row.forms & bit(form)) == 0 || !holds(row.when, training.parallel)) continue;
    if (!lacks(row, text_at(resolved, std::string("/training/") + row.key))) continue;
    if (row.key == std::string("parallel") && model_ranks_of(training.parallel) * training.parallel.experts == 1)
      continue;
    replace(row.key, row.to, row.why);
    if (row.key != std::string("parallel")) continue;
    // The samples of an update stay, of other numbers of replicas.
    if (at_pointer(loaded.tree->root, "/training/gradient_accumulation_steps") != nullptr)
      nearest.set.emplace_back("/training/gradient_accumulation_steps=null");
    nearest.set.push_back(fmt::format("/training/global_batch_size={:.0f}", samples_asked(scenario)));
  }
  keep_choices(framework_of(form), loaded, resolved, nearest);
  nearest.set.push_back(fmt::format("/training/framework={}", name_of(framework_of(form))));
}

}  // namespace

Framework framework_of(LaunchForm form) { return kForms[static_cast<std::size_t>(form)].framework; }
const char* title_of(LaunchForm form) { return kForms[static_cast<std::size_t>(form)].title; }

bool can_say(LaunchForm form, const std::string& set) {
  return std::none_of(std::begin(kValues), std::end(kValues), [&](const Value& row) {
    const std::string place = std::string("/training/") + row.key;
    const bool here = set.starts_with(place + "="),
               inside = row.key == std::string("parallel") && set.starts_with(place + "/");
    return (row.forms & bit(form)) != 0 && row.when == When::kAlways &&
           (inside || (here && lacks(row, set.substr(place.size() + 1))));
  });
}

JsonValue nearest_entry(LaunchForm form, const Training& training, const std::optional<Cluster>& cluster,
                        const JsonValue& entry) {
  const ScheduleTraits& near = nearest_schedule(form, training, entry);
  const Sharding split = find_schedule(near.name, framework_of(form))->sharding;
  std::vector<std::string> keys{"label", "micro_batch_size", "virtual_pipeline_stages"};
  JsonValue made = json_object({{"name", near.name}});
  // A key is taken where it can be read behind those before it, and does not say what is so anyhow.
  const auto take = [&](const std::string& key, const JsonValue& value) {
    JsonValue before = made, tried = made, read;
    tried.set(key, value);
    read = tried;
    if (!schedule_of(read, training, cluster)) return;
    schedule_of(before, training, cluster);
    if (text_at(before, pointer_part(key)) != text_at(read, pointer_part(key))) made = std::move(tried);
  };
  for (const Keys& row : kKeys)
    for (const std::string& word :
         (row.forms & bit(form)) != 0 && row.split == split ? words_of(row.keys) : words_of("")) {
      const std::size_t equals = word.find('=');
      keys.push_back(word.substr(0, equals));
      if (equals == std::string::npos) continue;
      keys.pop_back();
      const std::string value = word.substr(equals + 1);
      take(word.substr(0, equals), value == "true" ? JsonValue(true) : JsonValue(value));
    }
  // What shards parameters hides its messages, and so does what stands in its place.
  if (entry.find("overlap") == nullptr && near.name != text_at(entry, "/name"))
    for (const char* const key : {"overlap", "overlap_param_gather"})
      if (near.takes(key)) take(key, key == std::string("overlap") ? JsonValue("backward") : JsonValue(true));
  for (const JsonMember& member : entry.members) {
    const bool reduced = member.key == "gradient_dtype" && member.value.text != name_of(Dtype::kFp32),
               late = member.key == "bucket_cap_mb" && framework_of(form) == Framework::kMegatron &&
                      text_at(made, "/overlap") != name_of(Overlap::kBackward);
    if (!contains(keys, member.key) || late) continue;
    if (reduced && form != LaunchForm::kFsdp2 && member.value.text != name_of(training.precision)) continue;
    take(member.key, member.value);
  }
  if (form == LaunchForm::kDeepspeed) take("all_reduce", name_of(Sync::kLastMicroBatch));  // MiCS, once it is there
  return made;
}

std::string not_typed(LaunchForm form, const Training& training, const std::optional<Cluster>& cluster,
                      const JsonValue& entry) {
  const ScheduleTraits& traits = traits_of(text_at(entry, "/name"));
  if (traits.delayed || traits.local) return fmt::format("{} has no {}", title_of(form), traits.title);
  JsonValue made = nearest_entry(form, training, cluster, entry), own = entry;
  if (text_at(made, "/name") != traits.name) return why_nearest(form);
  const bool same = schedule_of(made, training, cluster) == schedule_of(own, training, cluster);
  return same ? "" : fmt::format("{} has no such choice", title_of(form));
}

JsonValue resolved_entry(const LoadedScenario& loaded, const std::string& label) {
  const JsonValue resolved = parsed(loaded.resolved());
  for (const JsonValue& entry : resolved.find("schedules")->elements)
    if (text_at(entry, "/label") == label) return entry;
  return json_object({{"name", plain_sharded_schedule().name}});
}

Nearest nearest_to(LaunchForm form, const LoadedScenario& loaded, JsonValue entry) {
  Nearest nearest;
  if (loaded.scenario.training.lora.on()) check_adapters(form);
  replace_values(form, loaded, parsed(loaded.resolved()), nearest);
  Scenario ground;
  try {
    ground = ground_with(*loaded.tree, nearest.set);
  } catch (const ScenarioError& error) {
    throw ScenarioError({fmt::format("the nearest that {} has cannot be: {}", title_of(form), error.errors.front())});
  }
  JsonValue made = nearest_entry(form, ground.training, ground.cluster, entry), usual = json_object(JsonOrigin{});
  usual.set("name", *entry.find("name"));
  // Under another schedule's name it would not be known again.
  if (text_at(made, "/name") != text_at(entry, "/name")) made.erase("label");
  JsonValue read = made;
  schedule_of(read, ground.training, ground.cluster);
  schedule_of(usual, loaded.scenario.training, loaded.scenario.cluster);
  for (const JsonMember& member : entry.members) {
    const std::string place = pointer_part(member.key), was = text_at(entry, place), is = text_at(read, place);
    // A choice that is none any more is told where it was made.
    if (member.key == "label" || was == is || (is == "null" && was == text_at(usual, place))) continue;
    const auto reason = std::find_if(std::begin(kReasons), std::end(kReasons),
                                     [&](const auto& each) { return member.key == each.first; });
    const char* const why = member.key == "name"           ? why_nearest(form)
                            : reason == std::end(kReasons) ? ""
                                                           : reason->second;
    nearest.replaced.push_back({text_at(entry, "/label"), member.key, was, is, why});
  }
  nearest.set.push_back("/schedules=[" + dump_json(made) + "]");
  nearest.set.push_back("/baseline=" + quoted_json(text_at(read, "/label")));
  nearest.set.emplace_back("/published={}");
  return nearest;
}

}  // namespace accosim
