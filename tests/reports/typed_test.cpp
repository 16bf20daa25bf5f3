// Scenarios as they are typed: each line by hand, names that the frameworks' own parsers have, the nearest where a
// framework lacks something, and the way back through the readers of launch scripts.
#include "models/launch/typed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/base/json.hpp"
#include "models/base/names.hpp"
#include "models/launch/import_launch.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/shipped.hpp"
#include "reports/launch/typed_text.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/random.hpp"

namespace accosim {
namespace {

constexpr const char* kCluster = "dgx-h100-4x8";

JsonValue parsed(const std::string& text) {
  const JsonDocument document = parse_json(text, "test");
  EXPECT_TRUE(document.errors.empty()) << text << (document.errors.empty() ? "" : document.errors.front());
  return document.root;
}

/// A scenario on four nodes of eight H100, of Llama 3 8B unless it says otherwise.
LoadedScenario scenario_of(const std::string& training, const std::string& schedule,
                           const std::string& model = "\"llama-3-8b\"", int nodes = 4) {
  JsonValue tree =
      parsed("{\"schema\": \"accosim.scenario/1\", \"name\": \"mine\", \"model\": " + model + ", \"cluster\": \"" +
             kCluster + "\", \"training\": " + training + ", \"schedules\": [" + schedule + "]}");
  return load_scenario_tree(std::move(tree), "mine.json", {"/cluster/nodes/0/count=" + std::to_string(nodes)});
}

const std::string kTraining =
    R"("sequence_length": 4096, "micro_batch_size": 2, "global_batch_size": 256, "train_tokens": 1e9)";
LoadedScenario with(const std::string& training, const std::string& schedule) {
  return scenario_of("{" + kTraining + training + "}", schedule);
}

/// What is nearest to a scenario's first schedule.
struct Near {
  Nearest nearest;
  LoadedScenario loaded{};
  Typed typed{};

