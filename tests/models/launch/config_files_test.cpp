// Configuration files of trainers as scenarios: a small file for each thing that they have of their own, on a shipped
// cluster of 4 nodes with 8 H100.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/launch/config_text.hpp"
#include "models/launch/import_launch.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

LaunchOptions with(std::vector<std::string> more, int nodes = 0) {
  return {.cluster = "dgx-h100-4x8", .nodes = nodes, .with = std::move(more)};
}

/// The value at a pointer as JSON; "-" where there is none.
std::string at(const ImportedLaunch& launch, const std::string& pointer) {
  const JsonValue* const value = at_pointer(launch.scenario, pointer);
  return value == nullptr ? "-" : dump_json(*value);
}

std::string refusal(const std::string& text, const std::string& file, const LaunchOptions& options = with({})) {
  return thrown_by<ScenarioError>([&] { import_launch(text, file, options); });
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::any_of(list, [&](const std::string& each) { return each.find(text) != std::string::npos; });
}

const std::string kTitan = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
const std::string kFactory =
    "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\ncutoff_len: 4096\nmax_steps: 10\n";
const std::string kAxolotl = "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nmax_steps: 10\n";
const std::string kFoundry =
    "max_seq_len: 2048\nmax_duration: 100ba\nglobal_train_batch_size: 1024\ndevice_train_microbatch_size: 8\n"
    "precision: amp_bf16\nmodel:\n  name: mpt_causal_lm\n  d_model: 1024\n  n_heads: 16\n  n_layers: 8\n"
    "  vocab_size: 50368\n";
const std::string kNemo =
    "trainer:\n  num_nodes: 2\n  devices: 8\n  precision: bf16\n  max_steps: 10\nmodel:\n  micro_batch_size: 2\n"
    "  global_batch_size: 256\n  encoder_seq_length: 2048\n  num_layers: 8\n  hidden_size: 1024\n"
    "  num_attention_heads: 16\n  megatron_amp_O2: true\n  tokenizer: {type: GPT2BPETokenizer}\n";
const std::string kBridge =
    "train: {global_batch_size: 256, micro_batch_size: 2, train_iters: 10}\ndataset: {seq_length: 2048}\n"
    "model: {num_layers: 8, hidden_size: 1024, num_attention_heads: 16, vocab_size: 50257}\n";
/// Adapters alone are trained where LLaMA-Factory is told nothing.
const std::string kFactoryLora =
    "model_name_or_path: meta-llama/Meta-Llama-3-8B\ncutoff_len: 4096\nmax_steps: 10\nbf16: true\n";
/// A script of Hugging Face's Trainer under accelerate, whose configuration it writes.
std::string accelerated(const std::string& yaml, const std::string& more = "", const std::string& launcher = "") {
  return "cat <<E > a.yaml\n" + yaml + "\nE\naccelerate launch --config_file a.yaml " + launcher +
         " train.py --model_name_or_path gpt2 --block_size 512 --max_steps 10 --per_device_train_batch_size 2 --bf16 " +
         more + "\n";
}

struct Case {
  const char* name;
  const char* file;
  std::string text;
  const char* pointer;
  const char* value;
  std::vector<std::string> more{};  ///< --with
};

class ConfigFiles : public testing::TestWithParam<Case> {};
TEST_P(ConfigFiles, SayWhatTheScenarioHas) {
  const Case& each = GetParam();
  EXPECT_EQ(at(import_launch(each.text, each.file, with(each.more)), each.pointer), each.value);
}

