// Does a Hugging Face config become the model that transformers would build, to the last parameter?
#include "models/read/hf_config.hpp"

#include <gtest/gtest.h>

#include "models/read/load.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {
namespace {

struct Read {
  std::optional<Model> model;
  std::vector<std::string> errors;
  std::string tree;
};
Read read(const std::string& text) {
  JsonDocument document = parse_json(text, "config.json");
  EXPECT_TRUE(document.errors.empty());
  Diagnostics diagnostics;
  Read out{.model = read_model(document.root, "", diagnostics),
           .errors = diagnostics.errors,
           .tree = write_json(document.root)};
  EXPECT_EQ(out.model.has_value(), out.errors.empty());
  return out;
}
std::int64_t count(const std::string& name) {
  return parameter_count(load_model(data_dir() + "/scenarios/llms/" + name + ".json"));
}

// With h the width, L layers, V tokens, P positions, a block of GPT-2 has 4h^2 + 4h in attention (all with biases),
// 8h^2 + 5h in the MLP and 4h in two norms: 12h^2 + 13h. GPT-Neo's queries, keys and values have no bias: 12h^2 + 10h.
// Both: Vh + Ph for the tables, 2h for the last norm, the head tied to the token table.
std::int64_t gpt(std::int64_t h, std::int64_t layers, std::int64_t tokens, std::int64_t positions, int biases) {
  return layers * (12 * h * h + biases * h) + (tokens + positions + 2) * h;
}

TEST(HfConfig, Gpt2CountsAreExact) {
  EXPECT_EQ(gpt(768, 12, 50257, 1024, 13), 124'439'808);  // the published count
  EXPECT_EQ(count("gpt2"), 124'439'808);
  EXPECT_EQ(count("gpt2-medium"), 354'823'168);
  EXPECT_EQ(count("gpt2-large"), 774'030'080);
  EXPECT_EQ(count("gpt2-xl"), 1'557'611'200);
  EXPECT_EQ(count("gpt2-xl"), gpt(1600, 48, 50257, 1024, 13));
}

TEST(HfConfig, GptNeoCountsAreExact) {
  EXPECT_EQ(count("gpt-neo-125m"), 125'198'592);
  EXPECT_EQ(count("gpt-neo-1.3b"), 1'315'575'808);
  EXPECT_EQ(count("gpt-neo-2.7b"), 2'651'307'520);
  EXPECT_EQ(count("gpt-neo-125m"), gpt(768, 12, 50257, 2048, 10));
  EXPECT_EQ(count("gpt-neo-2.7b"), gpt(2560, 32, 50257, 2048, 10));
  EXPECT_EQ(count("tinystories-36m"), gpt(768, 4, 10000, 512, 10));
  EXPECT_NEAR(static_cast<double>(count("tinystories-36m")), 36e6, 1e6);
}

// A block of Llama-2-7B: 4h^2 in attention, 3 h i in the MLP, 2h in two norms; V h twice (not tied), h for the last
// norm: 32 (4 * 4096^2 + 3 * 4096 * 11008 + 2 * 4096) + 2 * 32000 * 4096 + 4096 = 6,738,415,616.
TEST(HfConfig, LlamaCountsAreExact) {
  EXPECT_EQ(count("llama-2-7b"), 6'738'415'616);
  EXPECT_EQ(count("llama-2-13b"), 13'015'864'320);
  EXPECT_EQ(count("llama-2-70b"), 68'976'648'192);
  EXPECT_EQ(count("llama-3-8b"), 8'030'261'248);
}

TEST(HfConfig, GroupedQueriesAndOwnHeadDimension) {
  const Read r = read(R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 100, "num_attention_heads": 6,
    "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 7, "vocab_size": 11, "max_position_embeddings": 9,
    "tie_word_embeddings": true, "attention_bias": true, "mlp_bias": true})");
  ASSERT_TRUE(r.model);
  EXPECT_EQ(r.model->head_dim, 32);
  // Queries 100*192, keys and values 2*100*64, output 192*100, biases 192+2*64+100; MLP 3*100*7 + 2*7+100; norms 3*100;
  // tokens 11*100.
  EXPECT_EQ(parameter_count(*r.model), 19200 + 12800 + 19200 + 420 + 2100 + 114 + 300 + 1100);
}

TEST(HfConfig, AbsentAndNullMeanTheDefaultOfTheFamily) {
  const Read r = read(R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": null, "head_dim": null, "intermediate_size": 7, "vocab_size": 11,
    "max_position_embeddings": 9})");
  ASSERT_TRUE(r.model);
  EXPECT_EQ(r.model->num_key_value_heads, 4);
  EXPECT_EQ(r.model->head_dim, 16);
  EXPECT_FALSE(r.model->tie_word_embeddings);
  EXPECT_FALSE(r.model->learned_positions);
}

TEST(HfConfig, GptNeoAlternatesGlobalAndLocalAttention) {
  const Model model = load_model(data_dir() + "/scenarios/llms/gpt-neo-125m.json");
  ASSERT_EQ(model.attention_window.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(model.attention_window[i], i % 2 == 0 ? 0 : 256);
  EXPECT_FALSE(model.qkv_bias);
  EXPECT_TRUE(model.attention_output_bias);
}

TEST(HfConfig, ForeignKeysAreDropped) {
  const Read r =
      read(R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "n_positions": 4, "vocab_size": 3,
    "_comment": "x", "task_specific_params": {"a": [1]}, "rope_parameters": null})");
  ASSERT_TRUE(r.model);
  EXPECT_EQ(r.model->intermediate_size, 32);
  EXPECT_EQ(r.tree.find("_comment"), std::string::npos);
  EXPECT_NE(r.tree.find("\"n_inner\": 32"), std::string::npos);
}

TEST(HfConfig, AnUnknownFamilyListsTheKnownOnes) {
  // No nearest name: what is one letter away may be another architecture, at another price.
  for (const char* type : {"lama", "llama_5", "qwen4"}) {
    const std::vector<std::string> errors = read(std::string(R"({"model_type": ")") + type + "\"}").errors;
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].rfind(std::string("config.json:1:16 /model_type: \"") + type +
                                  "\" is not known; write one of: \"gpt2\", \"gpt_neo\", \"opt\", \"llama\", ",
                              0),
              0U)
        << errors[0];
  }
}

TEST(HfConfig, WhatIsNoRowIsRefusedInOneLineWithTheNearestThatCanBeHad) {
  const std::string experts =
                        "nobody has written the row of this mixture of experts; the nearest is a config of Qwen3 MoE",
                    images = "it has an encoder of images or sound beside the text; give the text_config as a config";
  for (
      const auto& [config, what] : std::vector<std::pair<std::string, std::string>>{
          {R"("model_type": "dbrx", "num_local_experts": 8, "num_experts_per_tok": 2)", experts},
          {R"("model_type": "glm4_moe", "num_experts": 128, "moe_intermediate_size": 768)", experts},
          {R"("model_type": "grok-1", "num_local_experts": 32, "quantization_config": {"quant_method": "mxfp4"})",
           experts},
          {R"("model_type": "jetmoe", "num_experts": 64)",
           "its experts stand elsewhere than in place of a decoder's MLPs; write \"model_type\": \"measured\""},
          {R"("model_type": "llama4", "text_config": {"model_type": "llama4_text"}, "vision_config": {"a": 1})",
           experts},
          {R"("model_type": "longcat_flash", "n_routed_experts": 256, "q_lora_rank": 1536, "quantization_config": {"a": 1})",
           "it is a mixture of experts with another latent attention; write"},
          {R"("model_type": "minicpm3", "q_lora_rank": 768, "kv_lora_rank": 256)", "multi-head latent attention"},
          {R"("model_type": "mamba2", "state_size": 128)", "it has state spaces or other recurrences"},
          {R"("model_type": "nemotron_h", "hybrid_override_pattern": "M-M*")",
           "it has state spaces or other recurrences"},
          {R"("model_type": "qwen2_5_vl", "vision_config": {"depth": 32})", images},
          {R"("model_type": "llava", "text_config": {"model_type": "llama"}, "vision_config": {"a": 1})", images},
          {R"("model_type": "t5", "is_encoder_decoder": true)", "it has an encoder and a decoder; write"},
          {R"("model_type": "bert")", "the nearest is a config of gpt2 with the same sizes and \"causal\": false"},
          {R"("model_type": "bloom")", "its positions are ALiBi's; the nearest is"},
          {R"("model_type": "phi", "partial_rotary_factor": 0.5)", "its head has a bias; the nearest is"},
          {R"("model_type": "glm4")", "nobody has written its row; the nearest is a config of Llama"},
          {R"("model_type": "brand_new", "num_experts": 4, "kv_lora_rank": 9)",
           "mixture-of-experts models are not modelled yet"},
          {R"("model_type": "falcon", "alibi": true)", "positions by ALiBi are not modelled yet (alibi: true)"}}) {
    const std::vector<std::string> errors = read("{" + config + "}").errors;
    ASSERT_EQ(errors.size(), 1U) << config;
    EXPECT_NE(errors[0].find(what), std::string::npos) << errors[0];
  }
}

const char* const kSmallLlama = R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64,
  "num_attention_heads": 4, "intermediate_size": 7, "vocab_size": 11, "max_position_embeddings": 9)";

/// The one error of a small Llama that has these members too.
std::string only_error(const std::string& members) {
  const Read r = read(std::string(kSmallLlama) + ", " + members + "}");
  return r.errors.size() == 1 ? r.errors[0] : "errors: " + std::to_string(r.errors.size());
}

TEST(HfConfig, WhatChangesThePriceIsRefusedByName) {
  EXPECT_EQ(
      only_error(R"("num_local_experts": 8, "num_experts_per_tok": 2)"),
      "config.json:2:122 /num_local_experts: mixture-of-experts models are not modelled yet (num_local_experts: 8); "
      "name a model without");
  for (const auto& [members, what] : std::vector<std::pair<std::string, std::string>>{
           {R"("num_experts": 60)", "mixture-of-experts models are not modelled yet (num_experts: 60)"},
           {R"("n_routed_experts": 256)", "mixture-of-experts models are not modelled yet (n_routed_experts: 256)"},
           {R"("moe_intermediate_size": 1408)", "not modelled yet (moe_intermediate_size: 1408)"},
           {R"("q_lora_rank": null, "kv_lora_rank": 512)", "multi-head latent attention is not modelled yet (kv_lora"},
           {R"("quantization_config": {"bits": 4})", "quantised weights are not modelled yet (quantization_config: {"},
           {R"("num_nextn_predict_layers": 1)", "multi-token prediction is not modelled yet"},
           {R"("add_cross_attention": true)", "cross-attention is not modelled yet"},
           {R"("is_encoder_decoder": true)", "(is_encoder_decoder: true)"},
           {R"("vision_config": {"hidden_size": 4})", "(vision_config: {...})"}})
    EXPECT_NE(only_error(members).find(what), std::string::npos) << only_error(members);
}

TEST(HfConfig, WhatIsSwitchedOffIsNoReasonToRefuse) {
  const Read r =
      read(std::string(kSmallLlama) + R"(, "num_local_experts": 1, "n_routed_experts": null, "moe_layers": [],
    "quantization_config": null, "is_encoder_decoder": false, "add_cross_attention": false, "num_experts": 0})");
  EXPECT_TRUE(r.errors.empty()) << r.errors.front();
}

TEST(HfConfig, AdaptersAndQuantisedBasesAreRefusedByName) {
  for (const auto& [members, what] : std::vector<std::pair<std::string, std::string>>{
           {R"("lora_r": 16)", "LoRA belongs to the training (\"lora\"), and here it is not modelled yet (lora_r: 16)"},
           {R"("lora_alpha": 32)", "LoRA belongs to the training"},
           {R"("adapter": "lora")", "adapters are not modelled yet (adapter: \"lora\")"},
           {R"("peft_config": {"r": 8})", "adapters are not modelled yet"},
           {R"("load_in_4bit": true)", "quantised weights are not modelled yet (load_in_4bit: true)"},
           {R"("bnb_4bit_quant_type": "nf4")", "quantised weights are not modelled yet"}})
    EXPECT_NE(only_error(members).find(what), std::string::npos) << only_error(members);
  EXPECT_TRUE(read(std::string(kSmallLlama) + R"(, "lora_r": 0, "load_in_4bit": false})").errors.empty());
}

TEST(HfConfig, KeysThatMayMatterAndAreNotReadAreKept) {
  // What says nothing of time, and what is switched off, is nobody's business.
  const Read r = read(std::string(kSmallLlama) + R"(, "rope_theta": 1e6, "torch_dtype": "bfloat16", "eos_token_id": 2,
    "transformers_version": "4.40.0", "_name_or_path": "x", "use_cache": true, "rms_norm_eps": 1e-5,
    "attn_gate": true, "new_thing": false, "other_thing": null, "n_layer": 7, "attention_dropout": 0.1})");
  ASSERT_TRUE(r.model);
  EXPECT_EQ(r.model->unread, (std::map<std::string, std::string>{
                                 {"attention_dropout", "dropout is the training's: --set /training/dropout=0.1"},
                                 {"attn_gate", ""},
                                 {"n_layer", "here it is \"num_hidden_layers\""}}));
  EXPECT_EQ(r.tree.find("attn_gate"), std::string::npos);
}

TEST(HfConfig, ShippedModelsHaveNoKeyThatIsNotRead) {
  for (const ShippedFile& file : shipped_files(FileKind::kModel))
    EXPECT_TRUE(load_model(file.name).unread.empty()) << file.name;
}

TEST(HfConfig, OptsEmbeddingsAreAsWideAsItsBlocks) {
  // OPT-350M: embeddings of 512 beside blocks of 1024, with a projection between.
  const std::string opt = R"({"model_type": "opt", "num_hidden_layers": 24, "hidden_size": 1024,
    "num_attention_heads": 16, "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048,
    "word_embed_proj_dim": )";
  EXPECT_TRUE(read(opt + "1024}").errors.empty());
  EXPECT_EQ(read(opt + "512}").errors.size(), 1U);
}

