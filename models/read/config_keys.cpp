#include "models/read/config_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace accosim {
namespace {

/// With a blank before and behind each.
constexpr std::string_view kWithoutEffect =
    " "
    "architectures attention_layers auto_map bos_token description do_layer_norm_before do_sample dtype "
    "eos_token finetuning_task id2label init_std initializer_factor initializer_range is_decoder label2id "
    "layer_norm_elementwise_affine length_penalty license max_length max_new_tokens max_window_layers "
    "min_length model_max_length n_ctx n_special num_beam_groups num_beams num_labels num_return_sequences "
    "pad_token partial_rotary_factor prefix pretraining_tp problem_type repetition_penalty return_dict "
    "return_dict_in_generate rotary_emb_base scale_attn_by_inverse_layer_idx scale_attn_weights sep_token "
    "tags task_specific_params temperature tokenizer_class top_k top_p torch_dtype torchscript "
    "transformers_version typical_p unk_token use_bfloat16 use_cache ";
constexpr std::string_view kBegins[] = {"_",         "output_",         "rope_",   "summary_",
                                        "suppress_", "begin_suppress_", "forced_", "unsloth"};
constexpr std::string_view kEnds[] = {"_token_id", "_token_ids", "_epsilon", "_eps", "_version", "_name_or_path"};

using Role = const char* ModelFamily::*;

/// What programs have that are no family here.
constexpr std::pair<const char*, Role> kOthers[] = {{"n_layers", &ModelFamily::layers},
                                                    {"d_model", &ModelFamily::hidden_size},
                                                    {"dim", &ModelFamily::hidden_size},
                                                    {"embed_dim", &ModelFamily::hidden_size},
                                                    {"n_heads", &ModelFamily::heads},
                                                    {"n_kv_heads", &ModelFamily::key_value_heads},
                                                    {"num_query_groups", &ModelFamily::key_value_heads},
                                                    {"ffn_hidden_size", &ModelFamily::inner_size},
                                                    {"d_ff", &ModelFamily::inner_size},
                                                    {"kv_channels", &ModelFamily::head_dim},
                                                    {"padded_vocab_size", &ModelFamily::vocabulary},
                                                    {"max_sequence_length", &ModelFamily::positions},
                                                    {"seq_length", &ModelFamily::positions}};

}  // namespace

bool is_without_effect(const std::string& key) {
  const auto any = [](const auto& list, const auto& matches) {
    return std::any_of(std::begin(list), std::end(list), matches);
  };
  return kWithoutEffect.find(" " + key + " ") != std::string_view::npos ||
         any(kBegins, [&](std::string_view each) { return key.rfind(each, 0) == 0; }) ||
         any(kEnds, [&](std::string_view each) {
           return key.size() >= each.size() && key.compare(key.size() - each.size(), each.size(), each) == 0;
         });
}

std::map<std::string, std::string> config_words(const ModelFamily& family) {
  std::map<std::string, std::string> words;
  const auto add = [&](const char* theirs, Role role) {
    if (theirs != nullptr && family.*role != nullptr && std::string_view(theirs) != family.*role)
      words.emplace(theirs, fmt::format("here it is \"{}\"", family.*role));
  };
  for (const Role role : {&ModelFamily::layers, &ModelFamily::hidden_size, &ModelFamily::heads,
                          &ModelFamily::key_value_heads, &ModelFamily::head_dim, &ModelFamily::inner_size,
                          &ModelFamily::vocabulary, &ModelFamily::positions, &ModelFamily::activation})
    for (const std::string& name : family_names()) add(family_of(name).*role, role);
  for (const auto& [theirs, role] : kOthers) add(theirs, role);
  for (const char* const key : {"attention_dropout", "hidden_dropout", "dropout", "attn_pdrop", "resid_pdrop",
                                "embd_pdrop", "resid_dropout", "embed_dropout", "activation_dropout"})
    words.emplace(key, "dropout is the training's: --set /training/dropout=0.1");
  words.emplace("gradient_checkpointing", "recomputation is the training's: --set /training/activation_recompute=full");
  for (const char* const key : {"attn_implementation", "use_flash_attn", "flash_attn", "use_flash_attention"})
    words.emplace(key, "attention is the training's: --set /training/attention=flash");
  return words;
}

}  // namespace accosim