  const ScheduleSpec& spec() const { return loaded.scenario.schedules.front(); }
};
Near near(LaunchForm form, const LoadedScenario& loaded) {
  Near all{.nearest = nearest_to(form, loaded, resolved_entry(loaded, loaded.scenario.schedules.front().label))};
  all.loaded = load_again(loaded, all.nearest.set);
  all.typed = typed(form, all.loaded.scenario, all.spec());
  return all;
}

/// "--bf16", "train.micro_batch_size=2", "/zero_optimization/stage: 1": the line of a name; "-" where there is none.
std::string line(const Near& near, const std::string& name) {
  for (const auto* const lines : {&near.typed.file, &near.typed.arguments})
    for (const TypedLine& each : *lines)
      if (each.name == name || each.part + "/" + each.name == name)
        return each.value ? dump_json(*each.value) : "there";
  return "-";
}
std::string why(const Near& near, const std::string& key) {
  for (const Replaced& each : near.nearest.replaced)
    if (each.key == key) return each.was + " -> " + each.is + ": " + each.why;
  return "-";
}

struct Case {
  const char* name;
  LaunchForm form;
  std::string training, schedule;
  const char *line, *value;
};
class TypedLines : public testing::TestWithParam<Case> {};
TEST_P(TypedLines, SaysWhatTheScenarioHas) {
  const Case& each = GetParam();
  EXPECT_EQ(line(near(each.form, with(each.training, each.schedule)), each.line), each.value);
}

constexpr LaunchForm kMegatron = LaunchForm::kMegatron, kTitan = LaunchForm::kTorchtitan,
                     kDeepspeed = LaunchForm::kDeepspeed, kFsdp2 = LaunchForm::kFsdp2, kBridge = LaunchForm::kBridge;
const std::string kZero1 = R"({"name": "zero1"})",
                  kOverlapped = R"({"name": "zero1", "overlap": "backward", "overlap_param_gather": true})",
                  kZero3 = R"({"name": "zero3"})", kNode = R"({"name": "zero3", "shard_group": "node"})";
const std::string kOfMegatron = R"(, "framework": "megatron", "implementation": "fused")",
                  kSplit = kOfMegatron + R"(, "parallel": {"tensor_parallel_size": 2, "pipeline_parallel_size": 4)";

const Case kCases[] = {
    // Megatron-LM
    {"blocks", kMegatron, "", kZero1, "num-layers", "32"},
    {"queries", kMegatron, "", kZero1, "num-query-groups", "8"},
    {"batch", kMegatron, "", kZero1, "global-batch-size", "256"},
    // 1e9 tokens in updates of 256 x 4096 = 1,048,576 are 953.67
    {"updates", kMegatron, "", kZero1, "train-iters", "954"},
    {"sharded", kMegatron, "", kZero1, "use-distributed-optimizer", "there"},
    {"not_sharded", kMegatron, "", R"({"name": "ddp"})", "use-distributed-optimizer", "-"},
    {"beside", kMegatron, kOfMegatron, kOverlapped, "overlap-param-gather", "there"},
    // 25 MiB of fp32 are 6,553,600 elements; by itself it takes max(40e6, 32e6)
    {"bucket", kMegatron, kOfMegatron, R"({"name": "zero1", "overlap": "backward", "bucket_cap_mb": 25})",
     "ddp-bucket-size", "6553600"},
    {"usual_bucket", kMegatron, kOfMegatron, kOverlapped, "ddp-bucket-size", "-"},
    {"sums_in_fp32", kMegatron, kOfMegatron, kZero1, "grad-reduce-in-bf16", "-"},
    {"sums_in_bf16", kMegatron, "", kZero1, "grad-reduce-in-bf16", "there"},
    {"clipped", kMegatron, R"(, "gradient_clipping": true)", kZero1, "clip-grad", "1.0"},
    {"not_clipped", kMegatron, "", kZero1, "clip-grad", "0.0"},
    {"stages", kMegatron, kSplit + "}", kZero1, "pipeline-model-parallel-size", "4"},
    {"chunks", kMegatron, kSplit + R"(, "virtual_pipeline_stages": 2})", kZero1, "num-virtual-stages-per-pipeline-rank",
     "2"},
    {"shared_blocks", kMegatron, kSplit + R"(, "stage_layers": [7, 9, 9, 7]})", kZero1,
     "pipeline-model-parallel-layout", "\"Ettttttt|(ttttttttt|)*2tttttttL\""},
    {"everything_sharded", kMegatron, "", kZero3, "data-parallel-sharding-strategy", "\"optim_grads_params\""},
    // 4 nodes: 4 copies
    {"sharded_in_nodes", kMegatron, "", kNode, "num-distributed-optimizer-instances", "4"},
    {"half_of_the_blocks", kMegatron, R"(, "activation_recompute": "full", "recompute_fraction": 0.5)", kZero1,
     "recompute-num-layers", "16"},
    // Megatron-Bridge
    {"override", kBridge, "", kZero1, "train.micro_batch_size", "2"},
    {"override_off", kBridge, "", kZero1, "ddp.overlap_grad_reduce", "false"},
    {"precision_by_name", kBridge, "", kZero1, "mixed_precision", "\"bf16_mixed\""},
    // torchtitan
    {"flavor", kTitan, "", kZero3, "flavor", "\"8B\""},
    {"local_batch", kTitan, "", kZero3, "local_batch_size", "2"},
    // 256 samples of 4 replicas are 64 of each, as micro-batches of one flight
    {"local_batch_of_stages", kTitan, R"(, "parallel": {"tensor_parallel_size": 2, "pipeline_parallel_size": 4})",
     kZero1, "local_batch_size", "64"},
    {"size_in_a_flight", kTitan, R"(, "parallel": {"tensor_parallel_size": 2, "pipeline_parallel_size": 4})", kZero1,
     "pipeline_parallel_microbatch_size", "2"},
    {"copies", kTitan, "", kNode, "data_parallel_replicate_degree", "4"},
    {"resharded", kTitan, "", kZero3, "fsdp_reshard_after_forward", "\"always\""},
    {"kept", kTitan, "", R"({"name": "zero3", "reshard_after_forward": false})", "fsdp_reshard_after_forward",
     "\"never\""},
    {"some_operators", kTitan, R"(, "activation_recompute": "selective_op")", kZero3, "selective_ac_option", "\"op\""},
    {"every_second", kTitan, R"(, "activation_recompute": "full_early_stop", "recompute_every": 2)", kZero3,
     "selective_ac_option", "\"2\""},
    {"compiled", kTitan, R"(, "implementation": "compiled")", kZero3, "compile/enable", "true"},
    // DeepSpeed
    {"stage", kDeepspeed, "", R"({"name": "zero3"})", "/zero_optimization/stage", "3"},
    {"beside_of_deepspeed", kDeepspeed, R"(, "framework": "deepspeed")", R"({"name": "zero1", "overlap": "backward"})",
     "/zero_optimization/overlap_comm", "true"},
    // 100 MiB of bf16
    {"bucket_of_deepspeed", kDeepspeed, R"(, "framework": "deepspeed")",
     R"({"name": "zero2", "overlap": "backward", "bucket_cap_mb": 100})", "/zero_optimization/reduce_bucket_size",
     "52428800"},
    {"on_the_host", kDeepspeed, R"(, "framework": "deepspeed")", R"({"name": "zero2", "offload_optimizer": true})",
     "/zero_optimization/offload_optimizer/device", "\"cpu\""},
    {"without_reentry", kDeepspeed, R"(, "activation_recompute": "full_early_stop")", kZero3,
     "gradient_checkpointing_kwargs", R"("{\"use_reentrant\": false}")"},
    // 256 / (2 x 32)
    {"accumulated", kDeepspeed, "", kZero3, "/gradient_accumulation_steps", "4"},
    {"mics", kDeepspeed, "", kNode, "/zero_optimization/mics_shard_size", "8"},
    // PyTorch
    {"mesh", kFsdp2, "", kNode, R"(mesh = init_device_mesh("cuda", (4, 8), mesh_dim_names=("replicate", "shard",)))",
     "there"},
    {"once_an_update", kFsdp2, "", R"({"name": "zero3", "sync": "last_micro_batch"})",
     "        model.set_requires_gradient_sync(i == 3)", "there"},
    {"every_micro_batch", kFsdp2, "", kZero3, "        model.set_requires_gradient_sync(i == 3)", "-"},
    {"policy", kFsdp2, "", R"({"name": "zero3", "reduce_dtype": "fp32"})",
     "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)", "there"},
    {"replicas", kFsdp2, "", R"({"name": "ddp", "broadcast_buffers": false, "gradient_as_bucket_view": true})",
     "model = DistributedDataParallel(model, bucket_cap_mb=25, gradient_as_bucket_view=True, broadcast_buffers=False)",
     "there"},
};
INSTANTIATE_TEST_SUITE_P(Typed, TypedLines, testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

struct Lack {
  const char* name;
  LaunchForm form;
  std::string training, schedule;
  const char *key, *why;  ///< how the sentence begins
};
class NearestOf : public testing::TestWithParam<Lack> {};
TEST_P(NearestOf, IsToldWithItsReason) {
  const Lack& each = GetParam();
  const std::string told = why(near(each.form, with(each.training, each.schedule)), each.key);
  EXPECT_TRUE(told.starts_with(each.why)) << told;
}
const Lack kLacks[] = {
    {"units", kMegatron, "", R"({"name": "zero1", "overlap": "backward"})", "buckets",
     "units -> tensors: buckets are of whole tensors"},
    {"gradients_sharded", kMegatron, R"(, "framework": "deepspeed")", R"({"name": "zero2"})", "name",
     "zero2 -> zero1: Megatron-LM shards the optimizer's states"},
    {"one_sync", kTitan, "", R"({"name": "zero3", "sync": "last_micro_batch"})", "sync",
     "last_micro_batch -> every_micro_batch: when gradients are reduced"},
    {"no_optimizer_alone", kTitan, "", kZero1, "name", "zero1 -> zero2: torchtitan shards with fully_shard"},
    {"fused", kFsdp2, kOfMegatron, kZero3, "implementation", "fused -> compiled: torch.compile"},
    {"eager", kMegatron, "", kZero1, "implementation", "eager -> fused: its kernels"},
    {"stages", kDeepspeed, R"(, "parallel": {"tensor_parallel_size": 2, "pipeline_parallel_size": 4})", kZero1,
     "parallel", R"({"tensor_parallel_size":2)"},
    {"in_fp32", kTitan, "", kZero3, "reduce_dtype", "bf16 -> fp32: the type of a reduction"},
    {"early_stop", kMegatron, R"(, "activation_recompute": "full_early_stop")", kZero1, "activation_recompute",
     "full_early_stop -> full: it recomputes a block to its end"},
    {"a_share", kDeepspeed, R"(, "activation_recompute": "full", "recompute_fraction": 0.5)", kZero3,
     "recompute_fraction", "0.5 -> null: which blocks are recomputed"},
    {"states_in_bf16", kMegatron, "", R"({"name": "zero1", "optimizer_dtype": "bf16"})", "optimizer_dtype",
     "bf16 -> fp32: master parameters"},
    {"autocast", kMegatron, R"(, "precision": "fp32", "autocast": "bf16")", kZero1, "precision",
     "fp32 -> bf16: what is computed in"},
    {"prefetch", kTitan, "", R"({"name": "zero3", "prefetch": 2})", "prefetch", "2 -> 1: parameters are gathered"},
    {"on_the_host", kFsdp2, "", R"({"name": "zero3", "offload_optimizer": true})", "offload_optimizer",
     "true -> false: the parameters would go"},
    {"in_nodes", kDeepspeed, R"(, "framework": "deepspeed")", R"({"name": "zero1", "shard_group": "node"})",
     "shard_group", "node -> world: its shards are over all"},
    {"dropout", kTitan, R"(, "dropout": 0.1)", kZero3, "dropout", "0.1 -> 0: its models"},
};
INSTANTIATE_TEST_SUITE_P(Typed, NearestOf, testing::ValuesIn(kLacks), [](const auto& each) { return each.param.name; });

TEST(Typed, ExpertsAreTypedWhereAFrameworkHasThem) {
  const auto of = [](const char* model) {
    return scenario_of("{" + kTraining + kOfMegatron + R"(, "parallel": {"expert_parallel_size": 8}})", kZero1,
                       std::string("\"") + model + "\"");
  };
  const Near mixtral = near(kMegatron, of("mixtral-8x7b-v0.1")), deepseek = near(kMegatron, of("deepseek-v3"));
  EXPECT_EQ(line(mixtral, "num-experts"), "8");
  EXPECT_EQ(line(mixtral, "moe-ffn-hidden-size"), "14336");
  EXPECT_EQ(line(mixtral, "expert-model-parallel-size"), "8");
  EXPECT_EQ(line(mixtral, "moe-layer-freq"), "-");
  EXPECT_EQ(line(near(kMegatron, with(kOfMegatron, kZero1)), "moe-layer-freq"), "-");
  EXPECT_EQ(line(deepseek, "moe-layer-freq"), "\"([0]*3+[1]*58)\"");
  EXPECT_EQ(line(deepseek, "q-lora-rank"), "1536");
  EXPECT_EQ(line(deepseek, "moe-shared-expert-intermediate-size"), "2048");  // one of 2,048
  EXPECT_EQ(line(near(kBridge, of("mixtral-8x7b-v0.1")), "model.expert_model_parallel_size"), "8");
  const Near titan = near(kTitan, of("qwen3-30b-a3b"));
  EXPECT_EQ(line(titan, "flavor"), "\"30B-A3B\"");
  EXPECT_EQ(line(titan, "expert_parallel_degree"), "8");
}

TEST(Typed, SamplesOfAnUpdateStayWhereTheModelIsSplitNoMore) {
  // 4 replicas of 8 GPUs with 32 micro-batches of 2 are 32 with 4.
  const LoadedScenario split = scenario_of(
      R"({"sequence_length": 4096, "micro_batch_size": 2, "gradient_accumulation_steps": 32, "train_tokens": 1e9,
          "parallel": {"tensor_parallel_size": 2, "pipeline_parallel_size": 4}})",
      kZero1);
  const Near of_deepspeed = near(kDeepspeed, split);
  EXPECT_EQ(samples_asked(of_deepspeed.loaded.scenario), samples_asked(split.scenario));
  EXPECT_EQ(line(of_deepspeed, "per_device_train_batch_size"), "2");
  EXPECT_EQ(line(of_deepspeed, "/gradient_accumulation_steps"), "4");
}

TEST(Typed, SamplesThatCannotBeSharedAreRefused) {
  // 12 samples of 4 replicas; 32 replicas of 1 cannot share them.
  const LoadedScenario split = scenario_of(
      R"({"sequence_length": 4096, "micro_batch_size": 1, "global_batch_size": 12, "train_tokens": 1e9,
          "parallel": {"tensor_parallel_size": 8}})",
      kZero1);
  EXPECT_THROW(near(kDeepspeed, split), ScenarioError);
}

