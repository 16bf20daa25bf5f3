// Launch lines of Megatron-LM as scenarios: of each what an argument says at which place, on a shipped cluster of 4
// nodes with 8 H100.
#include "models/launch/import_launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

const std::string kModel =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --vocab-size 50257 ";
const std::string kBase = kModel + "--micro-batch-size 2 --global-batch-size 256 --train-iters 10 --bf16 ";

const std::string kLatent = "--multi-latent-attention --kv-lora-rank 512 ";
/// A gate, and 16 experts of 512 of which a token goes to 2.
const std::string kExperts = kBase +
                             "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
                             "--num-experts 16 --moe-ffn-hidden-size 512 ";
const std::string kRanks = kExperts + "--expert-model-parallel-size 8 ";

ImportedLaunch imported(const std::string& arguments, const LaunchOptions& options = {"dgx-h100-4x8"}) {
  return import_launch("torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py " + arguments + "\n", "train.sh",
                       options);
}

/// The value at a pointer as JSON; "-" where there is none.
std::string at(const ImportedLaunch& launch, const std::string& pointer) {
  const JsonValue* const value = at_pointer(launch.scenario, pointer);
  return value == nullptr ? "-" : dump_json(*value);
}

std::string refusal(const std::string& arguments, const LaunchOptions& options = {"dgx-h100-4x8"}) {
  return thrown_by<ScenarioError>([&] { imported(arguments, options); });
}

struct Case {
  const char* name;
  std::string more;  ///< behind kBase
  const char* pointer;
  const char* value;
};

class MegatronArguments : public testing::TestWithParam<Case> {};
TEST_P(MegatronArguments, SayWhatTheScenarioHas) {
  EXPECT_EQ(at(imported(kBase + GetParam().more), GetParam().pointer), GetParam().value);
}