TEST(HfConfig, OptHasTwoPositionsMoreThanItSaysAndRelu) {
  // OPT-125M: 125,239,296 parameters. 50272 x 768 + 2050 x 768 + 12 (12 x 768^2 + 13 x 768) + 2 x 768.
  const Read r = read(R"({"model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
    "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048})");
  ASSERT_TRUE(r.model);
  EXPECT_EQ(parameter_count(*r.model), 125239296);
  EXPECT_EQ(r.model->activation, Activation::kRelu);
}

TEST(HfConfig, MistralIsALlamaWithASlidingWindow) {
  const std::string mistral = R"({"model_type": "mistral", "num_hidden_layers": 2, "hidden_size": 64,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 7, "vocab_size": 11,
    "max_position_embeddings": 4096)";
  EXPECT_EQ(read(mistral + R"(, "sliding_window": 1024})").model->attention_window, (std::vector<int>{1024, 1024}));
  EXPECT_EQ(read(mistral + "}").model->attention_window, (std::vector<int>{4096, 4096}));  // its class's default
  const Read none = read(mistral + R"(, "sliding_window": null})");
  ASSERT_TRUE(none.model);
  EXPECT_EQ(none.model->attention_window, (std::vector<int>{0, 0}));
  EXPECT_TRUE(none.model->gated_mlp && none.model->rms_norm);
}

