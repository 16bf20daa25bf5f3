#include "models/launch/deepspeed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostBytes = 1'000'000;
constexpr double kMiB = 1024 * 1024;

/// What is not modelled where it is switched on: by true, a text, or a number above 1.
struct Unmodelled {
  const char* pointer;
  const char* what;
};
constexpr Unmodelled kUnmodelled[] = {
    {"/zero_optimization/round_robin_gradients", "copies to the host in turn"},
    {"/zero_optimization/mics_shard_size", "shards would be kept in groups of so many GPUs"},
    {"/zero_optimization/cpu_offload", "the optimizer would be on the host; write offload_optimizer"},
    {"/zero_optimization/zero_hpz_partition_size",
     "a second copy of parameters near by, for the gathers of the backward pass"},
    {"/zero_optimization/zero_quantized_weights", "parameters would be gathered in int8"},
    {"/zero_optimization/zero_quantized_gradients", "gradients would be reduced in int4"},
    {"/activation_checkpointing/partition_activations", "kept activations would be sliced"},
    {"/activation_checkpointing/cpu_checkpointing", "kept activations would go to the host"},
    {"/wall_clock_breakdown", "timers that wait for the GPU"},
    {"/flops_profiler/enabled", "a profiler slows the steps that it watches"},
};

bool is_on(const JsonValue& value) {
  return value.kind == JsonKind::kBool     ? value.boolean
         : value.kind == JsonKind::kNumber ? value.number > 1
                                           : value.kind == JsonKind::kText && value.text != "none";
}

/// What makes another training of it is refused, what is not modelled told.
void sort_others(const ConfigFile& config, Draft& draft) {
  const auto number = [&](const char* pointer) { return config.find(pointer, JsonKind::kNumber); };
  const auto text = [&](const char* pointer) { return config.find(pointer, JsonKind::kText); };
  if (const JsonValue* const device = text("/zero_optimization/offload_param/device");
      device != nullptr && device->text != "none")
    draft.refuse(
        0, config.origin(*device) + ": offload_param: parameters on the host are not modelled yet; write \"none\"");
  if (const JsonValue* const ranks = number("/sequence_parallel_size"); ranks != nullptr && ranks->number > 1)
    draft.refuse(0, config.origin(*ranks) +
                        ": sequence_parallel_size: DeepSpeed's sequence parallelism is not modelled yet; write 1");
  if (const JsonValue* const optimizer = text("/optimizer/type");
      optimizer != nullptr && lower(optimizer->text) != "adam" && lower(optimizer->text) != "adamw")
    draft.refuse(0, fmt::format("{}: optimizer {}: of optimizers only AdamW is modelled", config.origin(*optimizer),
                                in_quotes(optimizer->text)));
  for (const Unmodelled& row : kUnmodelled)
    if (const JsonValue* const value = at_pointer(config.root, row.pointer); value != nullptr && is_on(*value))
      draft.passed_over(
          fmt::format("{}: {}: {}", config.origin(*value), std::string_view(row.pointer).substr(1), row.what));
}

}  // namespace

const JsonValue* ConfigFile::find(const char* pointer, JsonKind kind) const {
  const JsonValue* const value = at_pointer(root, pointer);
  return value != nullptr && value->kind == kind ? value : nullptr;
}

std::string ConfigFile::origin(const JsonValue& value) const {
  return fmt::format("{}:{}", source, first_line + value.origin.line - 1);
}

std::optional<ConfigFile> read_config(const std::string& path, const LaunchLine& launch, int line, Draft& draft) {
  ConfigFile config;
  std::string text;
  if (const auto written = launch.script.files.find(path); written != launch.script.files.end()) {
    text = written->second.text;
    config.source = draft.source();
    config.first_line = written->second.line;
  } else {
    const std::filesystem::path beside = std::filesystem::path(draft.source()).parent_path() / path;
    std::error_code none;
    if (!std::filesystem::is_regular_file(beside, none)) {
      draft.not_modelled(line,
                         fmt::format("{} is no file here: what the arguments say is taken", printable(path, 300)));
      return {};
    }
    config.source = printable(beside.string(), 300);
    const std::string wrong = read_text_file(beside.string(), text, kMostBytes);
    if (!wrong.empty()) {
      draft.not_modelled(line, fmt::format("{} {}: what the arguments say is taken", config.source, wrong));
      return {};
    }
  }
  JsonDocument document = parse_json(text, config.source);
  for (const std::string& error : document.errors) draft.refuse(line, error);
  config.root = std::move(document.root);
  return config;
}

