// Mixtures of experts: models to the last parameter, and a layer's FLOPs, bytes and memory by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/price/kernel.hpp"
#include "models/price/layers.hpp"
#include "models/read/hf_config.hpp"
#include "models/read/load.hpp"
#include "tests/models/sample_models.hpp"

namespace accosim {
namespace {

struct Read {
  std::optional<Model> model;
  std::vector<std::string> errors;
};
Read read(const std::string& text) {
  JsonDocument document = parse_json(text, "config.json");
  Diagnostics diagnostics;
  std::optional<Model> model = read_model(document.root, "", diagnostics);
  return {std::move(model), diagnostics.errors};
}

struct Published {
  const char* name;
  std::int64_t all, active;
};

// Of the makers' checkpoints, or, of the active ones of the last five, by their modules; Kimi K2 and Moonlight are
// published as 1.03 T with 32.9 B and as 15.96 B.
TEST(Experts, TheShippedModelsHaveTheParametersOfTheirCheckpoints) {
  for (const Published& each : {Published{"mixtral-8x7b-v0.1", 46'702'792'704, 12'879'925'248},
                                {"mixtral-8x22b-v0.1", 140'620'634'112, 39'152'031'744},
                                {"qwen3-30b-a3b", 30'532'122'624, 3'353'032'704},
                                {"qwen3-235b-a22b", 235'093'634'560, 22'190'763'520},
                                {"deepseek-v2-lite", 15'706'484'224, 2'661'150'208},
                                {"deepseek-v2", 235'741'434'880, 21'375'800'320},
                                {"deepseek-v3", 671'026'419'200, 37'552'297'472},
                                {"kimi-k2", 1'026'408'232'448, 32'861'500'928},
                                {"moonlight-16b-a3b", 15'960'110'208, 2'914'776'192},
                                {"gpt-oss-20b", 20'914'757'184, 4'187'440'704},
                                {"gpt-oss-120b", 116'829'156'672, 5'711'982'912},
                                {"olmoe-1b-7b", 6'919'161'856, 1'282'017'280},
                                {"qwen1.5-moe-a2.7b", 14'315'784'192, 2'689'173'504}}) {
    EXPECT_EQ(parameter_count(load_model(each.name)), each.all) << each.name;
    EXPECT_EQ(active_parameters(load_model(each.name)), each.active) << each.name;
  }
  EXPECT_EQ(active_parameters(load_model("llama-3-8b")), parameter_count(load_model("llama-3-8b")));
}

TEST(Experts, NamesOfTheHubAreThoseOfTheFiles) {
  for (const char* name : {"mistralai/Mixtral-8x7B-Instruct-v0.1", "Qwen/Qwen3-30B-A3B-Instruct-2507",
                           "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V3-Base", "deepseek-ai/DeepSeek-V2-Lite-Chat",
                           "moonshotai/Kimi-K2-Instruct", "allenai/OLMoE-1B-7B-0924"})
    EXPECT_GT(load_model(name).experts.count, 0) << name;
}

// As the makers publish them, with what says nothing of the step and what their releases are quantised with.
TEST(Experts, ConfigsAreReadAsTheyArePublished) {
  const Read v3 =
      read(R"({"architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"}, "bos_token_id": 0, "eos_token_id": 1,
    "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168, "initializer_range": 0.02,
    "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840, "model_type": "deepseek_v3",
    "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1,
    "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
    "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "quantization_config": {"activation_scheme": "dynamic", "quant_method": "fp8"},
    "rms_norm_eps": 1e-06, "rope_scaling": {"type": "yarn"}, "rope_theta": 10000, "routed_scaling_factor": 2.5,
    "scoring_func": "sigmoid", "tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc",
    "torch_dtype": "bfloat16", "transformers_version": "4.33.1", "use_cache": true, "v_head_dim": 128,
    "vocab_size": 129280})");
  ASSERT_TRUE(v3.model) << v3.errors.front();
  EXPECT_EQ(parameter_count(*v3.model), 671'026'419'200);
  EXPECT_EQ(v3.model->head_dim, 192);
  EXPECT_FALSE(has_experts(*v3.model, 2));
  EXPECT_TRUE(has_experts(*v3.model, 3));
  EXPECT_EQ(v3.model->unread.size(), 1U);  // the quantisation of the release

  const Read oss = read(R"({"architectures": ["GptOssForCausalLM"], "attention_bias": true, "attention_dropout": 0.0,
    "eos_token_id": 200002, "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880,
    "initial_context_length": 4096, "initializer_range": 0.02, "intermediate_size": 2880,
    "max_position_embeddings": 131072, "model_type": "gpt_oss", "num_attention_heads": 64, "num_experts_per_tok": 4,
    "num_hidden_layers": 24, "num_key_value_heads": 8, "num_local_experts": 32, "output_router_logits": false,
    "quantization_config": {"quant_method": "mxfp4"}, "rms_norm_eps": 1e-05, "rope_theta": 150000,
    "router_aux_loss_coef": 0.9, "sliding_window": 128, "swiglu_limit": 7.0, "tie_word_embeddings": false,
    "transformers_version": "4.55.0.dev0", "use_cache": true, "vocab_size": 201088})");
  ASSERT_TRUE(oss.model) << oss.errors.front();
  EXPECT_EQ(parameter_count(*oss.model), 20'914'757'184);
  EXPECT_EQ(oss.model->attention_window[0], 128);
  EXPECT_EQ(oss.model->attention_window[1], 0);

  const Read qwen = read(R"({"model_type": "qwen3_moe", "attention_bias": false, "decoder_sparse_step": 1,
    "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960,
    "max_window_layers": 48, "mlp_only_layers": [0, 5], "moe_intermediate_size": 768, "norm_topk_prob": true,
    "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
    "num_key_value_heads": 4, "output_router_logits": false, "router_aux_loss_coef": 0.001, "sliding_window": null,
    "tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 151936})");
  ASSERT_TRUE(qwen.model) << qwen.errors.front();
  // Two of the layers have an MLP of 3 h x 6144 in the place of 128 of 3 h x 768 and a router.
  EXPECT_EQ(parameter_count(*qwen.model),
            30'532'122'624 - 2 * (128 * 3 * 2048L * 768 + 2048L * 128 - 3 * 2048L * 6144));
  EXPECT_TRUE(qwen.model->unread.empty());
}

TEST(Experts, WhatMakesAnotherModelIsRefused) {
  const std::string sizes = R"({"model_type": "qwen3_moe", "num_hidden_layers": 2, "hidden_size": 64,
    "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 64, "vocab_size": 100,
    "max_position_embeddings": 128, "moe_intermediate_size": 32, )";
  for (const auto& [members, what] : std::vector<std::pair<std::string, std::string>>{
           {R"("num_experts": 4, "num_experts_per_tok": 8})", "is 8, and there are num_experts = 4; write fewer"},
           {R"("num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 2})",
            "experts in some of the layers"},
           {R"("num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [2]})", "layers are 0 to 1"},
           {R"("num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": ["a"]})", "layers are 0 to 1"},
           {R"("num_experts": 0, "num_experts_per_tok": 0})", "num_experts"},
           {R"("num_experts_per_tok": 2})", "num_experts"},
           {R"("num_experts": 4, "num_experts_per_tok": 2, "quantization_config": {"a": 1}})", "quantised weights"}}) {
    const Read r = read(sizes + members);
    EXPECT_FALSE(r.model) << members;
    ASSERT_FALSE(r.errors.empty()) << members;
    EXPECT_NE(r.errors.front().find(what), std::string::npos) << r.errors.front();
  }
  const Read biased = read(R"({"model_type": "deepseek_v2", "num_hidden_layers": 2, "hidden_size": 64,
    "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100, "max_position_embeddings": 128,
    "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8, "attention_bias": true,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32})");
  ASSERT_EQ(biased.errors.size(), 1U) << biased.errors.back();
  EXPECT_NE(biased.errors[0].find("biases of latent attention are not modelled yet"), std::string::npos);
}

