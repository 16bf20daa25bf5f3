// The rows. What a family has as most others is not said again.
#include "models/spec/model_families.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/spec/model.hpp"

namespace accosim {
namespace {

constexpr ModelFamily kGpt2{.name = "gpt2",
                            .accocal = true,
                            .layers = "n_layer",
                            .hidden_size = "n_embd",
                            .heads = "n_head",
                            .inner_size = "n_inner",
                            .positions = "n_positions",
                            .causal = "causal",
                            .inner_size_of_hidden = 4,
                            .one_qkv_matrix = true,
                            .softmax = EagerSoftmax::kAsStored,
                            .mask_buffers = true};

constexpr ModelFamily kGptNeo{.name = "gpt_neo",
                              .layers = "num_layers",
                              .heads = "num_heads",
                              .qkv_bias = {nullptr, false},
                              .inner_size_of_hidden = 4,
                              .windows = WindowRule::kByLayer,
                              .fp32_scores = true,
                              .mask_buffers = true};

constexpr ModelFamily kOpt{.name = "opt",
                           .embedding_width = "word_embed_proj_dim",
                           .inner_size = "ffn_dim",
                           .qkv_bias = {"enable_bias", true},
                           .attention_output_bias = {"enable_bias", true},
                           .mlp_bias = {"enable_bias", true},
                           .usual_activation = "relu",
                           .more_positions = 2,
                           .softmax = EagerSoftmax::kClamped};

constexpr ModelFamily kLlama{.name = "llama",
                             .key_value_heads = "num_key_value_heads",
                             .head_dim = "head_dim",
                             .activation = "hidden_act",
                             .qkv_bias = {"attention_bias", false},
                             .attention_output_bias = {"attention_bias", false},
                             .mlp_bias = {"mlp_bias", false},
                             .usual_activation = "silu",
                             .usually_tied = false,
                             .learned_positions = false,
                             .gated_mlp = true,
                             .rms_norm = true};

constexpr ModelFamily sliding(const char* name, ModelFamily family) {
  family.name = name;
  family.windows = WindowRule::kSliding;
  return family;
}
constexpr ModelFamily kMistral = sliding("mistral", kLlama);

constexpr ModelFamily kMeasured{.name = "measured", .measured = true};

constexpr ModelFamily kFamilies[] = {kGpt2, kGptNeo, kOpt, kLlama, kMistral, kMeasured};

template <class Wanted>
const ModelFamily& row_with(const std::string& what, Wanted wanted) {
  const ModelFamily* const row = std::find_if(std::begin(kFamilies), std::end(kFamilies), wanted);
  if (row == std::end(kFamilies)) throw std::logic_error("no family of models " + what);
  return *row;
}

}  // namespace

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const ModelFamily& row : kFamilies) names.emplace_back(row.name);
  return names;
}

const ModelFamily& family_of(const std::string& name) {
  return row_with("is called \"" + name + "\"", [&](const ModelFamily& row) { return row.name == name; });
}

const ModelFamily& family_of(const Model& model) { return family_of(model.family); }

int positions_of(const Model& model) { return model.max_position_embeddings - family_of(model).more_positions; }

const ModelFamily& plain_family(bool gated) {
  return row_with("is plain", [&](const ModelFamily& row) {
    return !row.measured && row.gated_mlp == gated && row.windows == WindowRule::kFull;
  });
}

const ModelFamily& measured_family() {
  return row_with("is measured", [](const ModelFamily& row) { return row.measured; });
}

const ModelFamily& accocal_family() {
  return row_with("is accocal's", [](const ModelFamily& row) { return row.accocal; });
}

}  // namespace accosim
