// Launch files that say what published runs were started with, in our own words, and the cases of these runs by hand:
// the same training, model and schedule, and so the same time. What differs is named where it does.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/launch/import_launch.hpp"
#include "models/read/load.hpp"
#include "tests/support/holds.hpp"

namespace accosim {
namespace {

struct Case {
  const char* name;
  const char *evidence, *id;  ///< a case of a file of scenarios/validation
  const char* file;           ///< as which the text is read
  std::string text;
  LaunchOptions options;
  std::vector<std::string> otherwise{};  ///< what the case has otherwise than the launch file, as --set has it
};

const std::string kBloom = R"(#SBATCH --nodes=48 --gres=gpu:8
HEADS=112
cat <<EOT > ds.$SLURM_JOB_ID.json
{"train_micro_batch_size_per_gpu": 2, "train_batch_size": 2048, "gradient_clipping": 1.0,
 "zero_optimization": {"stage": 0}, "bf16": {"enabled": true}}
EOT
ARGS="--tensor-model-parallel-size 4 --pipeline-model-parallel-size 12 --pp-partition-method 'type:transformer|embedding' \
 --num-layers 70 --hidden-size 14336 --num-attention-heads $HEADS --seq-length 2048 --max-position-embeddings 2048 \
 --micro-batch-size 2 --global-batch-size 2048 --train-samples 220_000_000 --pad-vocab-size-to 250880 --bf16 \
 --checkpoint-activations --abort-on-unmet-fused-kernel-constraints --zero-stage 0 --deepspeed_config ds.$SLURM_JOB_ID.json"
srun bash -c "python -m torch.distributed.run --nproc_per_node 8 --nnodes $SLURM_NNODES pretrain_gpt.py --deepspeed $ARGS"
)";

/// The largest runs of a table, with the names of early 2021.
std::string sc21(const std::string& sizes) {
  return "srun python pretrain_gpt.py --activations-checkpoint-method uniform --fp16 --clip-grad 1.0 --seq-length 2048 "
         "--max-position-embeddings 2048 --vocab-size 51200 --train-iters 500 " +
         sizes + "\n";
}

const std::string kTitan = R"([model]
name = "llama3"
flavor = "8B"
[training]
batch_size = 1
seq_len = 8192
steps = 1000
data_parallel_shard_degree = -1
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
)";
const std::string kTitan70 = R"([model]
name = "llama3"
flavor = "70B"
[training]
local_batch_size = 16
seq_len = 8192
steps = 1000
compile = true
[parallelism]
tensor_parallel_degree = 8
[activation_checkpoint]
mode = "full"
)";

const std::string kMpt = R"(max_seq_len: 2048
model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, vocab_size: 50368, attn_config: {attn_impl: triton}}
algorithms: {gradient_clipping: {clipping_type: norm, clipping_threshold: 1.0}}
max_duration: 100ba
precision: amp_bf16
fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: DEFAULT, activation_checkpointing: true,
              activation_checkpointing_reentrant: false}
)";

LaunchOptions on(const char* cluster, int nodes, std::vector<std::string> with = {}, const char* device = "") {
  return {.cluster = cluster, .device = device, .nodes = nodes, .with = std::move(with)};
}
constexpr const char* kMeta = "H100-SXM-96GB-500W";