// TFLOP/s/GPU over tokens/s/GPU of NVIDIA's tables at 4096 tokens (NeMo Megatron-Bridge's performance summary), which
// leave the router's product out: 6 h E a layer and token.
TEST(Experts, FlopsOfATokenAreThoseOfPublishedTables) {
  Workload workload;
  workload.sequence_length = 4096;
  for (const auto& [name, published] :
       {std::pair("qwen3-235b-a22b", 148.0e9), {"qwen3-30b-a3b", 23.0e9}, {"gpt-oss-120b", 32.6e9}}) {
    const Model model = load_model(name);
    const double router = 6.0 * model.hidden_size * model.experts.count * model.num_hidden_layers;
    EXPECT_NEAR((model_flops(model, workload).value / 4096 - router) / published, 1, 2e-3) << name;
  }
}

/// A layer of random sizes.
struct Case {
  Model model;
  Workload workload{};
  double tokens{}, h{}, f{}, experts{}, k{}, shared{}, rows{};
  Layer layer() const { return layers_of(model, workload)[1]; }
};
Case random_case(Random& random, Implementation code) {
  Case c{.model = llama(1, 64 * random.integer(1, 9), 4, 4, 128, 1000)};
  c.model.family = "qwen2_moe";
  Experts& experts = c.model.experts;
  experts.count = 8 * random.integer(1, 8);
  experts.per_token = random.integer(1, 8);
  experts.inner_size = 16 * random.integer(1, 20);
  experts.shared_inner_size = random.integer(0, 1) * 48;
  experts.in_layer = {true};
  c.workload.sequence_length = 128 * random.integer(1, 4);
  c.workload.micro_batch_size = random.integer(1, 3);
  c.workload.implementation = code;
  c.tokens = 1.0 * c.workload.sequence_length * c.workload.micro_batch_size;
  c.h = c.model.hidden_size, c.f = experts.inner_size, c.experts = experts.count, c.k = experts.per_token;
  c.shared = experts.shared_inner_size;
  c.rows = c.tokens * c.k;
  return c;
}