TEST(Typed, TorchtitanSharesBlocks) {
  const auto shares = [](int blocks, int stages, int chunks, std::vector<int> own) {
    Parallel parallel{.pipeline = stages, .chunks = chunks, .blocks = std::move(own)};
    const std::optional<TitanShares> found = titan_shares(blocks, parallel);
    return found ? std::vector<int>{found->first, found->last, found->per_stage} : std::vector<int>{};
  };
  // 32 + 2 on four stages: 9 9 8 8, less one of the first and of the last.
  EXPECT_EQ(shares(32, 4, 1, {8, 9, 8, 7}), (std::vector{1, 1, 0}));
  EXPECT_EQ(shares(32, 4, 1, {8, 8, 8, 8}), (std::vector{0, 0, 0}));
  // 126 + 2 on 16 stages of 8 chunks: one each; with that many chunks a stage it says how many blocks each has.
  EXPECT_EQ(shares(126, 16, 8,
                   [] {
                     std::vector<int> all(128, 1);
                     all.front() = all.back() = 0;
                     return all;
                   }()),
            (std::vector{1, 1, 1}));
  EXPECT_EQ(shares(32, 4, 1, {5, 9, 9, 9}), (std::vector<int>{}));
}

/// Of a file beside this one, a name a line.
std::set<std::string> names_of(const std::string& file) {
  std::ifstream in(data_dir() + "/tests/reports/names/" + file);
  std::set<std::string> names;
  for (std::string name; std::getline(in, name);) names.insert(name);
  EXPECT_GT(names.size(), 20U) << file;
  return names;
}

