// What people write who come from other programs or in a hurry, and what the message must lead them to: good is one
// after which the next attempt is right.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/unwrapped.hpp"

namespace accosim {
namespace {

constexpr const char* kMine = R"({
  "schema": "accosim.scenario/1", "name": "mine", "model": "llama-3-8b",
  "cluster": {"name": "rented", "nodes": [{"count": 4, "gpus": 8, "device": "H100-SXM",
    "intra": {"kind": "nvswitch", "bandwidth": "450 GB/s"},
    "nics": {"kind": "infiniband", "count": 8, "bandwidth": "400 Gbit/s"}}]},
  "training": {"sequence_length": 4096, "micro_batch_size": 1, "gradient_accumulation_steps": 4, "train_tokens": 1e9,
    "precision": "bf16", "activation_recompute": "full"},
  "baseline": "zero1",
  "schedules": [{"name": "zero1"}, {"name": "zero3"}, {"name": "acco"}]
})";

/// What is set of mine.json for a comparison, and what that leads to.
const std::vector<std::pair<std::string, std::string>> kSettings{
    {"/training/tensor_parallel_size=8", R"("parallel": {"tensor_parallel_size": 8})"},
    {"/training/pipeline_parallel_size=4", R"("parallel": {"pipeline_parallel_size": 4})"},
    {"/training/parallel/tp_size=8", R"("tensor_parallel_size")"},
    {"/training/parallel/tensor_parallel_size=5", "write 4 or 8"},
    {"/training/context_parallel_size=2", "context parallelism is not modelled"},
    {"/training/train_batch_size=512", R"("global_batch_size")"},
    {"/training/global_batch_size=510", "write 480 or 512"},
    {"/training/batch_size=8", R"("micro_batch_size")"},
    {"/training/activation_checkpointing=true", R"("activation_recompute", such as "full")"},
    {"/training/gradient_checkpointing=true", R"("activation_recompute", such as "full")"},
    {"/schedules/0/activation_recompute=full", R"(it belongs to "training")"},
    {"/training/seq_len=4096", R"("sequence_length")"},
    {"/training/grad_accum=8", R"("gradient_accumulation_steps")"},
    {"/training/precision=float16", R"(did you mean "fp16"?)"},
    {"/training/precision=bfloat16", R"(did you mean "bf16"?)"},
    {"/training/precision=mixed", R"("autocast": "bf16")"},
    {"/training/train_tokens=1T", "write 1e+12"},
    {"/training/train_tokens=100", "train_tokens are over after 0.00019 updates"},
    {"/training/sequence_length=0", "from 1 to"},
    {"/training/sequence_length=-5", "from 1 to"},
    {"/training/sequence_length=4k", "write 4000 or 4096"},
    {"/cluster/nodes/0/device=H100", R"("H100-PCIe", "H100-SXM-96GB-500W", "H100-SXM")"},
    {"/cluster/nodes/0/device=H100-SXM5-80GB", R"("H100-PCIe", "H100-SXM-96GB-500W", "H100-SXM")"},
    {"/cluster/nodes/0/device=A100", R"("A100-SXM4-80GB")"},
    {"/cluster/nodes/0/device=V100-32GB", R"("V100-SXM2-32GB")"},
    {"/cluster/nodes/0/device=A40", R"({"inherits": "A100-PCIE-80GB")"},
    {"/cluster/nodes/0/device=RTX 6000 Ada", R"({"inherits": "A100-PCIE-80GB")"},
    {"/cluster/nodes/0/device=NVIDIA RTX PRO 6000", R"("RTX-PRO-6000")"},
    {"/cluster/nodes/0/device=RTX4080", R"({"inherits": "A100-PCIE-80GB")"},
    {"/cluster/nodes/0/intra/bandwidth=900 GB/s", "has 450 GB/s in one direction"},
    {"/cluster/nodes/0/intra/bandwidth=450", R"("100 Gbit/s" (bits))"},
    {"/cluster/nodes/0/nics/bandwidth=400 GB/s", "adapters are sold by bits: write Gbit/s"},
    {"/cluster/nodes/0/nics/bandwidth=400 Gb/s", "(80 %:"},
    {"/cluster/nodes/0/nics/bandwidth=400Gbps", "(80 %:"},
    {"/cluster/nodes/0/nics/kind=ib", R"(did you mean "infiniband"?)"},
    {"/cluster/nodes/0/nics/kind=roce_v2", R"(did you mean "roce"?)"},
    {"/cluster/nodes/0/intra/kind=nvlink4", R"(did you mean "nvlink"?)"},
    {"/cluster/nodes/0/count=10000", "train_tokens are over after"},
    {"/cluster/nodes/0/num_gpus=8", R"("gpus")"},
    {"/cluster=dgx-h100", R"(did you mean "dgx-h100-1x8"?)"},
    {"/model=llama-3-71b", "accosim list models"},
    {"/model=meta-llama/Llama-3-9B", R"(did you mean "llama-3-8b"?)"},
    {"/model=gpt3", "accosim list models"},
    {"/model=glm4.json", R"("glm4" is not modelled yet: nobody has written its row; the nearest is )"},
    {"/model=phi.json", R"("phi" is not modelled yet: attention and MLP run side by side)"},
    {"/model=dbrx.json", R"("dbrx" is not modelled yet: nobody has written the row of this mixture of experts; )"},
    {"/model=longcat.json", R"("longcat_flash" is not modelled yet: it is a mixture of experts with another latent)"},
    {"/baseline=ddp", R"(add {"name": "ddp"} to "schedules")"},
    {R"(/schedules/0={"name":"fsdp"})", R"(FSDP is "zero3")"},
    {R"(/schedules/0={"name":"deepspeed"})", R"("zero1", "zero2" or "zero3", by its stage)"},
    {R"(/schedules/0={"name":"megatron"})", R"("zero1" with "framework": "megatron")"},
    {"/schedules/0/bucket_size=25", R"("bucket_cap_mb")"},
};