const Case kCases[] = {
    {"titan_flavor", "a.toml", kTitan, "/model", "\"llama-3-8b\""},
    {"titan_debug_model", "a.toml", "[model]\nname = 'llama3'\nflavor = 'debugmodel'\n", "/model/intermediate_size",
     "768"},
    {"titan_is_fsdp", "a.toml", kTitan, "/schedules/0/name", "\"zero3\""},
    {"titan_reduces_in_fp32", "a.toml", kTitan, "/schedules/0/reduce_dtype", "\"fp32\""},
    {"titan_gathers_in_bf16", "a.toml", kTitan, "/training/precision", "\"bf16\""},
    {"titan_syncs_each_time", "a.toml", kTitan, "/schedules/0/sync", "-"},
    {"titan_batch_by_default", "a.toml", kTitan, "/training/micro_batch_size", "8"},
    {"titan_older_name", "a.toml", kTitan + "[training]\nbatch_size = 3\n", "/training/micro_batch_size", "3"},
    {"titan_global_batch", "a.toml", kTitan + "[training]\nglobal_batch_size = 512\n", "/training/global_batch_size",
     "512"},
    {"titan_no_global_batch", "a.toml", kTitan + "[training]\nglobal_batch_size = -1\n", "/training/global_batch_size",
     "-"},
    // 1,000 x 8 sequences x 32 GPUs / 8 x 8,192
    {"titan_tokens", "a.toml",
     kTitan + "[training]\nsteps = 1_000\nseq_len = 8192\n[parallelism]\n"
              "tensor_parallel_degree = 8\n",
     "/training/train_tokens", "262144000"},
    {"titan_splits_sequences", "a.toml", kTitan + "[parallelism]\ntensor_parallel_degree = 8\n",
     "/training/parallel/sequence_parallel", "true"},
    {"titan_copies_of_a_node", "a.toml", kTitan + "[parallelism]\ndata_parallel_replicate_degree = 4\n",
     "/schedules/0/shard_group", "\"node\""},
    {"titan_replicas_alone", "a.toml",
     kTitan + "[parallelism]\ndata_parallel_replicate_degree = 32\ndata_parallel_shard_degree = 1\n",
     "/schedules/0/name", "\"ddp\""},
    {"titan_replicas_autocast", "a.toml",
     kTitan + "[parallelism]\ndata_parallel_replicate_degree = 32\ndata_parallel_shard_degree = 1\n",
     "/training/autocast", "\"bf16\""},
    {"titan_never_reshards", "a.toml", kTitan + "[parallelism]\nfsdp_reshard_after_forward = 'never'\n",
     "/schedules/0/reshard_after_forward", "false"},
    {"titan_operators", "a.toml", kTitan + "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = 'op'\n",
     "/training/activation_recompute", "\"selective_op\""},
    // The release is known by its names: 2025-02 has a fused AdamW, 2025-08 recomputes to the end of a block.
    {"titan_is_fused", "a.toml", kTitan, "/training/optimizer_implementation", "\"fused\""},
    {"titan_was_not_fused", "a.toml", kTitan + "[training]\ndata_parallel_shard_degree = -1\n",
     "/training/optimizer_implementation", "\"foreach\""},
    {"titan_recomputes_to_the_end", "a.toml", kTitan + "[activation_checkpoint]\nmode = 'full'\n",
     "/training/activation_recompute", "\"full\""},
    {"titan_stopped_early", "a.toml", kTitan + "[activation_checkpoint]\nmode = 'full'\n[training]\ncompile = true\n",
     "/training/activation_recompute", "\"full_early_stop\""},
    {"titan_stops_early", "a.toml", kTitan + "[activation_checkpoint]\nmode = 'full'\nearly_stop = true\n",
     "/training/activation_recompute", "\"full_early_stop\""},
    {"titan_of_other_models", "a.toml", "[model]\nname = 'qwen3'\nflavor = '14B'\n", "/model", "\"qwen3-14b\""},
    {"titan_of_latent_attention", "a.toml", "[model]\nname = 'deepseek_v3'\nflavor = '16B'\n", "/model",
     "\"deepseek-v2-lite\""},
    // Stages keep their parameters, and pass micro-batches of one sequence on: 8 of the local batch.
    {"titan_in_stages", "a.toml", kTitan + "[parallelism]\npipeline_parallel_degree = 2\n", "/schedules/0/name",
     "\"zero1\""},
    {"titan_passes_single_sequences", "a.toml",
     kTitan + "[training]\nlocal_batch_size = 8\n[parallelism]\npipeline_parallel_degree = 2\n",
     "/training/micro_batch_size", "1"},
    {"titan_passed_as_many_as_stages", "a.toml",
     kTitan + "[training]\nbatch_size = 8\n[experimental]\npipeline_parallel_degree = 2\n",
     "/training/micro_batch_size", "4"},
    // 32 blocks and 1 and 3 more in 4 equal parts of 9
    {"titan_shares_blocks", "a.toml",
     kTitan + "[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_first_stage_less_layers = 1\n"
              "pipeline_parallel_last_stage_less_layers = 3\n",
     "/training/parallel/stage_layers", "[8,9,9,6]"},
    {"foundrys_gelu", "a.yaml", kFoundry, "/model/activation_function", "\"gelu\""},
    {"bridges_layers_with_experts", "a.yaml",
     "train: {global_batch_size: 32, micro_batch_size: 1}\ndataset: {seq_length: 512}\n"
     "model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, vocab_size: 100, gated_linear_unit: true, "
     "num_moe_experts: 8, moe_layer_freq: [0, 1]}\n",
     "/model/mlp_only_layers", "[0]"},
    {"bridges_experts_over_ranks", "a.yaml",
     "train: {global_batch_size: 32, micro_batch_size: 1}\ndataset: {seq_length: 512}\n"
     "model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, vocab_size: 100, gated_linear_unit: true, "
     "num_moe_experts: 8, expert_model_parallel_size: 4}\n",
     "/training/parallel/expert_parallel_size", "4"},
    {"titan_every_second_block", "a.toml", kTitan, "/training/recompute_every", "2"},
    {"titan_compiles_before_0_2", "a.toml", kTitan + "[training]\ncompile = true\n", "/training/implementation",
     "\"compiled\""},
    {"titan_compiles", "a.toml", kTitan + "[compile]\nenable = true\n", "/training/implementation", "\"compiled\""},
    {"titan_compiles_the_loss_alone", "a.toml", kTitan + "[compile]\nenable = true\ncomponents = ['loss']\n",
     "/training/implementation", "-"},
    {"titan_started_by_its_own_script", "train.sh",
     "cat <<E > c.toml\n" + kTitan + "E\nCONFIG_FILE=\"c.toml\" NGPU=8 ./run_train.sh --training.seq_len=4096\n",
     "/model", "\"llama-3-8b\""},
    {"titan_experts_are_whole", "a.toml",
     "[model]\nname = 'qwen3'\nflavor = '30B-A3B'\n[parallelism]\ntensor_parallel_degree = 2\n"
     "expert_parallel_degree = 8\n",
     "/training/parallel/expert_tensor_parallel_size", "1"},
    {"titan_fp8_is_a_converter", "a.toml", kTitan + "[quantize.linear.float8]\nfilter_fqns = [\"output\"]\n",
     "/training/precision", "\"bf16\""},
    {"titan_fp8", "a.toml", "model.converters = ['float8']\nmodel.name = 'llama3'\nmodel.flavor = '8B'\n",
     "/training/precision", "\"fp8\""},
    {"titan_override", "a.toml", kTitan, "/training/sequence_length", "4096", {"--training.seq_len=4096"}},
    {"titan_override_as_a_key", "a.toml", kTitan, "/training/sequence_length", "4096", {"training.seq_len=4096"}},
    {"titan_script", "run.sh",
     "cat <<E > c.toml\n" + kTitan +
         "E\ntorchrun --nproc_per_node 8 --nnodes 4 -m torchtitan.train "
         "--job.config_file c.toml --training.local_batch_size=2\n",
     "/training/micro_batch_size", "2"},

    {"accelerate_fsdp", "run.sh", accelerated("distributed_type: FSDP\nmixed_precision: bf16"), "/schedules/0/name",
     "\"zero3\""},
    {"accelerate_by_number", "run.sh", accelerated("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: 2}"),
     "/schedules/0/reshard_after_forward", "false"},
    {"accelerate_by_its_other_name", "run.sh",
     accelerated("distributed_type: FSDP\nfsdp_config: {fsdp_reshard_after_forward: SHARD_GRAD_OP}"),
     "/schedules/0/reshard_after_forward", "false"},
    {"accelerate_unsharded", "run.sh",
     accelerated("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: NO_SHARD}"), "/schedules/0/name",
     "\"ddp\""},
    {"accelerate_hybrid", "run.sh",
     accelerated("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD}"),
     "/schedules/0/shard_group", "\"node\""},
    {"accelerate_option_wins", "run.sh",
     accelerated("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD}", "",
                 "--fsdp_sharding_strategy FULL_SHARD"),
     "/schedules/0/shard_group", "-"},
    {"accelerate_recomputes", "run.sh",
     accelerated("distributed_type: FSDP\nfsdp_config: {fsdp_activation_checkpointing: yes}"),
     "/training/activation_recompute", "\"full_early_stop\""},
    {"accelerate_syncs_once", "run.sh", accelerated("distributed_type: FSDP"), "/schedules/0/sync",
     "\"last_micro_batch\""},
    {"accelerate_deepspeed", "run.sh",
     accelerated("distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 2, offload_optimizer_device: cpu}"),
     "/schedules/0/offload_optimizer", "true"},
    {"accelerate_processes_in_all", "run.sh", accelerated("num_processes: 16\ndistributed_type: MULTI_GPU"),
     "/cluster/nodes/0/count", "2"},
    {"accelerate_processes_win", "run.sh",
     accelerated("num_processes: 8\nnum_machines: 1", "", "--num_processes 24 --num_machines 3"),
     "/cluster/nodes/0/count", "3"},
    {"arguments_in_a_file", "run.sh",
     "cat <<E > t.yaml\nmodel_name_or_path: gpt2\nper_device_train_batch_size: 16\nblock_size: 512\nbf16: true\nE\n"
     "torchrun sft.py --config t.yaml --per_device_train_batch_size 4\n",
     "/training/micro_batch_size", "4"},

    {"factory_recomputes_by_default", "a.yaml", kFactory, "/training/activation_recompute", "\"full\""},
    {"factory_does_not_recompute", "a.yaml", kFactory + "disable_gradient_checkpointing: true\n",
     "/training/activation_recompute", "-"},
    {"factory_without_reentry", "a.yaml", kFactory + "use_reentrant_gc: false\n", "/training/activation_recompute",
     "\"full_early_stop\""},
    {"factory_length", "a.yaml", kFactory, "/training/sequence_length", "4096"},
    {"factory_pure", "a.yaml", kFactory + "bf16: true\npure_bf16: true\n", "/training/precision", "\"bf16\""},
    {"factory_deepspeed_in_place", "a.yaml",
     kFactory + "bf16: true\ndeepspeed:\n  zero_optimization: {stage: 3}\n  bf16: {enabled: auto}\n",
     "/schedules/0/name", "\"zero3\""},
    {"factory_command", "run.sh",
     "cat <<E > f.yaml\n" + kFactory + "E\nFORCE_TORCHRUN=1 llamafactory-cli train f.yaml cutoff_len=1024\n",
     "/training/sequence_length", "1024"},

    {"axolotl_model", "a.yml", kAxolotl, "/model", "\"llama-2-7b\""},
    {"axolotl_short_weights", "a.yml", kAxolotl + "bf16: full\n", "/schedules/0/optimizer_dtype", "\"bf16\""},
    {"axolotl_full_is_no_autocast", "a.yml", kAxolotl + "bf16: full\n", "/training/autocast", "-"},
    {"axolotl_fsdp_as_a_list", "a.yml", kAxolotl + "fsdp:\n- full_shard\n- auto_wrap\n", "/schedules/0/name",
     "\"zero3\""},
    {"axolotl_keys_without_fsdp", "a.yml",
     kAxolotl + "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: false\n  auto_wrap_policy: "
                "TRANSFORMER_BASED_WRAP\nfsdp: [full_shard, auto_wrap]\n",
     "/schedules/0/reshard_after_forward", "false"},
    {"axolotl_fsdp_by_its_version", "a.yml", kAxolotl + "fsdp_version: 2\n", "/schedules/0/name", "\"zero3\""},
    {"axolotl_shards_of_a_node", "a.yml", kAxolotl + "fsdp: [full_shard, auto_wrap]\ndp_shard_size: 8\n",
     "/schedules/0/shard_group", "\"node\""},
    {"axolotl_keeps_null_out", "a.yml", kAxolotl + "adapter:\nload_in_4bit: false\ndeepspeed:\n", "/schedules/0/name",
     "\"ddp\""},
    {"axolotl_command", "run.sh",
     "cat <<E > x.yaml\n" + kAxolotl + "E\naccelerate launch -m axolotl.cli.train x.yaml --micro-batch-size 4\n",
     "/training/micro_batch_size", "4"},

    {"foundry_sizes", "a.yaml", kFoundry, "/model/n_inner", "4096"},
    {"foundry_tokens", "a.yaml", kFoundry, "/training/train_tokens", "209715200"},  // 100 x 1,024 x 2,048
    {"foundry_tokens_said", "a.yaml", kFoundry + "max_duration: 3e9tok\n", "/training/train_tokens", "3000000000"},
    {"foundry_reference", "a.yaml", kFoundry + "variables: {length: 512}\nmax_seq_len: ${variables.length}\n",
     "/training/sequence_length", "512"},
    {"foundry_pure", "a.yaml", kFoundry + "fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE}\n",
     "/schedules/0/reduce_dtype", "\"bf16\""},
    {"foundry_mesh", "a.yaml", kFoundry + "fsdp_config: {sharding_strategy: FULL_SHARD, device_mesh: [4, 8]}\n",
     "/schedules/0/shard_group", "\"node\""},
    {"foundry_clips_where_told", "a.yaml", kFoundry, "/training/gradient_clipping", "false"},
    // 256 sequences of 32 GPUs are 8 each, whatever a micro-batch may have
    {"foundry_micro_batch_at_most", "a.yaml",
     kFoundry + "device_train_microbatch_size: 16\nglobal_train_batch_size: 256\n", "/training/micro_batch_size", "8"},
    {"foundry_triton",
     "a.yaml",
     kFoundry + "fsdp_config: {}\n",
     "/training/attention",
     "\"flash_1\"",
     {"model.attn_config.attn_impl=triton"}},
    {"foundry_command", "run.sh",
     "cat <<E > x.yaml\n" + kFoundry + "E\ncomposer -n 8 train.py x.yaml max_seq_len=1024\n",
     "/training/sequence_length", "1024"},

    {"nemo_nodes", "a.yaml", kNemo, "/cluster/nodes/0/count", "2"},
    {"nemo_vocabulary", "a.yaml", kNemo, "/model/vocab_size", "50304"},  // 50,257 in 128s
    {"nemo_product", "a.yaml", kNemo + "  ffn_hidden_size: ${multiply:3, ${.hidden_size}}\n", "/model/n_inner", "3072"},
    {"nemo_chunks", "a.yaml", kNemo + "  pipeline_model_parallel_size: 2\n  virtual_pipeline_model_parallel_size: 4\n",
     "/training/parallel/virtual_pipeline_stages", "4"},
    {"nemo_ddp", "a.yaml", kNemo, "/schedules/0/name", "\"ddp\""},
    {"nemo_distributed_adam", "a.yaml", kNemo + "  optim: {name: distributed_fused_adam, bucket_cap_mb: 200}\n",
     "/schedules/0/bucket_cap_mb", "200.0"},
    {"nemo_shares_embeddings", "a.yaml", kNemo, "/model/tie_word_embeddings", "true"},
    {"nemo_gate", "a.yaml", kNemo + "  activation: fast-swiglu\n  bias: false\n  normalization: rmsnorm\n",
     "/model/model_type", "\"llama\""},
    {"nemo_o1_is_autocast", "a.yaml", kNemo + "  megatron_amp_O2: false\n", "/training/autocast", "\"bf16\""},
    {"factory_rank", "a.yaml", kFactoryLora, "/training/lora/rank", "8"},
    {"factory_targets", "a.yaml", kFactoryLora + "lora_target: q_proj,v_proj\n", "/training/lora/targets",
     R"(["q_proj","v_proj"])"},
    {"factory_base_is_in_the_products_type", "a.yaml", kFactoryLora, "/training/precision", "\"bf16\""},
    {"factory_adapters_are_in_fp32", "a.yaml", kFactoryLora, "/schedules/0/optimizer_dtype", "-"},
    {"factory_four_bits", "a.yaml", kFactoryLora + "quantization_bit: 4\n", "/training/lora/base_dtype", "\"nf4\""},
    {"factory_full_has_no_adapters", "a.yaml", kFactory + "lora_rank: 4\n", "/training/lora", "-"},
    {"factory_liger", "a.yaml", kFactory + "enable_liger_kernel: true\n", "/training/loss", "\"fused_linear\""},
    {"axolotl_everywhere", "a.yml",
     kAxolotl + "adapter: lora\nlora_r: 32\nlora_target_linear: true\nlora_target_modules: [q_proj]\n",
     "/training/lora/targets", R"(["all-linear"])"},
    {"axolotl_usual_targets", "a.yml", kAxolotl + "adapter: lora\nlora_r: 32\n", "/training/lora/targets",
     R"(["q_proj","v_proj"])"},
    {"axolotl_qlora", "a.yml", kAxolotl + "adapter: qlora\nlora_r: 32\n", "/training/lora/base_dtype", "\"nf4\""},
    {"axolotl_empty_adapter", "a.yml", kAxolotl + "adapter:\nlora_r: 32\n", "/training/lora", "-"},
    {"axolotl_states_in_8_bits", "a.yml", kAxolotl + "adapter: lora\nlora_r: 32\noptimizer: adamw_bnb_8bit\n",
     "/training/lora/rank", "32"},
    {"axolotl_cut", "a.yml", kAxolotl + "cut_cross_entropy: true\n", "/training/loss", "\"cut\""},
    {"foundry_lora", "a.yaml", kFoundry + "  peft_config: {peft_type: LORA, r: 16, target_modules: [q_proj]}\n",
     "/training/lora/targets", R"(["q_proj"])"},
    {"nemo_lora", "a.yaml", kNemo + "  peft: {peft_scheme: lora, lora_tuning: {adapter_dim: 16}}\n",
     "/training/lora/targets", R"(["attention_qkv"])"},
    {"bridge_lora", "a.yaml", kBridge + "peft: {dim: 8, alpha: 16}\n", "/training/lora/rank", "8"},
    {"bridge_targets", "a.yaml", kBridge + "peft: {dim: 8}\n", "/training/lora/targets", R"(["all-linear"])"},
    {"bridge_none", "a.yaml", kBridge + "peft: {dim: 8}\n", "/training/lora", "-", {"peft=none"}},
    {"peft", "run.sh",
     accelerated("distributed_type: FSDP", "--use_peft --lora_r 16 --lora_target_modules q_proj o_proj --load_in_4bit"),
     "/training/lora", R"({"rank":16,"targets":["q_proj","o_proj"],"base_dtype":"nf4"})"},
    {"no_peft", "run.sh", accelerated("distributed_type: FSDP", "--use_peft false --lora_r 16"), "/training/lora", "-"},
    {"nemo_formats_alone_are_no_fp8", "a.yaml", kNemo + "  fp8: False\n  fp8_hybrid: True\n", "/training/precision",
     "\"bf16\""},
    {"nemo_command", "run.sh",
     "cat <<E > conf.yaml\n" + kNemo +
         "E\ntorchrun megatron_gpt_pretraining.py --config conf.yaml "
         "trainer.num_nodes=4 ++model.micro_batch_size=4\n",
     "/training/micro_batch_size", "4"},

    {"bridge_default", "a.yaml", kBridge, "/schedules/0/overlap_param_gather", "true"},
    {"bridge_sums", "a.yaml", kBridge + "ddp: {grad_reduce_in_fp32: true}\n", "/schedules/0/gradient_dtype",
     "\"fp32\""},
    {"bridge_command", "run.sh",
     "torchrun --nproc_per_node 8 run_recipe.py --recipe x -tp 2 -gb 64 -mb 1 --seq_length 1024 model.num_layers=8 "
     "model.hidden_size=1024 model.num_attention_heads=16 model.vocab_size=50257\n",
     "/training/parallel/tensor_parallel_size", "2"},

    {"deepspeed_alone",
     "run.sh",
     "cat <<E > d.json\n{\"train_batch_size\": 256, \"gradient_accumulation_steps\": 4, "
     "\"zero_optimization\": {\"stage\": 2}}\nE\ndeepspeed train.py --deepspeed_config d.json\n",
     "/training/micro_batch_size",
     "2",
     {"--max_seq_length 512 --model_name_or_path gpt2"}},  // 256 / 32 / 4
    {"processes_of_mpirun", "run.sh",
     "mpirun -np 16 python run_clm.py --model_name_or_path gpt2 --block_size 512 --max_steps 1\n",
     "/cluster/nodes/0/count", "2"},

    {"yaml_merges", "a.yaml",
     "x: &x\n  max_steps: 7\n  cutoff_len: 128\n<<: *x\nmodel_name_or_path: gpt2\n"
     "finetuning_type: full\ncutoff_len: 256\n",
     "/training/sequence_length", "256"},
    {"yaml_last_of_equal_keys", "a.yaml", kFactory + "cutoff_len: 64\n", "/training/sequence_length", "64"},
    {"yaml_underscores", "a.yaml", kFactory + "cutoff_len: 1_024\n", "/training/sequence_length", "1024"},
    {"yaml_text_in_quotes", "a.yaml", kFactory + "cutoff_len: \"512\"\n", "/training/sequence_length", "512"},
    {"origin", "a.yaml", kFactory, "/origins/~1training~1sequence_length", "\"a.yaml:3\""},
    {"origin_of_what_is_added",
     "a.yaml",
     kFactory,
     "/origins/~1training~1sequence_length",
     "\"--with\"",
     {"cutoff_len=5"}},
};
INSTANTIATE_TEST_SUITE_P(All, ConfigFiles, testing::ValuesIn(kCases), [](const auto& each) { return each.param.name; });

