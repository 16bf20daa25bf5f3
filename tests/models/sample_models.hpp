// Models and workloads for tests of layers: like published ones, and random ones.
#pragma once

#include <stdexcept>
#include <string>

#include "models/price/layers.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"
#include "tests/support/random.hpp"

namespace accosim {

/// h = a d, f = 4 h.
inline Model gpt2_like(int layers, int hidden, int heads, int vocab, int positions) {
  Model m{.name = "test",
          .family = "gpt2",
          .num_hidden_layers = layers,
          .hidden_size = hidden,
          .num_attention_heads = heads,
          .num_key_value_heads = heads,
          .head_dim = hidden / heads,
          .intermediate_size = 4 * hidden,
          .vocab_size = vocab,
          .max_position_embeddings = positions,
          .learned_positions = true};
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  m.tie_word_embeddings = true;
  return m;
}

inline Model gpt2() { return gpt2_like(12, 768, 12, 50257, 1024); }

inline Model llama(int layers, int hidden, int heads, int kv_heads, int ffn, int vocab) {
  Model m{.name = "test",
          .family = "llama",
          .num_hidden_layers = layers,
          .hidden_size = hidden,
          .num_attention_heads = heads,
          .num_key_value_heads = kv_heads,
          .head_dim = hidden / heads,
          .intermediate_size = ffn,
          .vocab_size = vocab,
          .max_position_embeddings = 4096};
  m.gated_mlp = m.rms_norm = true;
  return m;
}

inline double parameters(const Layers& layers) {
  double sum = 0;
  for (const Layer& layer : layers)
    for (const Operator& op : layer.operators) sum += op.parameters;
  return sum;
}

inline double activations(const Layer& layer) {
  return sum_of<double>(layer.operators, [](const Operator& op) { return op.activations.value; });
}

inline double forward_flops(const Layer& layer) {
  return sum_of<double>(layer.operators, [](const Operator& op) { return op.forward_flops.value; });
}

inline double backward_flops(const Layer& layer) {
  return sum_of<double>(layer.operators, [](const Operator& op) { return op.backward_flops.value; });
}

inline const Operator& find(const Layer& layer, const std::string& name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return op;
  throw std::runtime_error("no operator " + name + " in the " + name_of(layer.kind));
}

inline bool has(const Layer& layer, const std::string& name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return true;
  return false;
}

inline Model random_model(Random& random) {
  const int heads = 1 << random.integer(0, 4);
  const int hidden = heads * 8 * random.integer(1, 16);
  Model m = (random.integer(0, 1) == 1)
                ? gpt2_like(random.integer(1, 6), hidden, heads, random.integer(10, 5000), 512)
                : llama(random.integer(1, 6), hidden, heads, heads, random.integer(1, 999), random.integer(10, 5000));
  if (m.family == "llama") {
    m.num_key_value_heads = (random.integer(0, 1) == 1) ? heads : 1;
    if ((random.integer(0, 1) == 1)) m.head_dim *= 2;  // heads x head_dim may differ from the hidden size
  } else if ((random.integer(0, 1) == 1)) {
    m.family = "gpt_neo";
    m.qkv_bias = false;
    for (int i = 0; i < m.num_hidden_layers; ++i) m.attention_window.push_back(i % 2 == 1 ? 16 : 0);
  }
  m.qkv_bias = (random.integer(0, 1) == 1);
  m.attention_output_bias = (random.integer(0, 1) == 1);
  m.mlp_bias = (random.integer(0, 1) == 1);
  m.tie_word_embeddings = (random.integer(0, 1) == 1);
  return m;
}

inline Workload random_workload(Random& random) {
  Workload w;
  w.micro_batch_size = random.integer(1, 8);
  w.sequence_length = 8 * random.integer(1, 64);
  w.compute = (random.integer(0, 1) == 1) ? Dtype::kBf16 : Dtype::kFp16;
  w.parameter_dtype = (random.integer(0, 1) == 1) ? Dtype::kFp32 : w.compute;
  w.gradient_dtype = w.parameter_dtype;
  w.autocast = w.parameter_dtype != w.compute || random.integer(0, 1) == 1;
  w.attention = (random.integer(0, 1) == 1) ? Attention::kFlash : Attention::kNaive;
  w.recompute = (random.integer(0, 1) == 1) ? Recompute::kFull : Recompute::kNone;
  return w;
}

}  // namespace accosim