/// Other words, and what they lead to.
const std::vector<std::pair<std::vector<std::string>, std::string>> kCommands{
    {{"compare", "mine.json", "--schedule", "fsdp"}, R"("zero3")"},
    {{"compare", "mine.json", "--schedule", "ACCO"}, R"(did you mean "acco"?)"},
    {{"compare", "mine.json", "--schedule", "zero-1"}, R"(did you mean "zero1"?)"},
    {{"compare", "mine"}, "(80 %:"},
    {{"compare"}, "name a scenario"},
    {{"run"}, "as accosim list scenarios shows it: accosim run finetune_2x4_a100"},
    {{"compre", "mine.json"}, R"(no verb "compre"; did you mean "compare"?)"},
    {{"compare", "mine.json", "--scedule", "acco"}, "compare has no --scedule; did you mean --schedule?"},
    {{"compare", "mine.json", "--sed=/a=1"}, "compare has no --sed; did you mean --set?"},
    {{"compare", "mine.json", "--xyzzy"}, "accosim help compare lists what it has"},
    {{"resolve", "mine.json", "--trace", "x"}, "resolve has no --trace, which belongs to compare, run; leave"},
    {{"compare", "mine.json", "--trace", "x", "--trace-updates", "0"},
     R"("0" is out of range; write a whole number from 1 to 1000)"},
    {{"list", "modls"}, R"("modls" is none of its values; did you mean "models"? write one of device, devices)"},
    {{"validate", "--jobs", "many"}, R"("many" is no whole number; write a whole number from 1 to 256)"},
    {{"validate", "--jobs", "1.5"}, "write a whole number from 1 to 256"},
    {{"plot", "mine.json", "-o", "t.svg"}, "--kind is missing"},
    {{"plot", "--kind", "timeline", "mine.json", "-o", "t.jpg"}, "name it t.svg"},
    {{"plot", "--kind", "gantt", "mine.json", "-o", "t.svg"}, "timeline"},
    {{"report", "mine.json"}, "--output is missing"},
    {{"report", "mine.json", "-o", "r.pdf"}, "name it r.html"},
    {{"sweep", "mine.json", "--over", "/cluster/nodes/0/count=1..8"}, "count=1..8:8"},
    {{"sweep", "mine.json", "--over", "cluster/nodes/0/count=1,2,4"}, R"(write "/cluster/nodes/0/count=1,2,4")"},
    {{"sweep", "mine.json", "--over", "/cluster/nodes/0/nics/bandwidth=100,200,400"}, R"("100 Gbit/s" (bits))"},
    {{"diff", "a.json"}, "accosim diff a b"},
    {{"explain", "mine.json", "--ladder", "ddp", "acco"}, R"(add {"name": "ddp"} to its "schedules")"},
    {{"import", "all_reduce.log"}, "accosim import nccl-tests "},
    {{"advise", "mine.json", "--objective", "cost"}, "price_per_gpu_hour"},
};

TEST(Mistakes, EachIsToldInWordsThatMendIt) {
  const TemporaryFolder folder;
  folder.write("mine.json", kMine);
  for (const char* const family : {"glm4", "phi"})
    folder.write(std::string(family) + ".json", std::string(R"({"model_type": ")") + family + R"("})");
  folder.write("dbrx.json", R"({"model_type": "dbrx", "num_local_experts": 8})");
  folder.write("longcat.json", R"({"model_type": "longcat_flash", "n_routed_experts": 256, "q_lora_rank": 1536})");
  for (const char* const file : {"a.json", "all_reduce.log"}) folder.write(file, "{}");
  auto mistakes = kCommands;
  for (const auto& [set, leads_to] : kSettings) mistakes.push_back({{"compare", "mine.json", "--set", set}, leads_to});
  for (const auto& [mistake, leads_to] : mistakes) {
    std::vector<std::string> words;
    std::string line;
    for (const std::string& word : mistake) {  // files are named as from their folder
      const bool here =
          std::filesystem::exists(folder.path / word) || std::filesystem::exists(folder.path / (word + ".json"));
      const bool model = word.rfind("/model=", 0) == 0 && word.find(".json") != std::string::npos;
      words.push_back(here    ? (folder.path / word).string()
                      : model ? "/model=" + (folder.path / word.substr(7)).string()
                              : word);
      line += word + " ";
    }
    const ProgramRun run = accosim(words);
    const std::string said = unwrapped(run.err + run.out);
    EXPECT_TRUE(holds(said, leads_to)) << line;
  }
}

}  // namespace
}  // namespace accosim