TEST(ConfigFile, RefusesByNameWhatIsNotModelled) {
  EXPECT_TRUE(holds(refusal("training.compile = tr\001\n", "a.toml"), "saw 'tr\\x01'"));
  EXPECT_TRUE(holds(refusal(kTitan + "[training]\nenable_cpu_offload = true\n", "a.toml"),
                    "a.toml:5: training.enable_cpu_offload: true: parameters on the host"));
  EXPECT_TRUE(holds(refusal(kTitan + "[parallelism]\ncontext_parallel_degree = 2\n", "a.toml"), "context"));
  EXPECT_TRUE(
      holds(refusal(kTitan + "[parallelism]\npipeline_parallel_degree = 2\nfsdp_reshard_after_forward = 'always'\n",
                    "a.toml"),
            "FSDP that frees its parameters is not modelled in a pipeline; write never"));
  EXPECT_TRUE(holds(refusal("[model]\nname = \"llama4\"\nflavor = \"17bx16e\"\n", "a.toml"),
                    "llama4 is not modelled yet: nobody has written the row"));
  EXPECT_TRUE(holds(refusal(kFactory + "stage: dpo\n", "a.yaml"), "stage: dpo"));
  for (const auto& [more, said] :
       {std::pair("quantization_bit: 4",
                  "weights in four bits are trained by adapters beside them; add --with "
                  "'finetuning_type=lora'"),
        {"finetuning_type: lora\nquantization_bit: 8",
         "quantised weights other than four-bit ones under adapters are not modelled yet"},
        {"finetuning_type: lora\nuse_dora: true", "a.yaml:6: use_dora: true: adapters other than LoRA"},
        {"finetuning_type: lora\nlora_rank: many", "lora_rank is \"many\"; write a number"}})
    EXPECT_TRUE(holds(refusal(kFactory + more + "\n", "a.yaml"), said)) << said;
  EXPECT_TRUE(holds(refusal(kAxolotl + "adapter: llama-adapter\nlora_r: 8\n", "a.yml"), "write lora"));
  EXPECT_TRUE(holds(refusal(kAxolotl + "adapter: lora\n", "a.yml"),
                    "which rank the adapters have is not said; add --with "
                    "'--lora_r 16'"));
  EXPECT_TRUE(holds(refusal(kAxolotl + "optimizer: adamw_bnb_8bit\n", "a.yml"), "only AdamW"));
  EXPECT_TRUE(holds(refusal(kFoundry + "device_train_microbatch_size: auto\n", "a.yaml"),
                    "device_train_microbatch_size is \"auto\"; write a number, such as --with "
                    "'device_train_microbatch_size=1'"));
  EXPECT_TRUE(holds(refusal(kNemo + "  num_moe_experts: 8\n", "a.yaml"), "without --swiglu"));
  EXPECT_TRUE(holds(refusal(accelerated("distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 3, "
                                        "offload_param_device: cpu}"),
                            "run.sh"),
                    "run.sh:3: deepspeed_config.offload_param_device: cpu: parameters on the host"));
  const std::string offloaded = kAxolotl + "fsdp: [full_shard, auto_wrap]\nfsdp_config: {offload_params: true}\n";
  EXPECT_TRUE(holds(refusal(offloaded, "a.yml"), "offload_params"));
  EXPECT_EQ(refusal(offloaded, "a.yml", with({"fsdp_config.offload_params=false"})), "");
}