/// How a model is split over so many ranks, as a key of the training; nothing where it is not.
std::string random_parallel(Random& random, int tensor, int stages, int experts) {
  if (tensor == 1 && stages == 1 && experts == 1) return "";
  const auto maybe = [&](int of, const std::string& text) { return random.integer(1, of) == 1 ? text : std::string(); };
  std::string text = fmt::format(
      R"(, "parallel": {{"tensor_parallel_size": {}, "pipeline_parallel_size": {}, "expert_parallel_size": {})", tensor,
      stages, experts);
  if (tensor > 1) text += maybe(2, R"(, "sequence_parallel": true)");
  if (experts > 1)
    text += maybe(2, fmt::format(R"(, "expert_dispatcher": "{}")",
                                 name_of(values_of<Dispatcher>()[static_cast<std::size_t>(random.integer(0, 3))])));
  if (stages > 1) text += maybe(3, R"(, "virtual_pipeline_stages": 2)") + maybe(4, R"(, "order": "tp-cp-ep-pp-dp")");
  return text + "}";
}

/// One of many scenarios that load: of any framework, split or not.
LoadedScenario random_scenario(Random& random) {
  const auto one_of = [&](const std::vector<std::string>& all) {
    return all[static_cast<std::size_t>(random.integer(0, static_cast<int>(all.size()) - 1))];
  };
  const auto maybe = [&](int of, const std::string& text) { return random.integer(1, of) == 1 ? text : std::string(); };
  while (true) {
    const std::string framework = one_of({"pytorch", "deepspeed", "megatron"});
    const int tensor = 1 << random.integer(0, 2), stages = 1 << random.integer(0, 2), nodes = random.integer(1, 4);
    const int layers = stages * random.integer(1, 4);
    const std::string sizes = one_of({"1024", "2048"});
    const std::string blocks = std::to_string(layers);
    const int kind = random.integer(0, 4), experts = kind == 4 ? 1 << random.integer(0, 3) : 1;
    const std::string gated = R"(, "num_hidden_layers": )" + blocks + R"(, "hidden_size": )" + sizes +
                              R"(, "num_attention_heads": 16, "vocab_size": 32768, "max_position_embeddings": 4096,
                                   "intermediate_size": 5632, "num_key_value_heads": )" +
                              one_of({"4", "8", "16"}) + R"(, "tie_word_embeddings": )" + one_of({"true", "false"});
    const std::string model =
        kind < 2   ? R"({"model_type": "llama")" + gated + "}"
        : kind < 4 ? R"({"model_type": "gpt2", "n_layer": )" + blocks + R"(, "n_embd": )" + sizes +
                         R"(, "n_head": 16, "n_positions": 4096, "vocab_size": 51200})"
                   : one_of({R"({"model_type": "mixtral", "num_local_experts": 16)",
                             R"({"model_type": "qwen3_moe", "mlp_only_layers": [0], "num_experts": 16,
                                 "moe_intermediate_size": 768)",
                             R"({"model_type": "qwen2_moe", "num_experts": 16, "moe_intermediate_size": 512,
                                 "shared_expert_intermediate_size": 2048)",
                             R"({"model_type": "deepseek_v2", "n_routed_experts": 16, "moe_intermediate_size": 512,
                                 "n_shared_experts": 2, "first_k_dense_replace": 1, "q_lora_rank": null,
                                 "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32,
                                 "v_head_dim": 64)"}) +
                         R"(, "num_experts_per_tok": 2)" + gated + "}";
    std::string training = R"({"sequence_length": )" + one_of({"1024", "2048"}) + R"(, "micro_batch_size": )" +
                           one_of({"1", "2", "4"}) + R"(, "gradient_accumulation_steps": )" + one_of({"4", "8", "16"}) +
                           R"(, "train_tokens": 1e9, "framework": ")" + framework + R"(", "precision": ")" +
                           one_of({"bf16", "fp16", "fp32", "bf16"}) + "\"";
    training += maybe(3, R"(, "implementation": ")" + one_of({"compiled", "fused"}) + "\"");
    training += maybe(
        2, R"(, "activation_recompute": ")" + one_of({"selective", "selective_op", "full", "full_early_stop"}) + "\"");
    if (training.find("full") != std::string::npos)
      training += maybe(3, one_of({R"(, "recompute_every": 2)", R"(, "recompute_layers": 1)"}));
    training += maybe(3, R"(, "attention": ")" + one_of({"naive", "flash_3", "memory_efficient"}) + "\"");
    training += maybe(3, R"(, "gradient_clipping": true)") + maybe(3, R"(, "dropout": 0.1)");
    training += maybe(5, R"(, "autocast": "bf16")");
    training += random_parallel(random, tensor, stages, experts);
    std::string schedule = R"({"name": ")" + one_of({"ddp", "zero1", "zero2", "zero3", "zero1"}) + "\"";
    schedule += maybe(2, R"(, "overlap": "backward")") + maybe(3, R"(, "overlap_param_gather": true)");
    schedule += maybe(4, R"(, "bucket_cap_mb": )" + one_of({"25", "100"}));
    schedule += maybe(4, R"(, "gradient_dtype": ")" + one_of({"fp32", "bf16"}) + "\"");
    schedule += maybe(5, R"(, "shard_group": "node")") + maybe(5, R"(, "offload_optimizer": true)");
    schedule += maybe(5, R"(, "sync": "last_micro_batch")") + maybe(6, R"(, "prefetch": 2)");
    schedule += maybe(6, R"(, "micro_batch_size": 1)") + maybe(6, R"(, "reduction": "all_reduce")");
    schedule += maybe(6, R"(, "reshard_after_forward": false)") + maybe(8, R"(, "parameter_sync": "broadcast")");
    schedule += "}";
    try {
      return scenario_of(training + "}", schedule, model, nodes);
    } catch (const ScenarioError&) {  // what does not go together is drawn again
    }
  }
}

