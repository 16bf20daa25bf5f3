// Nothing is played: memory is a matter of prices.
#include "sim/evidence/memory_verdicts.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/spec/scenario.hpp"

namespace accosim {
namespace {

constexpr const char* kSharding = "scenarios/llama-2-7b_fsdp_hsdp.json";
constexpr const char* kPaper = "scenarios/paper/finetune_1x8_a100.json";

VerdictCase planned(const char* what, const char* scenario, std::vector<std::string> settings, const char* schedule) {
  return {what, scenario, std::move(settings), schedule, ""};
}

VerdictCase ran(const char* what, const char* id) { return {what, "", {}, "", id}; }

/// A scenario and one of its schedules, to be priced.
struct Run {
  std::shared_ptr<const Scenario> scenario;
  const ScheduleSpec* spec = nullptr;
  std::optional<Bytes> reserved;
};

Run run_of(const VerdictCase& of, const Published& published, const std::string& folder) {
  Run run;
  if (of.published.empty()) {
    run.scenario = std::make_shared<const Scenario>(load_scenario(folder + "/" + of.scenario, of.settings).scenario);
    for (const ScheduleSpec& spec : run.scenario->schedules)
      if (spec.label == of.schedule) run.spec = &spec;
  } else {
    for (const PublishedCase& one : published.cases) {
      if (one.id == of.published) {
        run.scenario = one.scenario;
        run.spec = &one.scenario->schedules[static_cast<std::size_t>(one.schedule)];
      }
      if (one.id == of.published + " " + kMemoryGroup && one.asked == Asked::kMemoryReserved)
        run.reserved = Bytes{one.measured};
    }
  }
  if (run.spec == nullptr) throw std::logic_error(of.what + " is of no scenario's schedule");
  return run;
}

}  // namespace

const std::vector<VerdictCase>& verdict_cases() {
  static const std::vector<VerdictCase> kCases = {
      planned("Llama 2 7B, ZeRO-1, 64 A100, micro-batch 2", kSharding,
              {"/cluster/nodes/0/count=8", "/training/micro_batch_size=2"}, "ZeRO-1"),
      planned("Llama 2 7B, ZeRO-2, 64 A100, micro-batch 2", kSharding,
              {"/cluster/nodes/0/count=8", "/training/micro_batch_size=2"}, "ZeRO-2"),
      planned("Llama 2 7B, ZeRO-3, 64 A100, micro-batch 3", kSharding,
              {"/cluster/nodes/0/count=8", "/training/micro_batch_size=3"}, "FSDP"),
      planned("Llama 2 7B, DPU, 8 A100", kSharding, {"/cluster/nodes/0/count=1", "/schedules/5/name=dpu"}, "dpu"),
      planned("Llama 2 7B, ACCO, 8 A100", kSharding, {"/cluster/nodes/0/count=1"}, "acco"),
      planned("Llama 2 7B, ACCO, 1024 H100, compiled, micro-batch 2", kSharding,
              {"/cluster=dgx-h100-4x8", "/cluster/nodes/0/count=128", "/training/implementation=compiled",
               "/training/micro_batch_size=2"},
              "acco"),
      planned("Llama 2 13B, ZeRO-3, 8 A100", kSharding, {"/model=llama-2-13b", "/cluster/nodes/0/count=1"}, "FSDP"),
      planned("GPT-Neo 2.7B, the paper's DDP, 8 A100 of 80 GB", kPaper, {}, "DDP as released"),
      planned("GPT-Neo 2.7B, the paper's DDP, 8 A100 of 40 GB", kPaper, {"/cluster/nodes/0/device=A100-SXM4-40GB"},
              "DDP as released"),
      ran("MPT 7B, FSDP, 8 A100 of 80 GB, micro-batch 6", "mosaicml_mpt/mpt-7b-8x-a100-80gb"),
      ran("MPT 1B, FSDP, 16 A100 of 40 GB, micro-batch 8", "mosaicml_mpt/mpt-1b-16x-a100-40gb"),
      ran("Llama 3.1 8B, FSDP, 8 H100 of 96 GB, micro-batch 2", "torchtitan_h100/llama-3.1-8b-8x-h100-eager"),
  };
  return kCases;
}

std::vector<VerdictRow> memory_verdicts(const Published& published, const std::string& folder) {
  std::vector<VerdictRow> rows;
  for (const VerdictCase& of : verdict_cases()) {
    const Run run = run_of(of, published, folder);
    const int steps = run.scenario->training.gradient_accumulation_steps;
    const std::vector<KindMemory> kinds = memory_by_kind(price(*run.scenario, *run.spec), *run.spec, steps);
    VerdictRow row{of, least_likely(kinds), {}, run.reserved};
    if (row.kind.fit.verdict != FitVerdict::kFits) row.ways = ways_to_fit(*run.scenario, *run.spec);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace accosim