TEST(ConfigFile, AsksForWhatIsMissing) {
  EXPECT_TRUE(holds(refusal("distributed_type: FSDP\n", "a.yaml"), "accelerate's configuration names no training"));
  EXPECT_TRUE(holds(refusal("a: 1\n", "a.yaml"), "has the keys of no trainer that is known"));
  EXPECT_TRUE(holds(refusal(kTitan, "a.toml", {}), "no configuration says what its GPUs"));
  EXPECT_TRUE(holds(refusal("train: {global_batch_size: 8}\n", "a.yaml"), "add --model with its config.json"));
  EXPECT_TRUE(holds(refusal("llamafactory-cli train no.yaml\n", "run.sh"), "no.yaml stands neither beside the script"));
  EXPECT_TRUE(holds(refusal("deepspeed train.py --deepspeed_config d.json\n", "run.sh"), "how long sequences are"));
}

TEST(ConfigFile, TellsWhatItPassedOverAndDoesNotKnow) {
  const ImportedLaunch launch = import_launch(
      kFactory + "template: llama3\nenable_liger_kernel: true\nno_such: 3\ndataset: {a: {b: 1}}\n", "a.yaml", with({}));
  EXPECT_TRUE(has(launch.taken, "a.yaml:3: cutoff_len: 4096"));
  EXPECT_TRUE(has(launch.without_effect, "a.yaml:5: template: llama3"));
  EXPECT_TRUE(has(launch.without_effect, "a.yaml:8: dataset.a.b: 1"));
  EXPECT_TRUE(has(launch.not_modelled, "a.yaml:6: enable_liger_kernel: true"));
  EXPECT_TRUE(has(launch.not_modelled, "a.yaml:3: sequences are not packed"));
  EXPECT_TRUE(has(launch.not_known, "a.yaml:7: no_such: 3"));
  EXPECT_TRUE(has(import_launch(kBridge, "a.yaml", with({})).not_modelled, "what a recipe sets in code is not known"));
}