const Case kCases[] = {
    {"plain_is_ddp", "", "/schedules/0/name", "\"ddp\""},
    {"distributed_optimizer", "--use-distributed-optimizer", "/schedules/0/name", "\"zero1\""},
    {"without_overlap", "--use-distributed-optimizer", "/schedules/0/overlap", "\"none\""},
    {"overlap", "--use-distributed-optimizer --overlap-grad-reduce", "/schedules/0/overlap", "\"backward\""},
    {"gathers", "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
     "/schedules/0/overlap_param_gather", "true"},
    {"gathers_without_overlap", "--use-distributed-optimizer --overlap-param-gather",
     "/schedules/0/overlap_param_gather", "-"},
    {"bucket_in_fp32", "--overlap-grad-reduce --ddp-bucket-size 10485760", "/schedules/0/bucket_cap_mb", "40.0"},
    {"bucket_in_bf16", "--overlap-grad-reduce --ddp-bucket-size 10485760 --grad-reduce-in-bf16",
     "/schedules/0/bucket_cap_mb", "20.0"},
    {"sums_in_bf16", "--grad-reduce-in-bf16", "/schedules/0/gradient_dtype", "\"bf16\""},
    {"sums_in_fp32", "", "/schedules/0/gradient_dtype", "\"fp32\""},
    {"sums_of_acco", "", "/schedules/1/gradient_dtype", "\"fp32\""},
    {"sums_in_fp16", "--fp16 --bf16 false", "/schedules/0/gradient_dtype", "\"fp16\""},
    {"fsdp", "--use-megatron-fsdp", "/schedules/0/name", "\"zero3\""},
    {"fsdp_of_gradients", "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", "/schedules/0/name",
     "\"zero2\""},
    {"offloaded", "--use-distributed-optimizer --optimizer-cpu-offload", "/schedules/0/offload_optimizer", "true"},
    {"instances_of_a_node", "--use-distributed-optimizer --num-distributed-optimizer-instances 4",
     "/schedules/0/shard_group", "\"node\""},
    {"global_batch", "", "/training/global_batch_size", "256"},
    {"tokens", "", "/training/train_tokens", "5242880"},  // 10 x 256 x 2048
    {"tokens_of_samples", "--train-samples 1_000", "/training/train_tokens", "2048000"},
    {"the_last_of_equal_ones", "--micro-batch-size 4", "/training/micro_batch_size", "4"},
    {"equals_sign", "--micro-batch-size=4", "/training/micro_batch_size", "4"},
    {"underscores", "--micro_batch_size 4", "/training/micro_batch_size", "4"},
    {"beginning_of_a_name", "--micro-batch 4", "/training/micro_batch_size", "4"},
    {"older_names", "--model-parallel-size 2", "/training/parallel/tensor_parallel_size", "2"},
    {"tensors", "--tensor-model-parallel-size 4 --sequence-parallel", "/training/parallel/sequence_parallel", "true"},
    {"sequences_of_one", "--sequence-parallel", "/training/parallel", "-"},
    {"tensor_overlap", "--tensor-model-parallel-size 4 --sequence-parallel --tp-comm-overlap",
     "/training/parallel/tensor_overlap", "true"},
    {"stages", "--pipeline-model-parallel-size 4", "/training/parallel/pipeline_parallel_size", "4"},
    {"layers_a_chunk", "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1",
     "/training/parallel/virtual_pipeline_stages", "2"},
    {"chunks", "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2",
     "/training/parallel/virtual_pipeline_stages", "2"},
    {"layout", "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*3|(t|)*2tttL'",
     "/training/parallel/stage_layers", "[3,1,1,3]"},
    {"first_stage", "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 2",
     "/training/parallel/stage_layers", "[2,2,2,2]"},
    {"embedding_as_a_block",
     "--num-layers 6 --pipeline-model-parallel-size 4 --account-for-embedding-in-pipeline-split "
     "--account-for-loss-in-pipeline-split",
     "/training/parallel/stage_layers", "[1,2,2,1]"},
    {"order", "--pipeline-model-parallel-size 4 --use-tp-pp-dp-mapping", "/training/parallel/order",
     "\"tp-cp-ep-pp-dp\""},
    {"clipped_by_default", "", "/training/gradient_clipping", "true"},
    {"not_clipped", "--clip-grad 0", "/training/gradient_clipping", "false"},
    {"dropout_by_default", "", "/training/dropout", "0.1"},
    {"no_dropout", "--hidden-dropout 0 --attention-dropout 0.0", "/training/dropout", "0.0"},
    {"fp8", "--fp8-format hybrid", "/training/precision", "\"fp8\""},
    {"fp16", "--fp16 --bf16 false", "/training/precision", "\"fp16\""},
    {"recompute_selective", "--recompute-activations", "/training/activation_recompute", "\"selective\""},
    {"recompute_all", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
     "/training/activation_recompute", "\"full\""},
    {"recompute_blocks", "--recompute-granularity full --recompute-method block --recompute-num-layers 3",
     "/training/recompute_layers", "3"},
    {"unfused_attention", "--attention-backend unfused", "/training/attention", "\"naive\""},
    {"local_modules", "--transformer-impl local", "/training/attention", "\"naive\""},
    {"vocabulary_is_padded", "", "/model/vocab_size", "50304"},                                 // 393 x 128
    {"vocabulary_by_tensors", "--tensor-model-parallel-size 8", "/model/vocab_size", "51200"},  // 50 x 1,024
    {"gpt_by_default", "", "/model/model_type", "\"gpt2\""},
    {"inner_size_by_default", "", "/model/n_inner", "4096"},
    {"gated", "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear",
     "/model/intermediate_size", "2688"},  // 8 x 1024 / 3 = 2730, of which 42 x 64
    {"grouped", "--swiglu --group-query-attention --num-query-groups 4", "/model/num_key_value_heads", "4"},
    {"not_grouped", "--swiglu --num-query-groups 4", "/model/num_key_value_heads", "16"},
    {"untied", "--untie-embeddings-and-output-weights", "/model/tie_word_embeddings", "false"},
    {"vocabulary_by_its_own_multiple", "--make-vocab-size-divisible-by 8192 --tensor-model-parallel-size 2",
     "/model/vocab_size", "65536"},  // 4 x 16,384
    {"gated_by_its_older_name", "--glu-activation swiglu", "/model/model_type", "\"llama\""},
    {"tokens_at_most", "--train-tokens 1_000_000", "/training/train_tokens", "1000000"},
    {"embedding_as_a_block_of_chunks",
     "--num-layers 14 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 "
     "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
     "/training/parallel/stage_layers", "[1,2,2,2,2,2,2,1]"},
    {"one_expert_is_none", "--num-experts 1 --moe-loss-coeff 0.01", "/model/model_type", "\"gpt2\""},
    {"experts", kExperts, "/model/num_local_experts", "16"},
    {"experts_of_a_token", kExperts + "--moe-router-topk 4", "/model/num_experts_per_tok", "4"},
    {"experts_of_a_token_by_default", kExperts, "/model/num_experts_per_tok", "2"},
    {"size_of_experts", kExperts, "/model/intermediate_size", "512"},
    {"size_of_experts_beside_an_mlp", kExperts + "--moe-shared-expert-intermediate-size 1024",
     "/model/moe_intermediate_size", "512"},
    {"shared_experts", kExperts + "--moe-shared-expert-intermediate-size 1024",
     "/model/shared_expert_intermediate_size", "1024"},
    {"every_second_layer", kExperts + "--moe-layer-freq 2", "/model/mlp_only_layers", "[1,3,5,7]"},
    {"a_list_of_layers", kExperts + "--moe-layer-freq '([0]*3+[1]*5)'", "/model/mlp_only_layers", "[0,1,2]"},
    {"a_list_twice", kExperts + "--moe-layer-freq '([0]+[1])*4'", "/model/mlp_only_layers", "[0,2,4,6]"},
    {"experts_over_ranks", kExperts + "--expert-model-parallel-size 8", "/training/parallel/expert_parallel_size", "8"},
    {"dispatcher_by_default", kRanks, "/training/parallel/expert_dispatcher", "\"allgather\""},
    {"dispatcher_of_nccl", kRanks + "--moe-token-dispatcher-type alltoall", "/training/parallel/expert_dispatcher",
     "-"},
    {"dispatcher_deepep", kRanks + "--moe-token-dispatcher-type flex", "/training/parallel/expert_dispatcher",
     "\"deepep\""},
    {"dispatcher_hybridep", kRanks + "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep",
     "/training/parallel/expert_dispatcher", "\"hybridep\""},
    {"overlapped_exchanges", kRanks + "--overlap-moe-expert-parallel-comm --moe-token-dispatcher-type alltoall",
     "/training/parallel/expert_overlap", "true"},
    {"latent_attention", kExperts + kLatent, "/model/kv_lora_rank", "512"},
    {"latent_attention_by_default", kExperts + kLatent, "/model/qk_nope_head_dim", "128"},
    {"first_layers_of_it", kExperts + kLatent + "--moe-layer-freq '[0]*1+[1]*7'", "/model/first_k_dense_replace", "1"},
    {"shared_experts_of_it", kExperts + kLatent + "--moe-shared-expert-intermediate-size 1024",
     "/model/n_shared_experts", "2"},
    // Names that Megatron-LM had until 2022: attention of separate products, slices between stages, PyTorch's DDP
    {"older_attention", "--DDP-impl local", "/training/attention", "\"naive\""},
    {"older_messages", "--DDP-impl local --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2",
     "/training/parallel/scatter_gather_p2p", "true"},
    {"older_whole_messages",
     "--DDP-impl local --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 "
     "--no-scatter-gather-tensors-in-pipeline",
     "/training/parallel/scatter_gather_p2p", "-"},
    {"pytorchs_buckets", "--DDP-impl torch", "/schedules/0/bucket_cap_mb", "25"},
    // 32 GPUs in 2 stages are 16 data-parallel ranks, of which 2 instances are a node's GPUs each
    {"instances_of_a_stage",
     "--use-distributed-optimizer --pipeline-model-parallel-size 2 --num-distributed-optimizer-instances 2",
     "/schedules/0/shard_group", "\"node\""},
    {"deepspeed", "--deepspeed --zero-stage 1", "/training/framework", "\"deepspeed\""},
    {"deepspeed_stage", "--deepspeed --zero-stage 1", "/schedules/0/name", "\"zero1\""},
    {"compared_with_acco", "", "/schedules/1/name", "\"acco\""},
    {"origin", "", "/origins/~1training~1micro_batch_size", "\"train.sh:1\""},
};
INSTANTIATE_TEST_SUITE_P(All, MegatronArguments, testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

TEST(ImportLaunch, RefusesByNameWhatIsNotModelled) {
  EXPECT_TRUE(
      holds(refusal(kBase + "--num-experts 8"), "train.sh:1: --num-experts without --swiglu is not modelled yet"));
  EXPECT_EQ(refusal(kBase + "--num-experts 1 --context-parallel-size 1"), "");
  EXPECT_TRUE(holds(refusal(kBase + "--context-parallel-size 2"), "context parallelism"));
  EXPECT_TRUE(holds(refusal(kBase + "--mtp-num-layers 1"),
                    "--mtp-num-layers 1: multi-token prediction is not modelled yet; leave it out"));
  EXPECT_TRUE(holds(refusal(kBase + "--context-parallel-size 2"), "is not modelled yet; write 1"));
  EXPECT_TRUE(holds(refusal(kBase + "--multi-latent-attention"), "without experts is not modelled yet"));
  for (const char* const freq : {"0", "-1", "[1]*7", "([0]*3", "__import__('os')", "[1]*999999999", "((((((1))))))"})
    EXPECT_TRUE(holds(refusal(kExperts + "--moe-layer-freq \"" + freq + "\""), "which is no list of 8 layers")) << freq;
  EXPECT_TRUE(holds(refusal(kBase + "--tensor-model-parallel-size 65536 --pipeline-model-parallel-size 65536"),
                    "a replica of the model takes 4294967296"));
  EXPECT_TRUE(holds(refusal(kBase + "--optimizer muon"), "AdamW"));
  EXPECT_TRUE(holds(refusal(kBase + "--micro-batch-size two"), "write a number"));
}

TEST(ImportLaunch, WhatExpertsLackIsTold) {
  const auto told = [](const std::string& more) {
    std::string all;
    for (const std::string& each : imported(kExperts + more).not_modelled) all += each + "\n";
    return all;
  };
  EXPECT_TRUE(holds(told(""), "experts one after another"));  // the default
  EXPECT_EQ(told("--moe-grouped-gemm"), "");
  EXPECT_TRUE(holds(told("--tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 8 "
                         "--moe-token-dispatcher-type flex"),
                    "deepep beside experts that are split: priced as alltoall"));
  EXPECT_TRUE(holds(told("--moe-expert-capacity-factor 1.5"), "beyond its capacity"));
}

// 4 stages with 2 chunks each take micro-batches in groups of 4; ACCO's rounds, of half of an update, then have 2.
TEST(ImportLaunch, AccoIsLeftOutWhereItCannotBeHad) {
  const ImportedLaunch launch = imported(kModel +
                                         "--micro-batch-size 1 --global-batch-size 32 --train-iters 10 --bf16 "
                                         "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2");
  EXPECT_EQ(at(launch, "/schedules/0/name"), "\"ddp\"");
  EXPECT_EQ(at(launch, "/schedules/1"), "-");
  ASSERT_FALSE(launch.not_modelled.empty());
  EXPECT_TRUE(holds(launch.not_modelled.back(), "acco is left out: "));
  // What is wrong without it too is not said of it: 100 samples are no whole micro-batches of 32 replicas.
  const ImportedLaunch bad = imported(kModel + "--micro-batch-size 1 --global-batch-size 100 --train-iters 1 --bf16");
  EXPECT_EQ(bad.not_modelled, std::vector<std::string>());
}

TEST(ImportLaunch, VariablesThatAreGivenWinAndMustBeThere) {
  LaunchOptions given{"dgx-h100-4x8"};
  given.with = {"B=4"};
  const std::string run = "B=1\ntorchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py " + kBase;
  EXPECT_EQ(at(import_launch(run + "--micro-batch-size $B\n", "train.sh", given), "/training/micro_batch_size"), "4");
  given.with = {"MICRO=4"};
  EXPECT_TRUE(holds(thrown_by<ScenarioError>([&] { import_launch(run, "train.sh", given); }),
                    "MICRO=4: the script has no such variable"));
}

TEST(ImportLaunch, FilesBesideAScriptAreSourcedAndSubmitted) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "accosim_sourced";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  write("sizes.sh", "# sizes\nexport ARGS=\"" + kModel + " --bf16 --micro-batch-size ${B}\"\n");
  write("job.sh", "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8\nsrun python pretrain_gpt.py $ARGS\n");
  const std::string source = (folder / "all.sh").string();
  const LaunchOptions on{"dgx-h100-4x8"};
  const ImportedLaunch plain =
      import_launch("B=4\n. `pwd`/sizes.sh\nsrun torchrun pretrain_gpt.py $ARGS\n", source, on);
  EXPECT_EQ(at(plain, "/training/micro_batch_size"), "4");
  EXPECT_EQ(at(plain, "/origins/~1training~1sequence_length"), "\"" + source + ":2\"");
  const ImportedLaunch submitted =
      import_launch("B=4\nsource ./sizes.sh\nsbatch -p main --nodes=3 --export=ARGS job.sh\n", source, on);
  EXPECT_EQ(at(submitted, "/cluster/nodes/0/count"), "3");  // its options win
  EXPECT_EQ(at(submitted, "/training/micro_batch_size"), "4");
  EXPECT_EQ(at(submitted, "/origins/~1training~1micro_batch_size"), "\"" + (folder / "job.sh").string() + ":3\"");
  const ImportedLaunch given = import_launch(
      "source ./sizes.sh\nB=2\nsbatch <<E\n#SBATCH --nodes=5\nsrun python pretrain_gpt.py $ARGS \\$X\nE\n", source, on);
  EXPECT_EQ(at(given, "/cluster/nodes/0/count"), "5");
  EXPECT_EQ(at(given, "/origins/~1training~1sequence_length"), "\"" + source + ":5\"");
  write("loop.sh", "sbatch loop.sh\n. ./loop.sh\n");
  EXPECT_THROW(import_launch("sbatch loop.sh\n", source, on), ScenarioError);
  EXPECT_THROW(import_launch(". ./loop.sh\n", source, on), ScenarioError);
  EXPECT_THROW(import_launch("source /etc/passwd\n", source, on), ScenarioError);  // nothing outside is read
}

