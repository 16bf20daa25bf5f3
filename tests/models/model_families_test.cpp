// Is each family the model that transformers builds: to the last parameter, in the layers that see a window, in the
// products and norms of a block?
#include "models/spec/model_families.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/price/layers.hpp"
#include "models/read/hf_config.hpp"
#include "models/read/load.hpp"
#include "models/spec/shipped.hpp"
#include "tests/models/sample_models.hpp"

namespace accosim {
namespace {

Model read(const std::string& text) {
  JsonDocument document = parse_json(text, "config.json");
  Diagnostics diagnostics;
  const std::optional<Model> model = read_model(document.root, "", diagnostics);
  EXPECT_TRUE(model.has_value()) << (diagnostics.errors.empty() ? text : diagnostics.errors.front());
  return model.value_or(Model{});
}

// As published by the makers, from the tensors of their checkpoints.
TEST(ModelFamilies, TheShippedModelsHaveTheParametersOfTheirCheckpoints) {
  for (const auto& [name, parameters] :
       std::vector<std::pair<std::string, std::int64_t>>{{"qwen2.5-0.5b", 494'032'768},
                                                         {"qwen2.5-1.5b", 1'543'714'304},
                                                         {"qwen2.5-3b", 3'085'938'688},
                                                         {"qwen2.5-7b", 7'615'616'512},
                                                         {"qwen2.5-14b", 14'770'033'664},
                                                         {"qwen2.5-32b", 32'763'876'352},
                                                         {"qwen2.5-72b", 72'706'203'648},
                                                         {"qwen3-0.6b", 596'049'920},
                                                         {"qwen3-1.7b", 1'720'574'976},
                                                         {"qwen3-4b", 4'022'468'096},
                                                         {"qwen3-8b", 8'190'735'360},
                                                         {"qwen3-14b", 14'768'307'200},
                                                         {"qwen3-32b", 32'762'123'264},
                                                         {"gemma-2b", 2'506'172'416},
                                                         {"gemma-7b", 8'537'680'896},
                                                         {"gemma-2-2b", 2'614'341'888},
                                                         {"gemma-2-9b", 9'241'705'984},
                                                         {"gemma-2-27b", 27'227'128'320},
                                                         {"gemma-3-1b", 999'885'952},
                                                         {"gemma-3-4b", 3'880'263'168},
                                                         {"gemma-3-12b", 11'766'034'176},
                                                         {"gemma-3-27b", 27'009'346'304},
                                                         {"phi-3-mini-4k", 3'821'079'552},
                                                         {"phi-3-medium-4k", 13'960'238'080},
                                                         {"phi-4", 14'659'507'200},
                                                         {"olmo-2-1b", 1'484'916'736},
                                                         {"olmo-2-7b", 7'298'617'344},
                                                         {"olmo-2-13b", 13'716'198'400},
                                                         {"olmo-2-32b", 32'234'279'936},
                                                         {"phi-4-mini", 3'836'021'760},
                                                         {"llama-3.1-8b", 8'030'261'248},
                                                         {"llama-3.2-1b", 1'235'814'400},
                                                         {"llama-3.2-3b", 3'212'749'824},
                                                         {"llama-3.3-70b", 70'553'706'496},
                                                         {"mistral-7b-v0.1", 7'241'732'096},
                                                         {"mistral-7b-v0.3", 7'248'023'552},
                                                         {"mistral-small-24b", 23'572'403'200}})
    EXPECT_EQ(parameter_count(load_model(name)), parameters) << name;
}

TEST(ModelFamilies, SeventyModelsAreShippedAndTheirLayersHoldTheirParameters) {
  Workload workload;
  workload.sequence_length = 128;
  int models = 0;
  for (const ShippedFile& file : shipped_files(FileKind::kModel)) {
    const Model model = load_model(file.name);
    for (const Implementation code : {Implementation::kEager, Implementation::kFused}) {
      workload.implementation = code;
      EXPECT_EQ(parameters(layers_of(model, workload)), static_cast<double>(parameter_count(model))) << file.name;
    }
    ++models;
  }
  EXPECT_EQ(models, 72);
}

/// Pairs of a query and a key that it sees, one for one.
double pairs_of(int sequence, int window) {
  double pairs = 0;
  for (int query = 0; query < sequence; ++query) pairs += std::min(query + 1, window > 0 ? window : sequence);
  return pairs;
}

/// Multiply-adds of a token in matrix products, from the sizes.
double products_of(const Model& m) {
  const double h = m.hidden_size, d = m.head_dim, q = m.num_attention_heads * d, kv = m.num_key_value_heads * d;
  double attention = h * q + 2 * h * kv + q * h;
  if (const Latent& l = m.latent; l.key_value_rank > 0) {
    const double a = m.num_attention_heads, values = a * l.value_dim;
    attention = l.query_rank > 0 ? h * l.query_rank + l.query_rank * q : h * q;
    attention +=
        h * (l.key_value_rank + l.rotary_dim) + l.key_value_rank * (q - a * l.rotary_dim + values) + values * h;
  }
  const double of_inner = (m.gated_mlp ? 3.0 : 2.0) * h, experts = m.experts.count;
  double all = h * m.vocab_size;
  for (int i = 0; i < m.num_hidden_layers; ++i) {
    all += attention;
    all += has_experts(m, i)
               ? h * experts + of_inner * (m.experts.per_token * m.experts.inner_size + m.experts.shared_inner_size)
               : of_inner * m.intermediate_size;
  }
  return all;
}

// A training step takes 6 FLOPs a parameter that multiplies and token, and 12 d a head and pair: 6 (P - table) once
// with the head's table in place of the embedding's, the vectors of norms and biases being less than 0.1 % of them;
// once from the sizes of the matrices.
TEST(ModelFamilies, FlopsOfATokenAreThoseOfTwoFormulas) {
  Workload workload;
  workload.sequence_length = 4096;
  for (const ShippedFile& file : shipped_files(FileKind::kModel)) {
    const Model model = load_model(file.name);
    double attention = 0;
    for (int i = 0; i < model.num_hidden_layers; ++i) {
      const auto index = static_cast<std::size_t>(i);
      const int window = index < model.attention_window.size() ? model.attention_window[index] : 0;
      attention +=
          6.0 * model.num_attention_heads * (model.head_dim + value_dim_of(model)) * pairs_of(4096, window) / 4096;
    }
    const double flops = model_flops(model, workload).value / 4096;
    double table = model.tie_word_embeddings ? 0 : 1.0 * model.vocab_size * model.hidden_size;
    if (model.learned_positions) table += 1.0 * model.max_position_embeddings * model.hidden_size;
    const double by_parameters = 6 * (static_cast<double>(active_parameters(model)) - table) + attention;
    EXPECT_NEAR(flops / by_parameters, 1, 1e-3) << file.name;
    EXPECT_NEAR(flops / (6 * products_of(model) + attention), 1, 1e-3) << file.name;
  }
}

TEST(ModelFamilies, AConfigOfImagesAndTextIsThatOfItsText) {
  // Gemma 3 4B's: what its class has anyway is not there, such as heads, their size and the vocabulary.
  const Model gemma = read(R"({"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
    "boi_token_index": 255999, "image_token_index": 262144, "mm_tokens_per_image": 256,
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
      "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024},
    "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}})");
  EXPECT_EQ(parameter_count(gemma), 3'880'263'168);
  EXPECT_EQ(gemma.attention_window, load_model("gemma-3-4b").attention_window);
  EXPECT_EQ(gemma.unread.count("vision_config"), 1U);
  const Model mistral = read(R"({"model_type": "mistral3", "spatial_merge_size": 2, "vision_feature_layer": -1,
    "text_config": {"model_type": "mistral", "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
      "intermediate_size": 32768, "max_position_embeddings": 131072, "num_hidden_layers": 40, "rms_norm_eps": 1e-05,
      "rope_theta": 1000000000.0, "sliding_window": null, "vocab_size": 131072},
    "vision_config": {"model_type": "pixtral"}})");
  EXPECT_EQ(parameter_count(mistral), 23'572'403'200);
  EXPECT_FALSE(mistral.tie_word_embeddings);
}

TEST(ModelFamilies, AnotherTextThanTheFamilysIsNotTaken) {
  JsonDocument document = parse_json(R"({"model_type": "mistral3", "text_config": {"model_type": "ministral3"},
    "vision_config": {"hidden_size": 1024}})",
                                     "config.json");
  Diagnostics diagnostics;
  EXPECT_FALSE(read_model(document.root, "", diagnostics));
  EXPECT_EQ(diagnostics.errors,
            std::vector<std::string>{"config.json:2:22 /vision_config: models with an encoder of their own are not "
                                     "modelled yet (vision_config: {...}); name a model without"});
}

TEST(ModelFamilies, OnlyATextConfigLeavesSizesOut) {
  JsonDocument document = parse_json(R"({"model_type": "gemma3_text", "hidden_size": 2560})", "config.json");
  Diagnostics diagnostics;
  EXPECT_FALSE(read_model(document.root, "", diagnostics));
  EXPECT_EQ(diagnostics.errors.size(), 4U);  // layers, heads, inner size, vocabulary
}

TEST(ModelFamilies, ClassDefaultsStandInForMissingKeys) {
  const std::string sizes = R"("num_hidden_layers": 2, "hidden_size": 1024, "num_attention_heads": 16,
    "intermediate_size": 3072, "vocab_size": 1000, "max_position_embeddings": 4096)";
  const auto of = [&](const std::string& family, const std::string& more = "") {
    return read("{\"model_type\": \"" + family + "\", " + sizes + more + "}");
  };
  EXPECT_EQ(of("qwen3", R"(, "num_key_value_heads": 8)").head_dim, 128);
  EXPECT_EQ(of("gemma2").head_dim, 256);
  EXPECT_EQ(of("gemma2").num_key_value_heads, 4);
  EXPECT_EQ(of("llama").head_dim, 64);
  for (const char* tied : {"gemma", "gemma2", "gemma3_text", "cohere", "starcoder2", "smollm3"})
    EXPECT_TRUE(of(tied).tie_word_embeddings) << tied;
  for (const char* untied : {"llama", "phi3", "olmo2", "granite", "nemotron", "gpt_neox", "internlm2"})
    EXPECT_FALSE(of(untied).tie_word_embeddings) << untied;
  EXPECT_FALSE(of("qwen2", R"(, "num_key_value_heads": 2)").tie_word_embeddings);
  EXPECT_EQ(of("gemma", R"(, "hidden_act": "gelu", "hidden_activation": null)").activation, Activation::kGelu);
  EXPECT_TRUE(of("gemma", R"(, "hidden_act": "gelu")").unread.empty());
  EXPECT_EQ(of("nemotron").activation, Activation::kReluSquared);
  EXPECT_EQ(of("nemotron").rotary_share, 0.5);
  EXPECT_EQ(of("gpt_neox").rotary_share, 0.25);
}

TEST(ModelFamilies, WindowsAreInTheLayersThatTheConfigOrTheFamilySays) {
  const std::string sizes = R"("num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 4, "head_dim": 16, "intermediate_size": 64, "vocab_size": 100,
    "max_position_embeddings": 4096)";
  const auto windows = [&](const std::string& family, const std::string& more = "") {
    return read("{\"model_type\": \"" + family + "\", " + sizes + more + "}").attention_window;
  };
  using Windows = std::vector<int>;
  EXPECT_EQ(windows("gemma2"), (Windows{4096, 0, 4096, 0, 4096, 0}));
  EXPECT_EQ(windows("gemma3_text", R"(, "sliding_window": 512)"), (Windows{512, 512, 512, 512, 512, 0}));
  EXPECT_EQ(windows("gemma3_text", R"(, "sliding_window": 512, "sliding_window_pattern": 3)"),
            (Windows{512, 512, 0, 512, 512, 0}));
  EXPECT_EQ(windows("qwen2", R"(, "sliding_window": 128, "use_sliding_window": false, "max_window_layers": 2)"),
            (Windows{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(windows("qwen2", R"(, "sliding_window": 128, "use_sliding_window": true, "max_window_layers": 4)"),
            (Windows{0, 0, 0, 0, 128, 128}));
  EXPECT_EQ(windows("phi3"), (Windows{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(windows("phi3", R"(, "sliding_window": 2047)"), (Windows{2047, 2047, 2047, 2047, 2047, 2047}));
  EXPECT_EQ(windows("starcoder2", R"(, "sliding_window": null)"), (Windows{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(windows("mistral", R"(, "sliding_window": 9, "layer_types": ["full_attention", "sliding_attention",
    "full_attention", "full_attention", "full_attention", "full_attention"])"),
            (Windows{0, 9, 0, 0, 0, 0}));
  EXPECT_TRUE(read("{\"model_type\": \"qwen2\", " + sizes + R"(, "sliding_window": 128, "use_sliding_window": false})")
                  .unread.empty());
}

TEST(ModelFamilies, LayerTypesThatAreNotModelledOrDoNotFitAreErrors) {
  for (const char* types : {R"(["full_attention"])", R"(["chunked_attention", "full_attention"])", "[3, 4]", "7",
                            R"([["full_attention"], "full_attention"])"}) {
    JsonDocument document = parse_json(R"({"model_type": "gemma2", "num_hidden_layers": 2, "hidden_size": 64,
      "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100, "layer_types": )" +
                                           std::string(types) + R"(, "max_position_embeddings": 4096})",
                                       "config.json");
    Diagnostics diagnostics;
    EXPECT_FALSE(read_model(document.root, "", diagnostics)) << types;
    EXPECT_EQ(diagnostics.errors.size(), 1U) << types;
  }
}

// h the width, f the inner size, V tokens, q and k elements of all queries and of all keys; a norm has h or 2 h.
TEST(ModelFamilies, FamiliesThatAreNotShippedHaveThePartsOfTheirModules) {
  // Falcon 7B, as published: one key-value head of 64, one norm of two vectors, no bias: h (h + 2 x 64) + h^2 + 8 h^2 +
  // 2 h in each of 32 layers, 2 h behind them, V h once.
  const Model falcon = read(R"({"alibi": false, "apply_residual_connection_post_layernorm": false, "bias": false,
    "hidden_dropout": 0.0, "hidden_size": 4544, "layer_norm_epsilon": 1e-05, "model_type": "falcon",
    "multi_query": true, "new_decoder_architecture": false, "num_attention_heads": 71, "num_hidden_layers": 32,
    "parallel_attn": true, "torch_dtype": "bfloat16", "vocab_size": 65024})");
  const std::int64_t h = 4544;
  EXPECT_EQ(parameter_count(falcon), 32 * (h * (h + 128) + 9 * h * h + 2 * h) + 2 * h + 65024 * h);
  EXPECT_EQ(parameter_count(falcon), 6'921'720'704);
  // The 40B: 8 key-value heads, and a norm each for attention and MLP.
  const Model larger = read(R"({"alibi": false, "bias": false, "hidden_size": 8192, "model_type": "falcon",
    "new_decoder_architecture": true, "num_attention_heads": 128, "num_hidden_layers": 60, "num_kv_heads": 8,
    "parallel_attn": true, "multi_query": true, "vocab_size": 65024})");
  const std::int64_t w = 8192;
  EXPECT_EQ(larger.num_key_value_heads, 8);
  EXPECT_EQ(parameter_count(larger), 60 * (w * (w + 2 * 512) + 9 * w * w + 4 * w) + 2 * w + 65024 * w);
  // Pythia 6.9B, a GPT-NeoX: biases everywhere, two norms though attention and MLP are side by side, a head of its own.
  const Model pythia = read(R"({"model_type": "gpt_neox", "hidden_size": 4096, "intermediate_size": 16384,
    "num_attention_heads": 32, "num_hidden_layers": 32, "vocab_size": 50432, "max_position_embeddings": 2048,
    "rotary_pct": 0.25, "rotary_emb_base": 10000, "hidden_act": "gelu", "use_parallel_residual": true,
    "tie_word_embeddings": false})");
  const std::int64_t p = 4096;
  EXPECT_EQ(parameter_count(pythia), 32 * (12 * p * p + 13 * p) + 2 * p + 2 * 50432 * p);
  EXPECT_EQ(pythia.parallel_norms, 2);
  // StarCoder2 3B: two vectors a norm, biases, tied: 3,030,371,328 as published.
  EXPECT_EQ(parameter_count(read(R"({"model_type": "starcoder2", "hidden_size": 3072, "intermediate_size": 12288,
    "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2, "vocab_size": 49152,
    "max_position_embeddings": 16384, "sliding_window": 4096, "use_bias": true, "hidden_act": "gelu_pytorch_tanh"})")),
            3'030'371'328);
  // Command R 35B: one norm a layer, of one vector.
  const Model command = read(R"({"model_type": "cohere", "hidden_size": 8192, "intermediate_size": 22528,
    "num_hidden_layers": 40, "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 256000,
    "max_position_embeddings": 8192, "logit_scale": 0.0625, "use_qk_norm": false})");
  EXPECT_EQ(parameter_count(command), 40 * (4 * w * w + 3 * w * 22528 + w) + w + 256000 * w);
  EXPECT_EQ(parameter_count(command), 34'980'831'232);
  // Granite 3.1 8B, tied: 8,170,848,256 as published.
  const Model granite = read(R"({"model_type": "granite", "hidden_size": 4096, "intermediate_size": 12800,
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 49155,
    "max_position_embeddings": 131072, "embedding_multiplier": 12.0, "residual_multiplier": 0.22,
    "logits_scaling": 16.0, "attention_multiplier": 0.0078125, "tie_word_embeddings": true})");
  EXPECT_EQ(parameter_count(granite), 8'170'848'256);
  EXPECT_TRUE(granite.unread.empty());
  // InternLM2 7B: 7,737,708,544 as published.
  EXPECT_EQ(parameter_count(read(R"({"model_type": "internlm2", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 92544, "bias": false,
    "max_position_embeddings": 32768, "rope_scaling": {"type": "dynamic", "factor": 2.0}})")),
            7'737'708'544);
  // Minitron 4B, a Nemotron: 2 h^2 + 2 h k + 2 h f + 4 h in each of 32 layers, 2 h behind them, V h twice.
  const std::int64_t n = 3072;
  EXPECT_EQ(parameter_count(read(R"({"model_type": "nemotron", "hidden_size": 3072, "intermediate_size": 9216,
    "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128,
    "vocab_size": 256000, "max_position_embeddings": 4096, "partial_rotary_factor": 0.5, "hidden_act": "relu2"})")),
            32 * (2 * n * n + 2 * n * 1024 + 2 * n * 9216 + 4 * n) + 2 * n + 2 * 256000 * n);
}

Layer block_of(const std::string& name, Implementation code = Implementation::kEager,
               Attention attention = Attention::kFlash, Recompute recompute = Recompute::kNone) {
  Workload workload{.sequence_length = 128, .attention = attention, .recompute = recompute, .implementation = code};
  return layers_of(load_model(name), workload)[1];
}

std::vector<std::string> names_of(const Layer& layer) { return mapped<std::string>(layer.operators, &Operator::name); }

TEST(ModelFamilies, NormsStandWhereTheFamilyHasThem) {
  EXPECT_EQ(
      names_of(block_of("olmo-2-7b")),
      (std::vector<std::string>{"qkv projection", "query and key norm", "rotary", "attention", "output projection",
                                "attention output norm", "attention residual", "mlp up", "activation", "mlp down",
                                "mlp output norm", "mlp residual", "gradient accumulation"}));
  const Layer gemma = block_of("gemma-2-9b");
  for (const char* norm : {"attention norm", "attention output norm", "mlp norm", "mlp output norm"})
    EXPECT_EQ(find(gemma, norm).parameters, 3584) << norm;
  EXPECT_FALSE(has(gemma, "query and key norm"));
  // Of each head one vector for all of 128; or one as wide as all queries, and all keys.
  EXPECT_EQ(find(block_of("qwen3-8b"), "query and key norm").parameters, 2 * 128);
  EXPECT_EQ(find(block_of("olmo-2-32b"), "query and key norm").parameters, 5120 + 1024);
}

// Eager RMSNorm is 8 kernels, for 16 bits, and moves 2 x 6 + 5 x 4 + 2 x 2 = 36 bytes an element: of the 4096 queries
// and 1024 keys of 128 tokens. Merged it is one kernel for queries and one for keys, which read and write 2 bytes.
TEST(ModelFamilies, NormsOfQueriesAndKeysMoveTheirElements) {
  const double elements = 128 * (4096 + 1024);
  const Operator eager = find(block_of("qwen3-8b"), "query and key norm");
  EXPECT_EQ(eager.forward_bytes.value, 36 * elements);
  EXPECT_EQ(eager.forward_kernels, 16);
  const Operator merged = find(block_of("qwen3-8b", Implementation::kFused), "query and key norm");
  EXPECT_EQ(merged.forward_bytes.value, 4 * elements);
  EXPECT_EQ(merged.forward_kernels, 2);
}

TEST(ModelFamilies, ProductsThatAreStoredAsOneAreOneGemm) {
  const auto gemms = [](const Operator& op) {
    return std::ranges::count_if(op.forward, [](const Kernel& kernel) { return kernel.kind == KernelKind::kGemm; });
  };
  EXPECT_EQ(gemms(find(block_of("phi-4"), "qkv projection")), 1);
  EXPECT_EQ(gemms(find(block_of("phi-4"), "mlp up")), 1);
  EXPECT_EQ(gemms(find(block_of("qwen3-8b"), "qkv projection")), 3);
  EXPECT_EQ(gemms(find(block_of("qwen3-8b"), "mlp up")), 2);
}

TEST(ModelFamilies, SoftCapsPassOverScoresAndLogits) {
  // Three kernels that read and write 2 bytes: of 16 heads x 128 x 128 scores, and of 128 x 256000 logits.
  const Layer naive = block_of("gemma-2-9b", Implementation::kEager, Attention::kNaive);
  EXPECT_EQ(find(naive, "soft cap of scores").forward_bytes.value, 3 * 4 * 16.0 * 128 * 128);
  EXPECT_FALSE(has(block_of("gemma-3-12b", Implementation::kEager, Attention::kNaive), "soft cap of scores"));
  Workload workload;
  workload.sequence_length = 128;
  const Layers layers = layers_of(load_model("gemma-2-9b"), workload);
  EXPECT_EQ(find(*layers.back(), "soft cap of logits").forward_bytes.value, 3 * 4 * 128.0 * 256000);
  EXPECT_EQ(find(*layers.front(), "embedding scale").forward_bytes.value, 4 * 128.0 * 3584);
}

TEST(ModelFamilies, AttentionAndMlpSideBySideShareANormAndItsOutput) {
  const std::string sizes = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1, "vocab_size": 100,
    "intermediate_size": 256, "max_position_embeddings": 128)";
  Workload workload;
  workload.sequence_length = 128;
  const Layer one = layers_of(read("{\"model_type\": \"cohere\", " + sizes + "}"), workload)[1];
  EXPECT_FALSE(has(one, "mlp norm"));
  EXPECT_EQ(find(one, "mlp up").activations.value, 0);
  const Layer two = layers_of(read("{\"model_type\": \"gpt_neox\", " + sizes + "}"), workload)[1];
  EXPECT_TRUE(has(two, "mlp norm"));
  EXPECT_EQ(find(two, "mlp up").activations.value, 128 * 64 * 2);
}

TEST(ModelFamilies, ANormBehindTheLastProductNeedsItsOutput) {
  // The recomputation that stops early leaves the last product out, where only the sum reads its output.
  const auto repeated = [](const char* model, Recompute recompute) {
    return find(block_of(model, Implementation::kEager, Attention::kFlash, recompute), "mlp down").backward_flops;
  };
  EXPECT_LT(repeated("qwen3-8b", Recompute::kFullEarlyStop), repeated("qwen3-8b", Recompute::kFull));
  EXPECT_EQ(repeated("gemma-2-9b", Recompute::kFullEarlyStop), repeated("gemma-2-9b", Recompute::kFull));
}

TEST(ModelFamilies, ASharesOfTensorsHaveAShareOfEachHeadsNorms) {
  Workload workload;
  workload.sequence_length = 128;
  const ModelShare half{.tensor = 2};
  const auto norm = [&](const char* name) {
    return find(*layers_of(load_model(name), workload, half)[1], "query and key norm");
  };
  EXPECT_EQ(norm("qwen3-8b").parameters, 256);  // the same on each rank
  EXPECT_EQ(norm("qwen3-8b").alike, 256);
  EXPECT_EQ(norm("olmo-2-7b").parameters, 4096);  // half of 4096 for queries and of 4096 for keys
  EXPECT_EQ(norm("olmo-2-7b").alike, 0);
}

}  // namespace
}  // namespace accosim