TEST(ConfigFile, ABatchOfDeepspeedThatIsAnotherIsTold) {
  const auto run = [](const char* program) {
    return import_launch("cat <<E > d.json\n{\"train_batch_size\": 64, \"zero_optimization\": {\"stage\": 0}}\nE\n" +
                             std::string(program),
                         "run.sh", with({}));
  };
  EXPECT_TRUE(has(run("deepspeed run_clm.py --model_name_or_path gpt2 --block_size 512 --per_device_train_batch_size 4 "
                      "--deepspeed d.json --max_steps 1")
                      .not_modelled,
                  "train_batch_size is 64, and what is taken makes 128"));  // 4 x 32 GPUs
  const std::string megatron =
      "deepspeed pretrain_gpt.py --deepspeed --deepspeed_config d.json --num-layers 8 --hidden-size 1024 "
      "--num-attention-heads 16 --seq-length 2048 --vocab-size 50257 --micro-batch-size 2 --global-batch-size 256 "
      "--bf16 ";
  const ImportedLaunch launch = run(megatron.c_str());
  EXPECT_EQ(at(launch, "/training/global_batch_size"), "64");
  EXPECT_TRUE(has(launch.not_modelled, "run.sh:2: train_batch_size is 64, and --global-batch-size is 256"));
  EXPECT_EQ(at(launch, "/schedules/0/name"), "\"ddp\"");
  // Its optimizer of bf16 shards its states in a pipeline.
  EXPECT_EQ(at(run((megatron + "--pipeline-model-parallel-size 4").c_str()), "/schedules/0/name"), "\"zero1\"");
}