const Case kCases[] = {
    // The case takes dropout as switched off; the script leaves Megatron-LM's default of 0.1.
    {"bigscience_176b",
     "bigscience_a100",
     "176b-tp4-dp8-pp12-mbs2-line947",
     "tr11.slurm",
     kBloom,
     on("jean-zay-a100-4x8", 0, {"HEADS=64"}),
     {"/training/dropout=0.1"}},
    {"sc21_1t", "megatron_sc21", "gpt-1t-3072x-a100", "1t.sh",
     sc21("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 64 --micro-batch-size 1 --global-batch-size "
          "3072 "
          "--num-layers 128 --hidden-size 25600 --num-attention-heads 160 --DDP-impl local"),
     on("dgx-a100-16x8", 384)},
    {"sc21_76b_in_chunks", "megatron_sc21", "gpt-76b-1024x-a100", "76b.sh",
     sc21("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 5 "
          "--micro-batch-size 2 --global-batch-size 1792 --num-layers 60 --hidden-size 10240 --num-attention-heads 80 "
          "--DDP-impl local"),
     on("dgx-a100-16x8", 128)},
    {"sc21_18b_of_pytorchs_ddp", "megatron_sc21", "gpt-18b-256x-a100", "18b.sh",
     sc21("--tensor-model-parallel-size 8 --micro-batch-size 8 --global-batch-size 1024 --num-layers 40 --hidden-size "
          "6144 "
          "--num-attention-heads 48 --DDP-impl torch"),
     on("dgx-a100-16x8", 32)},
    {"titan_8b", "torchtitan_h100", "llama-3.1-8b-8x-h100-eager", "8b.toml", kTitan,
     on("dgx-h100-4x8", 1, {"--training.batch_size 2"}, kMeta)},
    {"titan_8b_fp8", "torchtitan_h100", "llama-3.1-8b-128x-h100-fp8", "8b.toml", kTitan,
     on("dgx-h100-4x8", 16, {"--training.batch_size 2 --training.compile --float8.enable_float8_linear"}, kMeta)},
    // By 2025-06 AdamW was fused by default, and blocks of that release are recomputed up to the last tensor needed.
    {"titan_70b_in_tensors",
     "torchtitan_h100",
     "llama-3.1-70b-256x-h100-async-tp",
     "70b.toml",
     kTitan70,
     on("dgx-h100-4x8", 32, {"--parallelism.enable_async_tensor_parallel"}, kMeta),
     {"/training/optimizer_implementation=fused", "/training/activation_recompute=full_early_stop"}},
    {"mpt_7b", "mosaicml_mpt", "mpt-7b-8x-h100-80gb", "mpt-7b.yaml", kMpt,
     on("dgx-h100-4x8", 1,
        {"device_train_microbatch_size=6", "global_train_batch_size=48",
         "fsdp_config.activation_checkpointing=false"})},
    {"mpt_70b", "mosaicml_mpt", "mpt-70b-128x-h100-80gb", "mpt-70b.yaml", kMpt,
     on("dgx-h100-4x8", 16,
        {"device_train_microbatch_size=8", "global_train_batch_size=1024", "model.n_layers=80", "model.d_model=8192",
         "model.n_heads=64"})},
};

/// "../clusters/x.json", as the files of scenarios/validation name others, from anywhere.
JsonValue from_anywhere(JsonValue value) {
  if (value.text.starts_with("../")) value.text.replace(0, 2, data_dir() + "/scenarios");
  return value;
}

/// The case as a scenario.
Scenario by_hand(const Case& each) {
  const std::string file = data_dir() + "/scenarios/validation/" + each.evidence + ".json";
  JsonValue root = read_json_file(file, file).root, tree;
  std::vector<std::string> sets = {"/training/train_tokens=1e9"};
  for (const JsonValue& found : root.find("cases")->elements) {
    if (found.find("id")->text != each.id) continue;
    const JsonValue* const own = found.find("scenario");
    tree = own != nullptr ? *root.find("scenarios")->find(own->text) : root.find("scenarios")->members.front().value;
    for (const JsonMember& set : found.find("set")->members)
      sets.push_back(set.key + "=" + dump_json(from_anywhere(set.value)));
  }
  tree.set("cluster", from_anywhere(*tree.find("cluster")));
  tree.set("schema", "accosim.scenario/1");
  sets.insert(sets.end(), each.otherwise.begin(), each.otherwise.end());
  return load_scenario_tree(std::move(tree), file, sets).scenario;
}

class PublishedRuns : public testing::TestWithParam<Case> {};
TEST_P(PublishedRuns, AreTheSameByTheirLaunchFilesAsByHand) {
  const Case& each = GetParam();
  const Scenario hand = by_hand(each);
  const JsonValue tree = import_launch(each.text, each.file, each.options).scenario;
  const Scenario read = load_scenario_tree(tree, each.file, {"/training/train_tokens=1e9"}).scenario;
  EXPECT_EQ(read.training, hand.training) << each.file;
  ScheduleSpec spec = read.schedules.front();
  spec.label = hand.schedules.front().label;
  EXPECT_EQ(spec, hand.schedules.front());
  EXPECT_EQ(read.cluster.nodes, hand.cluster.nodes);
  Model model = read.model;
  model.name = hand.model.name;
  model.max_position_embeddings = std::max(model.max_position_embeddings, hand.model.max_position_embeddings);
  if (!model.learned_positions) EXPECT_EQ(model, hand.model);
  EXPECT_EQ(parameter_count(model), parameter_count(hand.model));
}
INSTANTIATE_TEST_SUITE_P(All, PublishedRuns, testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace accosim
