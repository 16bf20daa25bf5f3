#include "models/read/other_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/base/nearest.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"

namespace accosim {
namespace {

using Words = std::map<std::string, std::string>;

void add(Words& words, const std::vector<std::string>& keys, const std::string& note) {
  for (const std::string& key : keys) words.emplace(key, note);
}

std::string is_here(const char* ours) { return fmt::format("here it is \"{}\"", ours); }

/// An advice that ends in "; ".
std::string without_end(const std::string& advice) { return advice.substr(0, advice.rfind(';')); }

/// Small letters and digits alone.
std::string bare(const std::string& text) {
  std::string out;
  for (const char c : lower(text))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  return out;
}

/// "H100-SXM5-80GB" begins with the chip "h100", "RTX PRO 6000" with "rtxpro6000": a family's name alone is no chip.
std::string chip_of(const std::string& device) {
  const std::size_t end = device.find_first_of("-_ ");
  std::string first = bare(device.substr(0, end));
  if (end == std::string::npos) return first;
  const std::string rest = device.substr(end + 1);
  for (const char* const maker : {"nvidia", "tesla", "geforce", "quadro"})
    if (first == maker) return chip_of(rest);
  for (const char* const family : {"rtx", "pro", "titan"})
    if (first == family) return first + chip_of(rest);
  return first;
}

}  // namespace

namespace {

/// How a model is split, by the words that others have for our key.
struct Split {
  const char* ours;
  const char* value;  ///< an example
  std::vector<std::string> words;
};
const std::vector<Split>& splits() {
  static const std::vector<Split> kAll = {
      {"tensor_parallel_size",
       "8",
       {"tensor_parallel", "tp", "tp_size", "tensor_model_parallel_size", "tensor_parallel_degree"}},
      {"pipeline_parallel_size",
       "4",
       {"pipeline_parallel", "pp", "pp_size", "pipeline_model_parallel_size", "pipeline_parallel_degree",
        "pipeline_stages", "num_stages"}},
      {"virtual_pipeline_stages",
       "2",
       {"vpp", "vp", "vp_size", "virtual_pipeline_size", "virtual_pipeline_model_parallel_size",
        "num_virtual_stages_per_pipeline_rank"}},
      {"sequence_parallel", "true", {"sp", "enable_sequence_parallel", "sequence_parallelism"}},
      {"pipeline_schedule", "\"1f1b\"", {"pipeline_parallel_schedule", "schedule"}},
      {"overlap_p2p", "true", {"overlap_p2p_comm", "overlap_p2p_communication"}},
      {"scatter_gather_p2p", "true", {"scatter_gather_tensors_in_pipeline", "pipe_partitioned"}},
      {"tensor_overlap",
       "true",
       {"tp_comm_overlap", "ub_tp_comm_overlap", "async_tensor_parallel", "enable_async_tensor_parallel",
        "user_buffers"}},
      {"expert_parallel_size",
       "8",
       {"expert_parallel", "expert_model_parallel_size", "expert_parallel_degree", "ep", "ep_size"}},
      {"expert_tensor_parallel_size", "1", {"expert_tensor_parallel", "expert_tensor_parallel_degree", "etp"}},
      {"expert_dispatcher",
       "\"deepep\"",
       {"moe_token_dispatcher_type", "moe_flex_dispatcher_backend", "moe_enable_deepep", "dispatcher"}},
      {"expert_overlap",
       "true",
       {"overlap_moe_expert_parallel_comm", "moe_a2a_overlap", "combined_1f1b", "delay_wgrad_compute"}},
      {"stage_layers", "[7, 9, 9, 7]", {"layers_per_stage", "pipeline_model_parallel_layout", "partition"}},
  };
  return kAll;
}

/// What the parallelism has that nobody models yet.
void add_unmodelled(Words& words) {
  const auto parallel = [&](const char* what, const std::vector<std::string>& keys) {
    add(words, keys, fmt::format("{} parallelism is not modelled yet; leave it out", what));
  };
  parallel("context", {"context_parallel_size", "context_parallel", "context_parallel_degree", "cp", "cp_size"});
}

}  // namespace

const std::map<std::string, std::string>& training_words() {
  static const Words kAll = [] {
    Words words;
    for (const Split& split : splits()) {
      std::vector<std::string> keys = split.words;
      keys.emplace_back(split.ours);
      std::erase(keys, "schedule");  // which is no word of pipelines alone
      add(words, keys,
          fmt::format("here it is \"parallel\": {{\"{0}\": {1}}}, as a setting /training/parallel/{0}={1}", split.ours,
                      split.value));
    }
    add(words, {"parallelism", "model_parallel"}, is_here("parallel"));
    add_unmodelled(words);
    add(words, {"train_batch_size", "total_batch_size", "samples_per_update"}, is_here("global_batch_size"));
    add(words,
        {"per_device_train_batch_size", "train_micro_batch_size_per_gpu", "micro_batch", "mbs", "local_batch_size",
         "device_batch_size"},
        is_here("micro_batch_size"));
    add(words, {"batch_size"},
        "write \"micro_batch_size\", of a GPU at a time, or \"global_batch_size\", of all GPUs in a step");
    add(words,
        {"activation_checkpointing", "gradient_checkpointing", "recompute", "recompute_granularity",
         "activation_checkpoint", "checkpointing"},
        "here it is \"activation_recompute\", such as \"full\"");
    add(words, {"seq_len", "seq_length", "seqlen", "max_seq_len", "max_seq_length", "context_length", "block_size"},
        is_here("sequence_length"));
    add(words,
        {"grad_accum", "gradient_accumulation", "grad_accum_steps", "accumulation_steps", "accumulate_grad_batches",
         "gas"},
        is_here("gradient_accumulation_steps"));
    add(words, {"dtype", "torch_dtype", "mixed_precision", "param_dtype"}, is_here("precision"));
    add(words, {"steps", "max_steps", "train_iters", "train_steps", "epochs", "num_train_epochs", "tokens"},
        "here it is \"train_tokens\", a number of tokens");
    add(words,
        {"use_liger_kernel", "liger", "liger_fused_linear_cross_entropy", "cut_cross_entropy", "num_output_chunks",
         "chunked_loss"},
        "here it is \"loss\": \"fused_linear\" (Liger's), \"cut\" or \"chunked\"");
    add(words, {"compile", "torch_compile"}, "here it is \"implementation\": \"compiled\"");
    add(words, {"fused_adamw", "fused", "fused_optimizer"}, "here it is \"optimizer_implementation\": \"fused\"");
    add(words, {"flash_attention", "use_flash_attn", "attn_implementation"}, "here it is \"attention\": \"flash\"");
    add(words,
        {"qlora", "lora_r", "lora_rank", "lora_alpha", "lora_dropout", "lora_target_modules", "use_lora", "peft",
         "peft_config", "adapter", "adapters", "load_in_4bit"},
        "here it is \"lora\": {\"rank\": 16, \"targets\": [\"all-linear\"]}, with \"base_dtype\": \"nf4\" for weights "
        "in 4 "
        "bits; other adapters are not modelled");
    add(words, {"load_in_8bit", "quantization", "quantization_config"},
        "of quantised weights only those under LoRA in 4 bits are modelled: \"lora\" with \"base_dtype\": \"nf4\"");
    return words;
  }();
  return kAll;
}

const std::map<std::string, std::string>& parallel_words() {
  static const Words kAll = [] {
    Words words;
    for (const Split& split : splits()) add(words, split.words, is_here(split.ours));
    add(words, {"num_layers_per_virtual_pipeline_stage", "num_layers_per_virtual_stage"},
        "here it is \"virtual_pipeline_stages\", the chunks of each stage: num_hidden_layers / (pipeline_parallel_size "
        "x "
        "the blocks of a chunk)");
    add(words,
        {"data_parallel_size", "data_parallel", "dp", "dp_size", "data_parallel_degree", "data_parallel_shard_degree",
         "data_parallel_replicate_degree"},
        "it is what is left of the GPUs: GPUs / (tensor_parallel_size x pipeline_parallel_size); leave it out");
    add(words, {"use_tp_pp_dp_mapping"}, "here it is \"order\": \"tp-cp-ep-pp-dp\"");
    add(words,
        {"micro_batches", "num_microbatches", "num_micro_batches", "pipeline_parallel_microbatch_size",
         "gradient_accumulation_steps"},
        "the micro-batches of an update are \"gradient_accumulation_steps\" of the training");
    add_unmodelled(words);
    return words;
  }();
  return kAll;
}

const std::map<std::string, std::string>& node_group_words() {
  static const Words kAll = [] {
    Words words{{"devices", "did you mean \"device\"?"}, {"network", "did you mean \"nics\"?"}};
    add(words, {"num_gpus", "gpus_per_node", "gpu_count", "num_gpus_per_node", "n_gpus"}, is_here("gpus"));
    add(words, {"gpu", "gpu_type", "accelerator"}, is_here("device"));
    add(words, {"num_nodes", "nnodes", "n_nodes", "nodes"}, is_here("count"));
    add(words, {"nic", "adapters", "infiniband", "interconnect"}, is_here("nics"));
    add(words, {"nvlink", "links"}, is_here("intra"));
    add(words, {"price", "price_per_hour", "cost"}, is_here("price_per_gpu_hour"));
    add(words, {"currency"}, "one holds for all prices; write it beside \"nodes\"");
    return words;
  }();
  return kAll;
}

const std::map<std::string, std::string>& schedule_words() {
  static const Words kAll = [] {
    Words words;
    for (const auto& [key, note] : training_words()) words.emplace(key, "of the training: " + note);
    add(words,
        {"sequence_length", "gradient_accumulation_steps", "train_tokens", "precision", "activation_recompute",
         "implementation", "optimizer_implementation", "attention", "framework"},
        "it belongs to \"training\": --set /training/...");
    add(words, {"bucket_size", "bucket_mb", "bucket_size_mb", "reduce_bucket_size", "allreduce_bucket_size"},
        is_here("bucket_cap_mb"));
    add(words, {"stage", "zero_stage"}, "the schedule's name says it: " + without_end(advice_for_schedule("zero")));
    add(words, {"sharding_strategy"},
        "the schedule's name says it: " + advice_for_schedule("full_shard") + without_end(advice_for_schedule("hsdp")));
    add(words,
        {"H", "h", "inner_steps", "num_inner_steps", "local_steps", "num_local_steps", "local_updates", "sync_every",
         "sync_interval"},
        is_here("inner_updates"));
    add(words, {"tau"},
        "updates between two meetings are \"inner_updates\" here, and those that a fragment travels \"delay\"");
    add(words, {"fragments", "num_fragments", "fragment_count", "fragment_size"},
        "here it is \"fragment_layers\", the layers of one fragment");
    add(words, {"payload", "payload_dtype", "outer_bits", "exchange_dtype", "quantization", "quantize"},
        "here it is \"outer_dtype\", such as \"int8\"");
    add(words, {"overlap_comm", "overlap_grad_reduce"}, "here it is \"overlap\": \"backward\"");
    return words;
  }();
  return kAll;
}

std::vector<std::string> schedules_with(std::string_view key) {
  std::vector<std::string> owners;
  for (const ScheduleTraits& row : schedules())
    if (row.takes(key)) owners.emplace_back(row.name);
  for (const ScheduleTraits& row : schedules_of_frameworks())
    if (row.takes(key) && std::ranges::find(owners, row.name) == owners.end())
      owners.push_back(fmt::format("{} under {}", row.name, name_of(*row.under)));
  return owners;
}

std::string note_of_frameworks(const ScheduleTraits& schedule, std::string_view key) {
  if (schedule.under && traits_of(schedule.name).takes(key)) return schedule.lacks_keys;
  for (const ScheduleTraits& row : schedules_of_frameworks())
    if (row.name == std::string_view(schedule.name) && row.takes(key))
      return fmt::format("{} has such a choice only where {} runs it; remove it, or write \"framework\": \"{}\"",
                         schedule.name, title_of(*row.under), name_of(*row.under));
  return {};
}

ObjectReader::Advice dtype_advice() {
  return [](const std::string& written) -> std::string {
    const std::string word = bare(written);
    const std::pair<const char*, const char*> known[] = {
        {"float16", "fp16"},       {"half", "fp16"},    {"torchfloat16", "fp16"}, {"bfloat16", "bf16"},
        {"torchbfloat16", "bf16"}, {"float32", "fp32"}, {"float", "fp32"},        {"torchfloat32", "fp32"},
        {"float8", "fp8"},         {"e4m3", "fp8"},     {"tfloat32", "tf32"}};
    for (const auto& [other, ours] : known)
      if (word == other) return fmt::format("did you mean \"{}\"? ", ours);
    if (word == "mixed" || word == "amp" || word == "auto" || word == "bf16mixed" || word == "fp16mixed")
      return "parameters in 16 bits are \"bf16\"; those in 32 bits with products in 16 are \"fp32\" and \"autocast\": "
             "\"bf16\"; ";
    std::vector<std::string> names;
    for (const char* const name : kNames<Dtype>) names.emplace_back(name);
    return did_you_mean(written, names);
  };
}

ObjectReader::Advice link_advice(std::vector<std::string> kinds) {
  return [kinds = std::move(kinds)](const std::string& written) {
    const std::string word = bare(written);
    if (word == "ib" || word == "hdr" || word == "ndr" || word == "mellanox")
      return std::string("did you mean \"infiniband\"? ");
    if (word == "ethernet" || word == "eth")
      return std::string("RDMA over Ethernet is \"roce\", without RDMA \"tcp\"; ");
    std::string longest;  // "roce_v2", "nvlink4", "pcie-host"
    for (const std::string& kind : kinds)
      if (word.rfind(bare(kind), 0) == 0 && kind.size() > longest.size()) longest = kind;
    return longest.empty() ? did_you_mean(written, kinds) : fmt::format("did you mean \"{}\"? ", longest);
  };
}

std::string lacking_family(const std::string& model_type) {
  struct Lacking {
    const char* why;
    std::string instead;
    std::vector<std::string_view> families;  ///< or their beginnings, where they end in "*"
  };
  const std::string measured = fmt::format(
      "write \"model_type\": {} with \"parameters\" and \"micro_batch_time\", the time of a micro-batch that somebody "
      "measured",
      in_quotes(measured_family().name));
  const char* const text = "give the text_config as a config.json of its own, if its model_type is one that is read";
  const std::vector<Lacking> known = {
      {"it is a mixture of experts with another latent attention",
       measured,
       {"deepseek_v32", "deepseek_vl_v2", "longcat_flash"}},
      {"it has multi-head latent attention", measured, {"minicpm3"}},
      {"it is a mixture of experts with linear attention", measured, {"qwen3_next", "minimax", "kimi_linear"}},
      {"its experts stand elsewhere than in place of a decoder's MLPs",
       measured,
       {"arctic", "switch_transformers", "jetmoe"}},
      {"nobody has written the row of this mixture of experts",
       "the nearest is a config of Qwen3 MoE with the same sizes, or of Qwen2 MoE where all tokens share an expert; "
       "compare the number of parameters",
       {"flex_olmo", "phimoe", "granitemoe", "granitemoeshared", "dbrx", "deepseek", "glm4_moe", "ernie4_5_moe",
        "hunyuan_v1_moe", "dots1", "grok*", "bailing_moe*", "llama4*", "minimax_m2"}},
      {"it has state spaces or other recurrences, in place of attention or beside it",
       measured,
       {"mamba*", "falcon_mamba", "falcon_h1", "jamba", "bamba", "zamba*", "nemotron_h", "recurrent_gemma",
        "granitemoehybrid", "rwkv*", "xlstm", "lfm2*", "plamo2", "olmo_hybrid"}},
      {"it has an encoder of images or sound beside the text",
       text,
       {"llava*",      "mllama",    "qwen2_vl*",       "qwen2_5_vl*", "qwen2_5_omni*", "qwen3_vl*",
        "qwen2_audio", "paligemma", "idefics*",        "internvl*",   "pixtral",       "gemma3n*",
        "smolvlm",     "phi3_v",    "phi4_multimodal", "phi4mm",      "aya_vision",    "cohere2_vision",
        "blip*",       "fuyu",      "molmo",           "janus",       "chameleon",     "kimi_vl"}},
      {"it has an encoder and a decoder",
       measured,
       {"t5*", "mt5", "umt5", "longt5", "bart", "mbart", "pegasus*", "whisper", "marian", "prophetnet", "m2m_100",
        "led", "blenderbot*", "encoder-decoder", "seamless*"}},
      {"it is an encoder, which sees both ways",
       "the nearest is a config of gpt2 with the same sizes and \"causal\": false",
       {"bert", "roberta", "xlm-roberta*", "deberta*", "electra", "albert", "distilbert", "modernbert", "camembert",
        "mpnet", "esm"}},
      {"its positions are ALiBi's",
       "the nearest is a config of gpt2 with the same sizes, whose table of positions has max_position_embeddings x "
       "hidden_size parameters more",
       {"bloom", "mpt"}},
      {"attention and MLP run side by side, and its head has a bias",
       "the nearest is a config of GPT-NeoX with the same sizes, rotary_pct and intermediate_size",
       {"phi", "gptj", "codegen"}},
      {"nobody has written its row",
       "the nearest is a config of Llama with the same sizes, head_dim, attention_bias and tie_word_embeddings; "
       "compare the number of parameters",
       {"glm",       "glm4",      "chatglm", "stablelm",   "exaone*",  "minicpm",          "olmo",     "gpt_bigcode",
        "persimmon", "internlm3", "qwen",    "helium",     "ernie4_5", "hunyuan_v1_dense", "seed_oss", "apertus",
        "arcee",     "diffllama", "xglm",    "ministral*", "deci",     "nemotron-nas",     "baichuan"}}};
  for (const Lacking& each : known)
    for (std::string_view family : each.families) {
      const bool begins = family.back() == '*';
      if (begins) family.remove_suffix(1);
      if (begins ? model_type.compare(0, family.size(), family) == 0 : model_type == family)
        return fmt::format("{}; {}", each.why, each.instead);
    }
  return "";
}

namespace {

/// Whose accelerators have names that begin so, in small letters and digits alone; "#": a digit follows, ".": nothing.
struct Maker {
  const char* what;
  std::vector<std::string_view> names;
};
const std::vector<Maker>& other_makers() {
  static const std::vector<Maker> kAll = {
      {"AMD's GPUs", {"amd", "mi#", "instinct", "radeon", "rx#", "gfx9", "firepro"}},
      {"Google's TPUs", {"tpu", "google", "v4.", "v5e", "v5p", "v5lite", "v6e", "trillium", "ironwood"}},
      {"Intel's accelerators", {"gaudi", "hpu", "habana", "intel", "pontevecchio", "pvc", "max1", "arca#", "arcb#"}},
      {"AWS's accelerators", {"trn#", "trainium", "inf1.", "inf2.", "inferentia"}},
      {"Huawei's accelerators", {"ascend", "huawei", "910"}},
      {"Apple's GPUs", {"apple", "m1.", "m2.", "m3.", "m4.", "mps."}},
      {"CPUs", {"cpu", "xeon", "epyc"}}};
  return kAll;
}

std::string other_maker(const std::string& device) {
  const std::string word = bare(device);
  const auto begins = [&](std::string_view with) {
    const bool digit = with.back() == '#', whole = with.back() == '.';
    if (digit || whole) with.remove_suffix(1);
    if (word.compare(0, with.size(), with) != 0) return false;
    const char next = word.c_str()[with.size()];
    return digit ? next >= '0' && next <= '9' : !whole || next == '\0';
  };
  for (const Maker& maker : other_makers())
    if (std::ranges::any_of(maker.names, begins)) return maker.what;
  return {};
}

}  // namespace

std::string device_advice(const std::string& written, const std::vector<std::string>& known) {
  const std::string chip = chip_of(written);
  const std::vector<std::string> same =
      matching(known, [&](const std::string& name) { return !chip.empty() && chip_of(name) == chip; });
  constexpr int kSlip = 2;
  const std::string near = nearest(written, same);
  if (!near.empty() && edit_distance(written, near) <= kSlip) return " did you mean " + in_quotes(near) + "?";
  if (!same.empty()) return fmt::format(" of that chip there are \"{}\";", fmt::join(same, "\", \""));
  if (const std::string maker = other_maker(written); !maker.empty())
    return fmt::format(
        " {} are not modelled: only NVIDIA's GPUs are, such as \"A100-SXM4-80GB\", \"H100-SXM\" and "
        "\"B200\";",
        maker);
  return R"( describe one by the nearest that is there, such as {"inherits": "A100-PCIE-80GB", "name": "A40", "peak": )"
         R"({"bf16": "149.7 TFLOP/s"}, "sm_count": 84, "power": "300 W", "memory": "48 GB", "memory_bandwidth": "696 GB/s"} )"
         "(scenarios/how-to/your-gpu.md);";
}

}  // namespace accosim