// bf16, gated: up has columns 2 f. Of E experts of A / E rows each: A h + E h 2 f + A 2 f elements forward, A f + E f h
// + A h for down; each of both gradients computes as much.
TEST(Experts, ALayerComputesAndMovesWhatItsRowsNeed) {
  Random random(7);
  for (int i = 0; i < 50; ++i)
    for (const Implementation code : {Implementation::kEager, Implementation::kCompiled, Implementation::kFused}) {
      Case c = random_case(random, code);
      c.workload.experts_implementation = ExpertsImplementation::kEager;
      const Layer layer = c.layer();
      const double a = c.rows, h = c.h, f = c.f, e = c.experts;
      const Operator &up = find(layer, "expert up"), &down = find(layer, "expert down");
      EXPECT_NEAR(up.forward_flops.value + down.forward_flops.value, 6 * a * h * f, 1e-6 * a * h * f);
      EXPECT_NEAR(up.backward_flops.value + down.backward_flops.value, 12 * a * h * f, 1e-6 * a * h * f);
      const double read_again = code == Implementation::kEager ? a * h : 0;  // gate and up are two products
      EXPECT_NEAR(up.forward_bytes.value, 2 * (a * h + read_again + e * h * 2 * f + a * 2 * f), 1e-3);
      EXPECT_NEAR(down.forward_bytes.value, 2 * (a * f + e * f * h + a * h), 1e-3);
      EXPECT_NEAR(find(layer, "permute").forward_bytes.value, 4 * a * h, 1e-3);
      EXPECT_NEAR(find(layer, "router").forward_flops.value, 2 * c.tokens * h * e, 1e-3);
      EXPECT_NEAR(up.parameters + down.parameters, 3 * e * h * f, 1e-6);
      EXPECT_NEAR(find(layer, "router").parameters, h * e, 1e-9);
      EXPECT_EQ(up.activations.value, 2 * a * h);
      EXPECT_EQ(down.activations.value, 2 * a * f);
      EXPECT_EQ(find(layer, "router").activations.value, 2 * c.tokens * h + 5 * c.tokens * e);
      EXPECT_EQ(has(layer, "shared expert up"), c.shared > 0);
      if (c.shared > 0) {
        EXPECT_NEAR(find(layer, "shared expert up").forward_flops.value, 4 * c.tokens * h * c.shared, 1e-3);
      }
      EXPECT_FALSE(has(layer, "dispatch"));
      // Eager code launches a GEMM for each expert and matrix, Transformer Engine all in one call: the time of a launch
      // of Python's, and of one more for 16 experts.
      EXPECT_EQ(up.forward_kernels, code == Implementation::kEager      ? 2 * e
                                    : code == Implementation::kCompiled ? 1
                                                                        : 1 + std::floor(e / 16));
    }
}