TEST(HfConfig, ActivationIsReadAndHasItsFamilysDefault) {
  const std::string gpt2 = R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "n_positions": 4,
    "vocab_size": 3)";
  EXPECT_EQ(read(gpt2 + "}").model->activation, Activation::kGeluNew);
  EXPECT_EQ(read(gpt2 + R"(, "activation_function": "gelu"})").model->activation, Activation::kGelu);
  EXPECT_EQ(read(gpt2 + R"(, "activation_function": "geluu"})").errors.size(), 1U);
  EXPECT_TRUE(read(gpt2 + "}").model->causal);
  EXPECT_FALSE(read(gpt2 + R"(, "causal": false})").model->causal);
}

TEST(HfConfig, ImpossibleShapesAreErrors) {
  const std::string llama = R"({"model_type": "llama", "num_hidden_layers": 1, "intermediate_size": 7, "vocab_size": 11,
    "max_position_embeddings": 9, )";
  EXPECT_EQ(read(llama + R"("hidden_size": 65, "num_attention_heads": 4})").errors.size(), 1U);
  EXPECT_EQ(read(llama + R"("hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 3})").errors.size(),
            1U);
  EXPECT_EQ(read(llama + R"("hidden_size": 64, "num_attention_heads": 1000000, "head_dim": 60000})").errors.size(), 1U);
  EXPECT_EQ(read(llama + R"("hidden_size": 0, "num_attention_heads": -4})").errors.size(), 2U);
}

TEST(HfConfig, AttentionTypesThatDoNotFitAreErrorsNotLoops) {
  const std::string neo = R"({"model_type": "gpt_neo", "num_layers": 2, "hidden_size": 8, "num_heads": 2,
    "vocab_size": 11, "max_position_embeddings": 9, "attention_types": )";
  for (const char* types : {"[[[\"global\"], 1e300]]", "[[[], 1e9]]", "[[[\"local\"], 1]]", "[[[\"lokal\"], 2]]", "[]",
                            "3", "[[2, [\"global\"]]]", "[[[\"global\"], -1]]"}) {
    EXPECT_EQ(read(neo + types + "}").errors.size(), 1U) << types;
  }
  EXPECT_TRUE(read(neo + "[[[\"global\"], 1], [[\"local\"], 1]]}").errors.empty());
}

}  // namespace
}  // namespace accosim