TEST(ConfigFile, OfRecomputedModulesAllAreRead) {
  const std::string run =
      "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 "
      "--vocab-size 50257 --micro-batch-size 2 --global-batch-size 256 --recompute-granularity selective "
      "--recompute-modules ";
  const ImportedLaunch both = import_launch(run + "layernorm core_attn", "run.sh", with({}));
  EXPECT_EQ(at(both, "/training/activation_recompute"), "\"selective\"");
  EXPECT_TRUE(has(both.not_modelled, "--recompute-modules layernorm core_attn: of modules only core_attn"));
  EXPECT_EQ(at(import_launch(run + "layernorm mlp", "run.sh", with({})), "/training/activation_recompute"), "\"none\"");
}

TEST(ConfigText, NamesThePlaceOfWhatIsWrong) {
  const auto wrong = [](const std::string& text, const char* name) {
    const JsonDocument document = parse_config(text, name, name);
    return document.errors.empty() ? "" : document.errors.front();
  };
  EXPECT_EQ(wrong("a: 1\nb: [1, 2\n", "a.yaml").substr(0, 9), "a.yaml:3:");
  EXPECT_EQ(wrong("a: *b\n", "a.yaml"), "a.yaml:1:4: nothing is called &b");
  EXPECT_EQ(wrong("a: 1\n---\nb: 2\n", "a.yaml"), "a.yaml:2:1: a second document begins; give a file with one");
  EXPECT_EQ(wrong("? [a]\n: 1\n", "a.yaml").find("a key is a list"), std::string("a.yaml:1:5: ").size());
  EXPECT_EQ(wrong("[a]\nb = 1\nb = 2\n", "a.toml").substr(0, 9), "a.toml:3:");
  EXPECT_EQ(wrong("[a]\nb =\n", "a.toml").substr(0, 9), "a.toml:2:");
}