// A rows of T tokens, bf16. Out: the tokens' rows gathered (2 A h elements), sorted (2 A h); their gradients added to
// zeros (3 A h) and to tokens (A h + 2 T h: zeros, sums). Back: weighed 2 A h, sorted 2 A h, summed A h + T h;
// gradients sorted 3 A h, of rows 2 A h and of weights 4 A h.
TEST(Experts, EagerCodeSortsRowsByIndexingAndHasOneProduct) {
  Random random(11);
  for (int i = 0; i < 20; ++i) {
    Case c = random_case(random, Implementation::kEager);
    const Layer layer = c.layer();
    const double a = c.rows, t = c.tokens, h = c.h;
    EXPECT_EQ(find(layer, "permute").forward_bytes.value, 2 * 4 * a * h);
    EXPECT_EQ(find(layer, "permute").backward_bytes.value, 2 * (4 * a * h + 2 * t * h));
    EXPECT_EQ(find(layer, "unpermute").forward_bytes.value, 2 * (5 * a * h + t * h));
    EXPECT_EQ(find(layer, "unpermute").backward_bytes.value, 2 * 9 * a * h);
    EXPECT_EQ(find(layer, "unpermute").activations.value, 2 * a * h);  // the weights' gradients need the rows
    EXPECT_EQ(find(layer, "expert up").forward_kernels, 1);
    c.workload.experts_implementation = ExpertsImplementation::kEager;
    const Layer looped = c.layer();
    EXPECT_DOUBLE_EQ(find(looped, "expert up").forward_flops.value, find(layer, "expert up").forward_flops.value);
    EXPECT_EQ(find(looped, "expert up").parameters, find(layer, "expert up").parameters);
  }
}

TEST(Experts, ManyGemmsInOneKernelFillTheDeviceAndALoopDoesNot) {
  const Device device = load_device("H100-SXM");
  const Gemm one{1, 64, 768, 2048};
  Kernel looped = gemm_kernel(one);
  looped.repeats = 128;
  Gemm all = one;
  all.batch = 128;
  const Kernel grouped = gemm_kernel(all);
  EXPECT_EQ(flops_of(looped).value, flops_of(grouped).value);
  EXPECT_EQ(bytes_of(looped).value, bytes_of(grouped).value);
  EXPECT_EQ(kernel_time(looped, device, Dtype::kBf16).value,
            128 * kernel_time(gemm_kernel(one), device, Dtype::kBf16).value);
  EXPECT_LT(2 * kernel_time(grouped, device, Dtype::kBf16), kernel_time(looped, device, Dtype::kBf16));
}