/// The nearest of a random scenario; nothing where its samples cannot be shared so.
std::optional<Near> random_near(LaunchForm form, const LoadedScenario& loaded) {
  try {
    return near(form, loaded);
  } catch (const ScenarioError&) {
    return {};
  }
}

TEST(Typed, TheNearestLacksNothingAndEachNameIsOneThatTheFrameworkHas) {
  const std::set<std::string> megatron = names_of("megatron_core_v0.15.txt"),
                              bridge = names_of("megatron_bridge_067f987.txt"),
                              titan = names_of("torchtitan_v0.2.0.txt"), deepspeed = names_of("deepspeed_edaa722.txt"),
                              trainer = names_of("hugging_face_00349ae.txt");
  Random random(11);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    const LoadedScenario loaded = random_scenario(random);
    for (const LaunchForm form : values_of<LaunchForm>()) {
      SCOPED_TRACE(std::to_string(i) + " " + name_of(form) + loaded.resolved());
      const std::optional<Near> each = random_near(form, loaded);
      if (!each) continue;
      ++found;
      const Scenario& scenario = each->loaded.scenario;
      // What is nearest to it is itself.
      const Near again = near(form, each->loaded);
      for (const Replaced& more : again.nearest.replaced) ADD_FAILURE() << in_words(more);
      EXPECT_EQ(again.loaded.scenario.training, scenario.training);
      EXPECT_EQ(not_typed(form, scenario.training, scenario.cluster, resolved_entry(each->loaded, each->spec().label)),
                "");
      EXPECT_EQ(samples_asked(scenario), samples_asked(loaded.scenario));
      for (const TypedLine& line : each->typed.arguments) {
        const std::set<std::string>& names = form == kBridge ? bridge : form == kMegatron ? megatron : trainer;
        EXPECT_TRUE(names.contains(line.name)) << line.name;
      }
      for (const TypedLine& line : each->typed.file) {
        if (form == kFsdp2) continue;
        EXPECT_TRUE(form == kTitan ? titan.contains(line.part + "." + line.name)
                                   : deepspeed.contains(line.part + "/" + line.name))
            << line.part << " " << line.name;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(found, 700);  // of 1000
}

/// What the text was read back to.
Scenario read_back(LaunchForm form, const Near& near, std::string& text) {
  TypedAnswer answer{.form = form, .typed = near.typed, .name = "mine", .schedule = near.spec().label};
  text = typed_text(answer);
  LaunchOptions options{.cluster = kCluster};
  options.nodes = near.typed.nodes;
  if (form == kDeepspeed) options.model = "llama-3-8b";  // the Trainer's is a file of its own
  if (form == kTitan) {                                  // which has no such flavour
    options.model = testing::TempDir() + "/accosim_typed_model.json";
    std::ofstream(options.model) << dump_json(*parsed(near.loaded.resolved()).find("model"));
  }
  JsonValue scenario = import_launch(text, form == kTitan ? "mine.toml" : "mine.sh", options).scenario;
  scenario.find("schedules")->elements.resize(1);  // without what it is compared with
  return load_scenario_tree(std::move(scenario), "mine.sh", {}).scenario;
}

/// What of a training the text carries: all but how it is drawn, what the machine is, the release of PyTorch, and
/// FlashAttention 3, which is a matter of what is installed; tokens as whole updates.
Training carried(LaunchForm form, Training training) {
  if (form == kMegatron && training.attention == Attention::kFlash3) training.attention = Attention::kFlash;
  if (form == kDeepspeed) {
    training.dropout = 0;  // is the model's
    // Of Hugging Face's Trainer the reader takes what DeepSpeed would.
    training.optimizer_implementation = OptimizerImplementation::kFused;
  }
  training.train_tokens = 0;
  training.unsteady = {};
  training.pytorch.reset();
  training.launch_interval.reset();
  return training;
}

std::string in_lines(const Training& training, const ScheduleSpec& spec) {
  std::ostringstream out;
  out << "b " << training.micro_batch_size << " A " << training.gradient_accumulation_steps << " p "
      << name_of(training.precision) << " ac " << name_of(training.autocast) << " att " << name_of(training.attention)
      << " rec " << name_of(training.activation_recompute) << in_words(training.recomputed_blocks) << " impl "
      << name_of(training.implementation) << " opt " << name_of(training.optimizer_implementation) << " drop "
      << training.dropout << " clip " << training.gradient_clipping << " t " << training.parallel.tensor << " p "
      << training.parallel.pipeline << " v " << training.parallel.chunks << " seq " << training.parallel.sequence
      << " over " << training.parallel.overlap_messages << " | " << spec.name << " " << name_of(spec.overlap) << " "
      << name_of(spec.buckets) << " " << spec.bucket_cap.value << " " << spec.first_bucket.value << " "
      << spec.gather_cap.value << " g " << name_of(spec.gradient_dtype) << " par " << name_of(spec.parameter_dtype)
      << " red " << name_of(spec.reduce_dtype) << " view " << spec.gradient_as_bucket_view << " "
      << spec.overlap_param_gather << spec.align_param_gather << spec.offload_optimizer << " "
      << name_of(spec.parameter_sync) << " " << name_of(spec.reduction) << " " << name_of(spec.sync);
  return out.str();
}

void expect_the_way_back(LaunchForm form, std::uint64_t seed) {
  Random random(seed);
  int found = 0;
  for (int i = 0; found < 200; ++i) {
    const LoadedScenario loaded = random_scenario(random);
    const std::optional<Near> each = random_near(form, loaded);
    if (!each) continue;
    const Scenario& scenario = each->loaded.scenario;
    // What nothing else holds a shard of is not sharded by fully_shard: it trains under autocast.
    if (form == kTitan && Typing(scenario, each->spec()).replicas == 1) continue;
    ++found;
    std::string text;
    const Scenario back = read_back(form, *each, text);
    const int near_nodes = each->typed.nodes;
    const accosim::Typing typing(scenario, each->spec());
    const Training own = carried(form, typing.training), read = carried(form, back.training);
    ScheduleSpec spec = each->spec(), spec_read = back.schedules.front();
    spec.label = spec_read.label;
    spec.micro_batch_size = 0;  // the training's, in the text
    // fully_shard without reshard has two names.
    if (form == kTitan && program_of(spec) == program_of(spec_read)) {
      spec.name = spec_read.name;
      spec.runs_as = spec_read.runs_as;
    }
    spec.chunks = 0;
    if (near_nodes == 1) spec.island = spec_read.island;  // a node that is alone is the world
    EXPECT_EQ(own, read) << i << "\n" << in_lines(own, spec) << "\n" << in_lines(read, spec_read) << "\n" << text;
    EXPECT_EQ(spec, spec_read) << i << "\n" << in_lines(own, spec) << "\n" << in_lines(read, spec_read) << "\n" << text;
    EXPECT_EQ(samples_asked(scenario), samples_asked(back));
    EXPECT_NEAR(back.training.train_tokens, scenario.training.train_tokens,
                0.51 * samples_asked(scenario) * scenario.training.sequence_length);
    if (form == kMegatron) {
      Model model = back.model;  // the vocabulary is padded to a multiple of 128 t, and its name is another
      model.name = scenario.model.name;
      EXPECT_NEAR(model.vocab_size, scenario.model.vocab_size, 128 * own.parallel.tensor);
      model.vocab_size = scenario.model.vocab_size;
      EXPECT_EQ(parameter_count(model), parameter_count(scenario.model)) << text;
      EXPECT_EQ(model.num_key_value_heads, scenario.model.num_key_value_heads);
    }
    if (testing::Test::HasFailure()) return;
  }
}
TEST(Typed, MegatronsFlagsAreReadBackToTheSameScenario) { expect_the_way_back(kMegatron, 1); }
TEST(Typed, TorchtitansFilesAreReadBackToTheSameScenario) { expect_the_way_back(kTitan, 3); }
TEST(Typed, DeepspeedsFilesAreReadBackToTheSameScenario) { expect_the_way_back(kDeepspeed, 2); }

TEST(Typed, NothingThatSomebodyWroteLeavesItsComment) {
  const LoadedScenario loaded = with("", kZero1);
  Near each = near(kMegatron, loaded);
  TypedAnswer answer{.form = kMegatron,
                     .typed = each.typed,
                     .name = "mine\nrm -rf /",
                     .schedule = "a\rb\x1b[31m",
                     .command = "accosim resolve 'x\n' ",
                     .said = {"told\n--num-layers 99"}};
  const std::string text = typed_text(answer);
  EXPECT_FALSE(holds(text, "\nrm -rf"));
  EXPECT_FALSE(holds(text, "\n--num-layers 99"));
  EXPECT_FALSE(holds(text, "\x1b"));
  EXPECT_EQ(
      import_launch(text, "mine.sh", {.cluster = kCluster}).scenario.find("model")->find("num_hidden_layers")->text,
      "32");
}

TEST(Typed, LinesThatDifferFromTheScriptsAreMarked) {
  const Near before = near(kMegatron, with(kOfMegatron + R"(, "activation_recompute": "selective")", kZero1)),
             after = near(kMegatron, with(kOfMegatron + R"(, "dropout": 0.1)", kOverlapped));
  TypedAnswer answer{.form = kMegatron, .typed = after.typed, .before = before.typed};
  const std::string text = typed_text(answer);
  EXPECT_TRUE(holds(text, "--hidden-dropout 0.1  # was 0.0\n"));
  EXPECT_TRUE(holds(text, "--overlap-grad-reduce  # was not there\n"));
  EXPECT_TRUE(holds(text, "# without --recompute-granularity \"selective\"\n"));
  EXPECT_TRUE(holds(text, "--micro-batch-size 2\n"));
}

TEST(Typed, AJsonHasNoCommentsAndItsDifferencesFollow) {
  const Near before = near(kDeepspeed, with("", R"({"name": "zero3"})")),
             after = near(kDeepspeed, with("", R"({"name": "zero1"})"));
  TypedAnswer answer{.form = kDeepspeed, .typed = after.typed, .before = before.typed};
  const std::string text = typed_text(answer);
  const std::size_t begins = text.find("<<'EOF'\n") + 8, ends = text.find("\nEOF\n");
  EXPECT_TRUE(parse_json(text.substr(begins, ends - begins), "").errors.empty());
  EXPECT_EQ(text.substr(begins, ends - begins).find('#'), std::string::npos);
  EXPECT_TRUE(holds(text, "# ds_config.json: /zero_optimization/stage was 3\n"));
  EXPECT_TRUE(holds(text, "# ds_config.json: /zero_optimization/overlap_comm was not there\n"));
}

}  // namespace
}  // namespace accosim