TEST(ImportLaunch, AsksForWhatNoScriptSays) {
  EXPECT_TRUE(holds(refusal(kBase, {}), "--cluster NAME"));
  EXPECT_TRUE(
      holds(refusal("--num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --micro-batch-size 1"),
            "--with '--vocab-size"));
  EXPECT_TRUE(holds(refusal(kModel + "--micro-batch-size $B"), "--micro-batch-size is $B"));
  LaunchOptions given{"dgx-h100-4x8"};
  given.with = {"B=4", "--fp16 --clip-grad 0"};
  const ImportedLaunch launch = imported(kModel + "--micro-batch-size $B", given);
  EXPECT_EQ(at(launch, "/training/micro_batch_size"), "4");
  EXPECT_EQ(at(launch, "/training/precision"), "\"fp16\"");
  EXPECT_EQ(at(launch, "/training/gradient_clipping"), "false");
}

TEST(ImportLaunch, TakesNodesFromTheHeaderTheLauncherOrTheOption) {
  const std::string run = "srun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES pretrain_gpt.py " + kBase;
  const auto nodes = [&](const std::string& script, int option = 0) {
    return at(import_launch(script, "train.sh", {.cluster = "dgx-h100-4x8", .nodes = option}),
              "/cluster/nodes/0/count");
  };
  EXPECT_EQ(nodes("#SBATCH --nodes=16\t# many\n" + run), "16");
  EXPECT_EQ(nodes("#SBATCH --nodes=3\r\n" + run), "3");
  EXPECT_EQ(nodes("#SBATCH --gres=gpu:8,nvme:1 --nodes 5 # five\n" + run), "5");
  EXPECT_EQ(nodes("#SBATCH -N 8\n#SBATCH --gres=gpu:h100:8\n" + run), "8");
  EXPECT_EQ(nodes("#SBATCH --ntasks=64\n#SBATCH --ntasks-per-node=8\n" + run), "8");
  EXPECT_EQ(nodes("#SBATCH --nodes=16\n" + run, 2), "2");
  EXPECT_EQ(nodes("torchrun --nproc-per-node=8 --nnodes=2:4 pretrain_gpt.py " + kBase), "2");
  EXPECT_EQ(nodes("torchrun --nproc-per-node=8 --nnodes=1 pretrain_gpt.py " + kBase), "4");  // the cluster's
  EXPECT_EQ(nodes("torchrun --nproc-per-node=8 --nnodes=1 pretrain_gpt.py " + kBase, 1), "1");
}