void read_deepspeed(const ConfigFile& config, Draft& draft) {
  const auto set = [&](const std::string& pointer, JsonValue value, const JsonValue& said) {
    draft.put(pointer, std::move(value), config.origin(said));
  };
  const auto number = [&](const char* pointer) { return config.find(pointer, JsonKind::kNumber); };
  const auto flag = [&](const char* pointer) { return config.find(pointer, JsonKind::kBool); };
  const auto text = [&](const char* pointer) { return config.find(pointer, JsonKind::kText); };
  const JsonValue *const stage = number("/zero_optimization/stage"), *const bf16 = flag("/bf16/enabled"),
                         *const fp16 = flag("/fp16/enabled");
  const int level = stage == nullptr ? 0 : static_cast<int>(std::clamp(stage->number, 0.0, 3.0));
  if (stage != nullptr) set("/schedules/0/name", plain_schedule(static_cast<Sharding>(level)).name, *stage);
  if (bf16 != nullptr && bf16->boolean) set("/training/precision", "bf16", *bf16);
  if (fp16 != nullptr && fp16->boolean) set("/training/precision", "fp16", *fp16);
  const JsonValue* const reduced = text("/communication_data_type");
  if (reduced != nullptr && level < 3) set("/schedules/0/gradient_dtype", reduced->text, *reduced);
  const JsonValue* const precision = draft.at("/training/precision");
  const bool in_fp32 =
      precision == nullptr || precision->text == "fp32" || (reduced != nullptr && reduced->text == "fp32");
  const double bytes = in_fp32 ? 4 : 2;
  if (const JsonValue* const sums = text("/data_types/grad_accum_dtype"); sums != nullptr && level < 3)
    set("/schedules/0/gradient_dtype", sums->text, *sums);
  if (const JsonValue* const ratio = number("/zero_optimization/offload_optimizer/ratio");
      ratio != nullptr && ratio->number < 1)
    draft.passed_over(config.origin(*ratio) + ": ratio: a part of the optimizer's step would stay on the GPU");
  if (level == 1 || level == 2) {
    if (const JsonValue* const overlap = flag("/zero_optimization/overlap_comm"))
      set("/schedules/0/overlap", overlap->boolean ? "backward" : "none", *overlap);
    if (const JsonValue* const bucket = number("/zero_optimization/reduce_bucket_size"))
      set("/schedules/0/bucket_cap_mb", bucket->number * bytes / kMiB, *bucket);
    if (const JsonValue* const bucket = number("/zero_optimization/allgather_bucket_size"))
      set("/schedules/0/gather_bucket_mb", bucket->number * 2 / kMiB, *bucket);
    if (const JsonValue* const copied = flag("/zero_optimization/contiguous_gradients"))
      set("/schedules/0/gradient_as_bucket_view", !copied->boolean, *copied);
    if (const JsonValue* const gathered = flag("/zero_optimization/allgather_partitions");
        gathered != nullptr && !gathered->boolean)
      set("/schedules/0/parameter_sync", "broadcast", *gathered);
  }
  if (level == 3)
    draft.not_modelled(0, "ZeRO-3 gathers ahead as PyTorch's fully_shard does, not as DeepSpeed's prefetcher");
  if (const JsonValue* const clips = number("/gradient_clipping"))
    set("/training/gradient_clipping", clips->number > 0, *clips);
  if (const JsonValue* const device = text("/zero_optimization/offload_optimizer/device")) {
    if (device->text == "cpu") set("/schedules/0/offload_optimizer", true, *device);
    if (device->text == "nvme")
      draft.refuse(0,
                   config.origin(*device) + ": the optimizer on a disk is not modelled yet; write \"cpu\" or \"none\"");
  }
  sort_others(config, draft);
}

}  // namespace accosim
