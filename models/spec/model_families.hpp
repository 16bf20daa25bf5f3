// The families of models, a row each: which key of a Hugging Face config.json says what, and what follows from the
// family alone. Nothing else asks for a family by its name; the lint sees to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/spec/model.hpp"

namespace accosim {

/// Whether some products have a bias.
struct BiasRule {
  const char* key = nullptr;  ///< of the config; nullptr: always as `usual` says
  bool usual = true;
};

/// What a layer's queries see beside the causal mask.
enum class WindowRule : std::uint8_t {
  kFull,     ///< all earlier tokens
  kByLayer,  ///< `window_size` and a list of `attention_types`
  kSliding,  ///< a `sliding_window`, in every layer the same
};

/// Softmax of attention's scores as the family's eager code takes it.
enum class EagerSoftmax : std::uint8_t {
  kAsStored,  ///< in the scores' dtype
  kInFp32,    ///< in fp32, and back
  kClamped,   ///< in the scores' dtype, after clamping the scores to its lowest number
};

struct ModelFamily {
  const char* name = "";  ///< the config's "model_type"
  bool measured = false;  ///< no layers at all: parameters, and a time that somebody measured
  bool accocal = false;   ///< accocal's own GPT (calibration/train/gpt.hpp) is one of these

  // Keys of the config. nullptr: the config has no such key, and the value is what the comment says.
  const char* layers = "num_hidden_layers";
  const char* hidden_size = "hidden_size";
  const char* heads = "num_attention_heads";
  const char* key_value_heads = nullptr;  ///< as many as heads
  const char* head_dim = nullptr;         ///< the hidden size divided among the heads
  const char* embedding_width = nullptr;  ///< the hidden size
  const char* inner_size = "intermediate_size";
  const char* vocabulary = "vocab_size";
  const char* positions = "max_position_embeddings";
  const char* activation = "activation_function";
  const char* causal = nullptr;  ///< always causal
  BiasRule qkv_bias{}, attention_output_bias{}, mlp_bias{};

  // What the config may leave out.
  int inner_size_of_hidden = 0;  ///< default inner size, as a multiple of the hidden size; 0: the key is required
  const char* usual_activation = "gelu_new";
  bool usually_tied = true;  ///< the head is the embedding's table

  // What the config does not say.
  bool learned_positions = true;  ///< a table of position embeddings; else rotary
  int more_positions = 0;         ///< rows of that table beyond those that the config names, of padding
  bool gated_mlp = false;
  bool rms_norm = false;
  WindowRule windows = WindowRule::kFull;

  // Of its eager code.
  bool one_qkv_matrix = false;  ///< queries, keys and values are one product; or three
  bool fp32_scores = false;     ///< casts queries and keys to fp32 for the scores
  EagerSoftmax softmax = EagerSoftmax::kInFp32;
  bool mask_buffers = false;  ///< every layer registers a boolean mask of positions x positions as a buffer
};

/// In the order in which messages name them.
std::vector<std::string> family_names();

/// The row of that name; throws std::logic_error when there is none, which the loader refuses.
const ModelFamily& family_of(const std::string& name);
const ModelFamily& family_of(const Model& model);
/// Tokens that its table of positions holds, without the rows that are padding's.
int positions_of(const Model& model);

/// The first row of a decoder with a gate in its MLP, or without, that attends to all earlier tokens.
const ModelFamily& plain_family(bool gated);
/// The row with `measured`, and that with `accocal`.
const ModelFamily& measured_family();
const ModelFamily& accocal_family();

}  // namespace accosim
