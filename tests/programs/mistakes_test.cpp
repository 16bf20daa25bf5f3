// What people write who come from other programs or in a hurry, and what the message must lead them to: good is one
// after which the next attempt is right.
#include <gtest/gtest.h>

#include <filesystem>

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

struct Mistake {
  std::vector<std::string> words;
  std::string leads_to;
};

const std::vector<Mistake> kMistakes{
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/tensor_parallel_size=8)"},
     R"("parallel": {"tensor_parallel_size": 8})"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/pipeline_parallel_size=4)"},
     R"("parallel": {"pipeline_parallel_size": 4})"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/parallel/tp_size=8)"}, R"("tensor_parallel_size")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/parallel/tensor_parallel_size=5)"}, R"(write 4 or 8)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/context_parallel_size=2)"},
     R"(context parallelism is not modelled)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/train_batch_size=512)"}, R"("global_batch_size")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/global_batch_size=510)"}, R"(write 480 or 512)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/batch_size=8)"}, R"("micro_batch_size")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/activation_checkpointing=true)"},
     R"("activation_recompute", such as "full")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/gradient_checkpointing=true)"},
     R"("activation_recompute", such as "full")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/schedules/0/activation_recompute=full)"},
     R"(it belongs to "training")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/seq_len=4096)"}, R"("sequence_length")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/grad_accum=8)"}, R"("gradient_accumulation_steps")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/precision=float16)"}, R"(did you mean "fp16"?)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/precision=bfloat16)"}, R"(did you mean "bf16"?)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/precision=mixed)"}, R"("autocast": "bf16")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/train_tokens=1T)"}, R"(write 1e+12)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/train_tokens=100)"},
     R"(train_tokens are over after 0.00019 updates)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/sequence_length=0)"}, R"(from 1 to)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/sequence_length=-5)"}, R"(from 1 to)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/training/sequence_length=4k)"}, R"(write 4000 or 4096)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/device=H100)"},
     R"("H100-PCIe", "H100-SXM-96GB-500W", "H100-SXM")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/device=H100-SXM5-80GB)"},
     R"("H100-PCIe", "H100-SXM-96GB-500W", "H100-SXM")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/device=A100)"}, R"("A100-SXM4-80GB")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/device=V100-32GB)"}, R"("V100-SXM2-32GB")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/device=A40)"}, R"({"inherits": "A100-PCIE-80GB")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/device=RTX 6000 Ada)"},
     R"({"inherits": "A100-PCIE-80GB")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/device=NVIDIA RTX PRO 6000)"}, R"("RTX-PRO-6000")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/device=RTX4080)"},
     R"({"inherits": "A100-PCIE-80GB")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/intra/bandwidth=900 GB/s)"},
     R"(has 450 GB/s in one direction)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/intra/bandwidth=450)"}, R"("100 Gbit/s" (bits))"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/nics/bandwidth=400 GB/s)"},
     R"(adapters are sold by bits: write Gbit/s)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/nics/bandwidth=400 Gb/s)"}, R"((80 %:)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/nics/bandwidth=400Gbps)"}, R"((80 %:)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/nics/kind=ib)"}, R"(did you mean "infiniband"?)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/nics/kind=roce_v2)"}, R"(did you mean "roce"?)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/intra/kind=nvlink4)"}, R"(did you mean "nvlink"?)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/count=10000)"}, R"(train_tokens are over after)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster/nodes/0/num_gpus=8)"}, R"("gpus")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/cluster=dgx-h100)"}, R"(did you mean "dgx-h100-1x8"?)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=llama-3-71b)"}, R"(accosim list models)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=meta-llama/Llama-3-8B)"}, R"(did you mean "llama-3-8b"?)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=gpt3)"}, R"(accosim list models)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=qwen2.json)"},
     R"("qwen2" is not known; it is not modelled yet: )"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=qwen3.json)"},
     R"("qwen3" is not known; it is not modelled yet: )"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=gemma2.json)"},
     R"("gemma2" is not known; it is not modelled yet: )"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=phi3.json)"},
     R"("phi3" is not known; it is not modelled yet: )"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=mixtral.json)"},
     R"(mixture-of-experts models are not modelled yet)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/model=deepseek.json)"},
     R"(multi-head latent attention is not modelled yet)"},
    {{R"(compare)", R"(mine.json)", R"(--schedule)", R"(fsdp)"}, R"("zero3")"},
    {{R"(compare)", R"(mine.json)", R"(--schedule)", R"(ACCO)"}, R"(did you mean "acco"?)"},
    {{R"(compare)", R"(mine.json)", R"(--schedule)", R"(zero-1)"}, R"(did you mean "zero1"?)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/baseline=ddp)"}, R"(add {"name": "ddp"} to "schedules")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/schedules/0={"name":"fsdp"})"}, R"(FSDP is "zero3")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/schedules/0={"name":"deepspeed"})"},
     R"("zero1", "zero2" or "zero3", by its stage)"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/schedules/0={"name":"megatron"})"},
     R"("zero1" with "framework": "megatron")"},
    {{R"(compare)", R"(mine.json)", R"(--set)", R"(/schedules/0/bucket_size=25)"}, R"("bucket_cap_mb")"},
    {{R"(compare)", R"(mine)"}, R"((80 %:)"},
    {{R"(compare)"}, R"(name a scenario)"},
    {{R"(compre)", R"(mine.json)"}, R"(did you mean "compare"?)"},
    {{R"(plot)", R"(mine.json)", R"(-o)", R"(t.svg)"}, R"(--kind is missing)"},
    {{R"(plot)", R"(--kind)", R"(timeline)", R"(mine.json)", R"(-o)", R"(t.jpg)"}, R"(name it t.svg)"},
    {{R"(plot)", R"(--kind)", R"(gantt)", R"(mine.json)", R"(-o)", R"(t.svg)"}, R"(timeline)"},
    {{R"(report)", R"(mine.json)"}, R"(--output is missing)"},
    {{R"(report)", R"(mine.json)", R"(-o)", R"(r.pdf)"}, R"(name it r.html)"},
    {{R"(sweep)", R"(mine.json)", R"(--over)", R"(/cluster/nodes/0/count=1..8)"}, R"(count=1..8:8)"},
    {{R"(sweep)", R"(mine.json)", R"(--over)", R"(cluster/nodes/0/count=1,2,4)"},
     R"(write "/cluster/nodes/0/count=1,2,4")"},
    {{R"(sweep)", R"(mine.json)", R"(--over)", R"(/cluster/nodes/0/nics/bandwidth=100,200,400)"},
     R"("100 Gbit/s" (bits))"},
    {{R"(diff)", R"(a.json)"}, R"(accosim diff a b)"},
    {{R"(explain)", R"(mine.json)", R"(--ladder)", R"(ddp)", R"(acco)"}, R"(add {"name": "ddp"} to its "schedules")"},
    {{R"(import)", R"(all_reduce.log)"}, R"(accosim import nccl-tests )"},
    {{R"(advise)", R"(mine.json)", R"(--objective)", R"(cost)"}, R"(price_per_gpu_hour)"},
};

TEST(Mistakes, EachIsToldInWordsThatMendIt) {
  const TemporaryFolder folder;
  folder.write("mine.json", kMine);
  for (const char* const family : {"qwen2", "qwen3", "gemma2", "phi3"})
    folder.write(std::string(family) + ".json", std::string(R"({"model_type": ")") + family + R"("})");
  folder.write("mixtral.json", R"({"model_type": "mixtral", "num_local_experts": 8})");
  folder.write("deepseek.json", R"({"model_type": "deepseek_v3", "n_routed_experts": 256, "q_lora_rank": 1536})");
  for (const char* const file : {"a.json", "all_reduce.log"}) folder.write(file, "{}");
  ASSERT_EQ(kMistakes.size(), 72U);
  for (const Mistake& mistake : kMistakes) {
    std::vector<std::string> words;
    std::string line;
    for (const std::string& word : mistake.words) {  // files are named as from their folder
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
    EXPECT_NE(said.find(mistake.leads_to), std::string::npos) << line << "\n" << said;
  }
}

}  // namespace
}  // namespace accosim