TEST(ImportLaunch, NumbersOfAnySizeAreReadOrRefused) {
  for (const char* const more : {"--train-iters 1e300", "--zero-stage 1e300 --deepspeed",
                                 "--swiglu --kv-channels 9999999 --num-attention-heads 9999999",
                                 "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 9999999",
                                 "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 9999999 "
                                 "--account-for-loss-in-pipeline-split"})
    refusal(kBase + more);
  const std::string run = "srun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES pretrain_gpt.py " + kBase;
  for (const char* const header :
       {"--ntasks=8\n#SBATCH --ntasks-per-node=0", "--nodes=999999999\n#SBATCH --ntasks-per-node=999999999"})
    EXPECT_EQ(at(import_launch(std::string("#SBATCH ") + header + "\n" + run, "train.sh", {.cluster = "dgx-h100-4x8"}),
                 "/cluster/nodes/0/count"),
              "4");
  EXPECT_TRUE(holds(refusal(kBase, {.cluster = "dgx-h100-4x8", .nodes = 999'999}), "which is more than 1048576"));
}

TEST(ImportLaunch, ARangeOfNodesIsTold) {
  const ImportedLaunch launch =
      import_launch("#SBATCH --nodes=2-3\nsrun torchrun --nproc_per_node 8 pretrain_gpt.py " + kBase, "train.sh",
                    {.cluster = "dgx-h100-4x8"});
  ASSERT_EQ(launch.not_modelled.size(), 1U);
  EXPECT_TRUE(holds(launch.not_modelled[0], "train.sh:1: --nodes=2-3 is no one number"));
  EXPECT_EQ(at(launch, "/cluster/nodes/0/count"), "4");
}

/// A script is refused.
std::string why(const std::string& script) {
  return thrown_by<ScenarioError>([&] { import_launch(script, "train.sh", {"dgx-h100-4x8"}); });
}

TEST(ImportLaunch, SaysHowManyNodesAReplicaTakes) {
  EXPECT_TRUE(holds(refusal(kBase + "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 8"),
                    "takes 64 GPUs, and 4 nodes have 32; add --nodes 8"));
  EXPECT_TRUE(holds(why("torchrun --nproc_per_node 4 pretrain_gpt.py " + kBase),
                    "starts 4 processes a node, and a node of dgx-h100-4x8 has 8"));
}

TEST(ImportLaunch, SaysWhatItTookAndWhatNot) {
  const ImportedLaunch launch = imported(kBase + "--lr 1e-4 --save /tmp/x --fp8-param-gather --no-such-thing 3");
  const auto has = [](const std::vector<std::string>& list, const std::string& text) {
    return std::ranges::any_of(list, [&](const std::string& each) { return each.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has(launch.taken, "train.sh:1: --hidden-size 1024"));
  EXPECT_TRUE(has(launch.without_effect, "--lr 1e-4"));
  EXPECT_TRUE(has(launch.without_effect, "--save /tmp/x"));
  EXPECT_TRUE(has(launch.not_modelled, "--fp8-param-gather: parameters would be gathered at half of the bytes"));
  EXPECT_TRUE(has(launch.not_known, "--no-such-thing 3"));
}

TEST(ImportLaunch, NeedsOneLineThatStartsATraining) {
  EXPECT_TRUE(holds(why("echo nothing"), "no line starts a trainer"));
  EXPECT_TRUE(
      holds(why("for m in 1 2; do torchrun pretrain_gpt.py --micro-batch-size $m; done"), "a loop is not followed"));
  EXPECT_TRUE(holds(why("cp pretrain_gpt.py ."), "no line starts a trainer"));
  EXPECT_TRUE(holds(why("python pretrain_bert.py"), "a model that is not modelled yet"));
  EXPECT_TRUE(holds(why("accelerate launch --config_file no.yaml run_clm.py --model_name_or_path gpt2"),
                    "accelerate's configuration is not here"));
  EXPECT_TRUE(holds(why("python pretrain_gpt.py\npython pretrain_gpt.py"), "a second line starts a training"));
}

TEST(ImportLaunch, ReadsTheArgumentsOfHuggingFacesTrainer) {
  const std::string run =
      "cat <<E > ds.json\n{\"zero_optimization\": {\"stage\": 2, \"overlap_comm\": true, "
      "\"reduce_bucket_size\": 5e8}, \"bf16\": {\"enabled\": \"auto\"}}\nE\n"
      "deepspeed --num_gpus 8 --num_nodes 4 run_clm.py --model_name_or_path meta-llama/Llama-2-7b-hf "
      "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 --max_steps 10 --bf16 ";
  const LaunchOptions on{.cluster = "dgx-h100-4x8"};
  const ImportedLaunch launch =
      import_launch(run + "--block_size 1024 --deepspeed ds.json --gradient_checkpointing", "train.sh", on);
  EXPECT_EQ(at(launch, "/model"), "\"llama-2-7b\"");
  EXPECT_EQ(at(launch, "/training/framework"), "\"deepspeed\"");
  EXPECT_EQ(at(launch, "/training/precision"), "\"bf16\"");
  EXPECT_EQ(at(launch, "/training/autocast"), "-");
  EXPECT_EQ(at(launch, "/training/activation_recompute"), "\"full\"");
  EXPECT_EQ(at(launch, "/training/train_tokens"), "2621440");  // 10 x 2 x 4 x 32 GPUs x 1024
  EXPECT_EQ(at(launch, "/schedules/0/name"), "\"zero2\"");
  EXPECT_EQ(at(launch, "/schedules/0/overlap"), "\"backward\"");
  EXPECT_EQ(at(launch, "/schedules/0/bucket_cap_mb"), "953.67431640625");  // 5e8 of 2 bytes
  const ImportedLaunch plain = import_launch(run + "--block_size 1024", "train.sh", on);
  EXPECT_EQ(at(plain, "/schedules/0/name"), "\"ddp\"");
  EXPECT_EQ(at(plain, "/training/autocast"), "\"bf16\"");
  const ImportedLaunch fsdp = import_launch(run + "--block_size 1024 --fsdp 'hybrid_shard auto_wrap'", "train.sh", on);
  EXPECT_EQ(at(fsdp, "/schedules/0/name"), "\"zero3\"");
  EXPECT_EQ(at(fsdp, "/schedules/0/shard_group"), "\"node\"");
  for (const auto& [more, said] :
       {std::pair("", "how long sequences are"), std::pair("--block_size 8 --lora_r 8", "add --with '--use_peft true'"),
        std::pair("--block_size 8 --fsdp 'full_shard offload'", "parameters on the host"),
        std::pair("--block_size 8 --optim adafactor", "AdamW"),
        std::pair("--block_size 8 --model_name_or_path me/mine", "add --model")})
    EXPECT_TRUE(holds(thrown_by<ScenarioError>([&, more = more] { import_launch(run + more, "train.sh", on); }), said));
}

TEST(ImportLaunch, ShardsOfANodeAndBucketsInElements) {
  const auto written = [](const std::string& zero, const std::string& type) {
    return import_launch("cat <<E > ds.json\n{\"zero_optimization\": {" + zero + "}, \"bf16\": {\"enabled\": " + type +
                             "}}\nE\ndeepspeed --num_gpus 8 run_clm.py --model_name_or_path gpt2 --deepspeed ds.json "
                             "--per_device_train_batch_size 1 --block_size 512 --max_steps 1",
                         "train.sh", {.cluster = "dgx-h100-4x8"});
  };
  const std::string buckets = "\"stage\": 2, \"allgather_bucket_size\": 1048576";
  EXPECT_EQ(at(written(buckets, "true"), "/schedules/0/gather_bucket_mb"), "2.0");
  EXPECT_EQ(at(written(buckets, "false"), "/schedules/0/gather_bucket_mb"), "4.0");  // fp32
  EXPECT_EQ(at(written("\"stage\": 3, \"mics_shard_size\": 8", "true"), "/schedules/0/shard_group"), "\"node\"");
  EXPECT_EQ(at(written("\"stage\": 3, \"mics_shard_size\": -1", "true"), "/schedules/0/shard_group"), "-");
  EXPECT_THROW(written("\"stage\": 3, \"mics_shard_size\": 4", "true"), ScenarioError);
}

TEST(ImportLaunch, TrlsCommandIsATrainer) {
  const LaunchOptions on{.cluster = "dgx-h100-4x8"};
  const std::string rest = " --model_name_or_path gpt2 --per_device_train_batch_size 3 --max_length 512 --max_steps 1";
  EXPECT_EQ(at(import_launch("trl sft" + rest, "train.sh", on), "/training/micro_batch_size"), "3");
  EXPECT_EQ(at(import_launch("accelerate launch trl sft" + rest, "train.sh", on), "/training/micro_batch_size"), "3");
  EXPECT_TRUE(holds(thrown_by<ScenarioError>([&] { import_launch("trl dpo" + rest, "train.sh", on); }),
                    "trains by other passes"));
}

TEST(ImportLaunch, DeepSpeedsConfigurationIsWhatTheScriptWrites) {
  const ImportedLaunch launch = import_launch(
      "Z=1\ncat <<E > ./ds.$JOB.json\n{\n \"gradient_clipping\": 1.0,\n \"zero_optimization\": {\"stage\": $Z}\n}\nE\n"
      "deepspeed pretrain_gpt.py --deepspeed --deepspeed_config ./ds.$JOB.json " +
          kBase,
      "train.sh", {"dgx-h100-4x8"});
  EXPECT_EQ(at(launch, "/schedules/0/name"), "\"zero1\"");
  EXPECT_EQ(at(launch, "/training/gradient_clipping"), "true");
  EXPECT_EQ(at(launch, "/origins/~1training~1gradient_clipping"), "\"train.sh:4\"");
}

}  // namespace
}  // namespace accosim