TEST(ConfigText, HostileFilesEndSoonWithAnError) {
  const auto begin = std::chrono::steady_clock::now();
  const auto wrong = [](const std::string& text, const char* name) {
    return !parse_config(text, name, name).errors.empty();
  };
  std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 20; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) bomb += "*a" + std::to_string(i - 1) + ",";
    bomb += "1]\n";
  }
  EXPECT_TRUE(wrong(bomb, "a.yaml"));
  std::string names = "x = 1\n", lists;
  for (int i = 0; i < 100'000; ++i) {
    names += "a.";
    lists += "[";
  }
  EXPECT_TRUE(wrong(names + "b = 1\n", "a.toml"));
  EXPECT_TRUE(wrong("[" + names.substr(6) + "b]\n", "a.toml"));
  EXPECT_TRUE(wrong("a = " + lists, "a.toml"));
  EXPECT_TRUE(wrong("a: " + lists, "a.yaml"));
  std::string dashes;
  for (int i = 0; i < 1'000; ++i) dashes += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_TRUE(wrong(dashes, "a.yaml"));
  EXPECT_TRUE(wrong(std::string(10'000'000, 'a'), "a.yaml"));
  EXPECT_TRUE(wrong(std::string(10'000'000, '#'), "a.toml"));
  std::string many = "a: [";
  for (int i = 0; i < 300'000; ++i) many += "1,";
  EXPECT_TRUE(wrong(many + "1]\n", "a.yaml"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(ConfigText, ReferencesThatNeverEndStayAsTheyAre) {
  JsonDocument document = parse_yaml("a: ${b}\nb: ${a}\nc: ${no.such}\nd: ${oc.env:HOME,7}\ne: ${d}x\n", "a.yaml");
  interpolate(document.root);
  EXPECT_EQ(document.root.find("a")->text, "${b}");
  EXPECT_EQ(document.root.find("c")->text, "${no.such}");
  EXPECT_EQ(document.root.find("d")->text, "7");
  EXPECT_EQ(document.root.find("e")->text, "7x");
  std::string grown = "a0: x\n";
  for (int i = 1; i < 20; ++i) {
    grown += "a" + std::to_string(i) + ": ";
    for (int k = 0; k < 9; ++k) grown += "${a" + std::to_string(i - 1) + "}";
    grown += "\n";
  }
  JsonDocument bomb = parse_yaml(grown, "a.yaml");
  interpolate(bomb.root);  // ends
  EXPECT_EQ(bomb.root.find("a19")->text.substr(0, 2), "${");
}

}  // namespace
}  // namespace accosim
