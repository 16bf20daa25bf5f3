// The families of models, a row each: which key of a Hugging Face config.json says what, and what follows from the
// family alone. Nothing else asks for a family by its name; the lint sees to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/spec/model.hpp"

namespace accosim {

/// A yes or no: as a key of the config says, or as is usual where it is missing; without a key always as is usual.
struct Switch {
  const char* key = nullptr;
  bool usual = false;
};

/// What a layer's queries see beside the causal mask.
enum class WindowRule : std::uint8_t {
  kFull,     ///< all earlier tokens
  kByLayer,  ///< `window_size` and a list of `attention_types`
  kSliding,  ///< a `sliding_window`, in the layers that `layer_types` names, else as SlidingRule says
};

/// Which layers a sliding window is in where the config has no `layer_types`.
struct SlidingRule {
  int usual = 0;          ///< the window where its key is missing; 0: none
  int full_every = 0;     ///< every so many layers one sees all tokens, or as `sliding_window_pattern` says; 0: none
  bool switched = false;  ///< only where `use_sliding_window` is true, from layer `max_window_layers` on
};

/// Softmax of attention's scores as the family's eager code takes it.
enum class EagerSoftmax : std::uint8_t {
  kAsStored,  ///< in the scores' dtype
  kInFp32,    ///< in fp32, and back
  kClamped,   ///< in the scores' dtype, after clamping the scores to its lowest number
};

/// What transformers' class of the config has where a key is missing; 0: nothing, or what follows from other keys. The
/// first five only count for a `text_config`, which is written without what is usual: elsewhere a missing size is a
/// slip.
struct UsualSizes {
  int layers = 0, hidden_size = 0, heads = 0, inner_size = 0, vocabulary = 0;
  int key_value_heads = 0, head_dim = 0, positions = 0;
};

/// Keys of experts in the place of MLPs. nullptr: the config has no such key.
struct ExpertKeys {
  const char* count = nullptr;              ///< nullptr: every block has an MLP
  const char* inner_size = nullptr;         ///< that of the MLPs
  const char* shared_count = nullptr;       ///< of experts' sizes, that every token passes
  const char* shared_inner_size = nullptr;  ///< the size of all these
  const char* first_dense = nullptr;        ///< so many first layers have an MLP
  const char* dense_layers = nullptr;       ///< a list of layers that have one
  const char* every = nullptr;              ///< of the others every so many-th has experts; 1 is modelled
  bool shared_gate = false, router_bias = false, correction_bias = false;
};

struct ModelFamily {
  const char* name = "";  ///< the config's "model_type"
  bool measured = false;  ///< no layers at all: parameters, and a time that somebody measured
  bool accocal = false;   ///< accocal's own GPT (calibration/train/gpt.hpp) is one of these
  /// The "model_type" of a config with such a model as its `text_config`, beside an encoder of images. nullptr: none.
  const char* beside_images = nullptr;

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
  const char* causal = nullptr;        ///< always causal
  const char* rotary_share = nullptr;  ///< as usual
  Switch qkv_bias{nullptr, true}, attention_output_bias{nullptr, true}, mlp_bias{nullptr, true};
  Switch single_key_value{};  ///< one key-value head, whatever their key says
  Switch parallel{};          ///< attention and MLP side by side, behind `parallel_norms`
  /// A switch that undoes single_key_value and gives attention and MLP a norm each. nullptr: there is none.
  const char* newer = nullptr;
  const char* unread = "";  ///< keys that its code does not read though others' does, with a blank before and behind

  // What the config may leave out.
  int inner_size_of_hidden = 0;  ///< default inner size, as a multiple of the hidden size; 0: the key is required
  const char* usual_activation = "gelu_new";
  bool usually_tied = true;  ///< the head is the embedding's table
  double usual_rotary_share = 1;
  UsualSizes usual{};

  // What the config does not say.
  bool learned_positions = true;  ///< a table of position embeddings; else rotary
  int more_positions = 0;         ///< rows of that table beyond those that the config names, of padding
  bool gated_mlp = false;
  bool rms_norm = false;  ///< a norm of one vector
  NormPlaces norms = NormPlaces::kBefore;
  int parallel_norms = 1;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  Switch with_query_key_norm{nullptr, true};
  bool soft_caps = false;  ///< `attn_logit_softcapping` and `final_logit_softcapping`, there unless null
  bool scaled_embeddings = false, scaled_branches = false, scaled_logits = false;
  WindowRule windows = WindowRule::kFull;
  SlidingRule sliding{};
  bool attention_sinks = false;  ///< an element a head beside its scores
  bool latent = false;           ///< multi-head latent attention
  bool released_narrow = false;  ///< released with quantised weights, which are trained in the training's precision
  ExpertKeys experts{};

  // Of its eager code.
  bool one_qkv_matrix = false;      ///< queries, keys and values are one product; or three
  bool one_gate_up_matrix = false;  ///< and so are gate and up; or two
  bool fp32_scores = false;         ///< casts queries and keys to fp32 for the scores
  EagerSoftmax softmax = EagerSoftmax::kInFp32;
  bool mask_buffers = false;  ///< every layer registers a boolean mask of positions x positions as a buffer
};

/// In the order in which messages name them.
std::vector<std::string> family_names();

/// The row of that name; throws std::logic_error when there is none, which the loader refuses.
const ModelFamily& family_of(const std::string& name);
const ModelFamily& family_of(const Model& model);
/// The row whose models such a config has beside an encoder of images; nullptr: none.
const ModelFamily* family_beside_images(const std::string& model_type);
/// Tokens that its table of positions holds, without the rows that are padding's.
int positions_of(const Model& model);

/// The first row of a decoder with a gate in its MLP, or without, that attends to all earlier tokens.
const ModelFamily& plain_family(bool gated);
/// The first row with experts and this; `listed`: which layers have none is a list, `shared`: every token passes one
/// too.
const ModelFamily& expert_family(bool latent, bool shared, bool listed);
/// The row with `measured`, and that with `accocal`.
const ModelFamily& measured_family();
const ModelFamily& accocal_family();

}  // namespace accosim