TEST(Experts, RanksThatSplitTensorsHaveAPartOfEachExpertAndAllOfTheRouter) {
  Random random(3);
  Case c = random_case(random, Implementation::kFused);
  c.model.experts.shared_inner_size = 48;
  ModelShare half{.tensor = 2, .sequence = true};
  const Layer whole = c.layer(), layer = layers_of(c.model, c.workload, half)[1];
  EXPECT_EQ(2 * find(layer, "expert up").parameters, find(whole, "expert up").parameters);
  EXPECT_EQ(2 * find(layer, "expert down").forward_flops.value, find(whole, "expert down").forward_flops.value);
  EXPECT_EQ(find(layer, "router").parameters, find(whole, "router").parameters);
  EXPECT_EQ(find(layer, "router").alike, find(whole, "router").parameters);
  EXPECT_EQ(2 * find(layer, "router").forward_flops.value, find(whole, "router").forward_flops.value);
  ASSERT_EQ(find(layer, "permute").messages.size(), 3U);
  EXPECT_EQ(find(layer, "permute").messages[0],
            (TensorMessage{CollectiveKind::kAllGather, Bytes{2 * c.tokens * c.h}, false, Beside::kNothing}));
}

// Multiply-adds a token: h q_r + q_r a (d_n + d_r) + h (kv_r + d_r) + kv_r a (d_n + d_v) + a d_v h.
TEST(Experts, LatentAttentionPassesNarrowVectors) {
  const Model v3 = load_model("deepseek-v3");
  Workload workload;
  workload.sequence_length = 256;
  const Layer layer = layers_of(v3, workload)[1];
  const double h = 7168, a = 128, q = 1536, kv = 512, n = 128, r = 64, v = 128;
  double products = 0;
  for (const char* name : {"query down", "query up", "key and value down", "key and value up", "output projection"})
    products += find(layer, name).forward_flops.value;
  EXPECT_EQ(products, 2 * 256 * (h * q + q * a * (n + r) + h * (kv + r) + kv * a * (n + v) + a * v * h));
  // QK' over 192 elements, PV over 128, half of the square.
  EXPECT_EQ(find(layer, "attention").forward_flops.value, 2 * a * (n + r + v) * 256 * 256 / 2);
  EXPECT_EQ(find(layer, "attention").activations.value, 256 * (2 * a * (n + r + n + r + v) + 4 * a));
  EXPECT_EQ(find(layer, "query norm").parameters, q);
  EXPECT_EQ(find(layer, "mlp up").parameters, 2 * h * 18432);  // the first layer is dense
}

// _apply_bias: 2 kernels an expert, one that joins and one that casts; elements of 2 bytes, in between of 4.
TEST(Experts, MergedCodeAddsBiasesExpertByExpert) {
  Random random(11);
  Case c = random_case(random, Implementation::kFused);
  c.model.experts.shared_inner_size = 0;
  EXPECT_FALSE(has(c.layer(), "expert bias"));
  c.model.mlp_bias = true;
  const Layer layer = c.layer();
  const Operator& bias = find(layer, "expert bias");
  EXPECT_EQ(bias.forward_kernels, 2 * c.experts + 2);
  EXPECT_EQ(bias.forward_bytes.value, c.rows * c.h * (4 + (4 + 2 + 4) + (4 + 4) + (4 + 2)));
  EXPECT_EQ(bias.backward_kernels, 5 * c.experts + 1);
  EXPECT_EQ(bias.backward_bytes.value, c.rows * c.h * ((2 + 4) + (4 + 2) + 2 * (4 + 4 + 4)));
}

TEST(Experts, RecomputedLayersHaveTheirExpertsTwice) {
  Workload workload;
  workload.sequence_length = 256;
  const Model model = load_model("olmoe-1b-7b");
  const Layer plain = layers_of(model, workload)[1];
  workload.recompute = Recompute::kFull;
  const Layer again = layers_of(model, workload)[1];
  EXPECT_EQ(find(again, "expert up").backward_flops.value,
            find(plain, "expert up").backward_flops.value + find(plain, "expert up").forward_flops.value);
  EXPECT_LT(activations(again), activations(plain));
}

}  // namespace
}  // namespace accosim
