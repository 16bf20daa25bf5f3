// See accocal_step.hpp. d, t, h, L, B: width, tokens, head size, context, sequences and heads together.
#include "models/accocal_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/operators.hpp"

namespace accosim {
namespace {

constexpr double kLogitsMultiple = 64;
constexpr Bytes kWord{4};
constexpr Bytes kProductsWorkspace{32.0 * 1024 * 1024};  ///< of the library of products, one for the model

/// Collects the kernels of one part of the step.
class Part {
 public:
  explicit Part(const AccocalSizes& sizes) : sizes_(sizes), element_(bytes_of(sizes.storage)) {}

  void begin(const char* part) { part_ = part; }
  void backward() { backward_ = true; }

  void memory(StepKernel kernel, double rows, double columns) {
    AccocalKernel one;
    one.part = part_;
    one.name = name_of(kernel);
    one.backward = backward_;
    one.rows = rows;
    one.columns = columns;
    const double elements = rows * columns;
    one.kernel = memory_kernel(bytes_of(kernel, elements, element_), launches_of(kernel));
    one.kernel.step = kernel;
    one.kernel.elements = elements;
    one.kernel.rows = columns > 1 ? rows : 0;
    one.kernel.dtype = sizes_.storage;
    kernels_.push_back(one);
  }

  void product(const char* name, GemmLayout layout, double m, double n, double k, double batch = 1,
               bool accumulate = false, bool bias = false) {
    AccocalKernel one;
    one.part = part_;
    one.name = name;
    one.backward = backward_;
    one.bias = bias;
    one.kernel = gemm_kernel({batch, m, n, k, element_, element_, accumulate, layout});
    kernels_.push_back(one);
  }

  std::vector<AccocalKernel> take() { return std::move(kernels_); }

 private:
  const AccocalSizes& sizes_;
  Bytes element_;
  const char* part_ = "";
  bool backward_ = false;
  std::vector<AccocalKernel> kernels_;
};

Operator operator_of(const char* part, const std::vector<AccocalKernel>& kernels) {
  Operator op;
  op.name = part;
  op.cls = OperatorClass::kMemory;
  for (const AccocalKernel& each : kernels) {
    if (std::string(each.part) != part) continue;
    (each.backward ? op.backward : op.forward).push_back(each.kernel);
    if (each.kernel.kind == KernelKind::kGemm) op.cls = OperatorClass::kGemm;
  }
  add_up(op);
  return op;
}

/// One operator a part, in the order of their first kernels.
Layer layer_of(const char* name, const std::vector<AccocalKernel>& kernels) {
  Layer layer;
  layer.name = name;
  for (const AccocalKernel& each : kernels) {
    const auto same = std::find_if(layer.operators.begin(), layer.operators.end(),
                                   [&](const Operator& op) { return op.name == each.part; });
    if (same == layer.operators.end()) layer.operators.push_back(operator_of(each.part, kernels));
  }
  return layer;
}

Operator& find(Layer& layer, const char* name) {
  return *std::find_if(layer.operators.begin(), layer.operators.end(),
                       [&](const Operator& op) { return op.name == name; });
}

/// What the backward pass needs beside what the forward kept; the buffers are there all the time, so they are kept by
/// the layer that is there all the time.
Bytes scratch(const AccocalSizes& z) {
  const Bytes e = bytes_of(z.storage);
  const double td = z.tokens() * z.width, square = z.sequences * z.heads * z.context * z.context;
  // dx, the gradient behind a norm and that of the heads; q, k and v before they are split, or the MLP's inner
  // gradient; the gradient of q, k and v, and that of attention's weights.
  return (3 * td + 4 * td + 3 * td + square) * e + kProductsWorkspace;
}

}  // namespace

double padded_vocabulary(double vocabulary) { return kLogitsMultiple * std::ceil(vocabulary / kLogitsMultiple); }

std::vector<AccocalKernel> accocal_embedding(const AccocalSizes& z) {
  Part part(z);
  part.begin("embedding");
  part.memory(StepKernel::kEmbedForward, z.width, z.tokens());
  part.backward();
  part.memory(StepKernel::kEmbedBackward, z.width, z.tokens());
  return part.take();
}

std::vector<AccocalKernel> accocal_block(const AccocalSizes& z) {
  using Layout = GemmLayout;
  const double d = z.width, t = z.tokens(), l = z.context, heads = z.sequences * z.heads, h = d / z.heads;
  const double td = t * d;
  Part part(z);
  part.begin("attention norm");
  part.memory(StepKernel::kNormForward, d, t);
  part.begin("qkv projection");
  part.product("forward", Layout::kNN, 3 * d, t, d, 1, false, true);
  part.begin("heads");
  part.memory(StepKernel::kSplitHeads, 3 * d, t);
  part.begin("attention scores");
  part.product("scores", Layout::kTN, l, l, h, heads);
  part.begin("softmax");
  part.memory(StepKernel::kSoftmaxForward, l, heads * l);
  part.begin("attention context");
  part.product("mixed", Layout::kNN, h, l, l, heads);
  part.begin("heads");
  part.memory(StepKernel::kMergeHeads, d, t);
  part.begin("output projection");
  part.product("forward", Layout::kNN, d, t, d, 1, true, true);
  part.begin("mlp norm");
  part.memory(StepKernel::kNormForward, d, t);
  part.begin("mlp up");
  part.product("forward", Layout::kNN, 4 * d, t, d, 1, false, true);
  part.begin("activation");
  part.memory(StepKernel::kGeluForward, 4 * td, 1);
  part.begin("mlp down");
  part.product("forward", Layout::kNN, d, t, 4 * d, 1, true, true);

  part.backward();
  part.begin("mlp down");
  part.memory(StepKernel::kBiasBackward, d, t);
  part.product("wgrad", Layout::kNT, d, 4 * d, t, 1, true);
  part.product("dgrad", Layout::kTN, 4 * d, t, d);
  part.begin("activation");
  part.memory(StepKernel::kGeluBackward, 4 * td, 1);
  part.begin("mlp up");
  part.memory(StepKernel::kBiasBackward, 4 * d, t);
  part.product("wgrad", Layout::kNT, 4 * d, d, t, 1, true);
  part.product("dgrad", Layout::kTN, d, t, 4 * d);
  part.begin("mlp norm");
  part.memory(StepKernel::kNormBackward, d, t);
  part.begin("output projection");
  part.memory(StepKernel::kBiasBackward, d, t);
  part.product("wgrad", Layout::kNT, d, d, t, 1, true);
  part.product("dgrad", Layout::kTN, d, t, d);
  part.begin("heads");
  part.memory(StepKernel::kSplitHeads, d, t);
  part.begin("attention context");
  part.product("d_values", Layout::kNT, h, l, l, heads);
  part.product("d_weights", Layout::kTN, l, l, h, heads);
  part.begin("softmax");
  part.memory(StepKernel::kSoftmaxBackward, l, heads * l);
  part.begin("attention scores");
  part.product("d_queries", Layout::kNN, h, l, l, heads);
  part.product("d_keys", Layout::kNT, h, l, l, heads);
  part.begin("heads");
  part.memory(StepKernel::kMergeHeads, 3 * d, t);
  part.begin("qkv projection");
  part.memory(StepKernel::kBiasBackward, 3 * d, t);
  part.product("wgrad", Layout::kNT, 3 * d, d, t, 1, true);
  part.product("dgrad", Layout::kTN, d, t, 3 * d);
  part.begin("attention norm");
  part.memory(StepKernel::kNormBackward, d, t);
  return part.take();
}

std::vector<AccocalKernel> accocal_head(const AccocalSizes& z) {
  using Layout = GemmLayout;
  const double d = z.width, t = z.tokens(), v = z.vocabulary;
  Part part(z);
  part.begin("final norm");
  part.memory(StepKernel::kNormForward, d, t);
  part.begin("lm head");
  part.product("forward", Layout::kTN, v, t, d);
  part.begin("cross entropy");
  part.memory(StepKernel::kCrossEntropy, v, t);
  part.backward();
  part.begin("lm head");
  part.product("wgrad", Layout::kNT, d, v, t, 1, true);
  part.product("dgrad", Layout::kNN, d, t, v);
  part.begin("final norm");
  part.memory(StepKernel::kMemset, t * d, 1);  // the gradient of the residual stream, to which the norms add
  part.memory(StepKernel::kNormBackward, d, t);
  return part.take();
}

std::vector<AccocalKernel> accocal_micro_batch(const AccocalSizes& sizes) {
  std::vector<AccocalKernel> all;
  const auto add = [&](const std::vector<AccocalKernel>& part, bool backward) {
    for (const AccocalKernel& each : part)
      if (each.backward == backward) all.push_back(each);
  };
  const std::vector<AccocalKernel> embedding = accocal_embedding(sizes), block = accocal_block(sizes),
                                   head = accocal_head(sizes);
  add(embedding, false);
  for (int i = 0; i < sizes.layers; ++i) add(block, false);
  add(head, false);
  add(head, true);
  for (int i = 0; i < sizes.layers; ++i) add(block, true);
  add(embedding, true);
  return all;
}

std::string launch_line(const AccocalKernel& each) {
  const Kernel& kernel = each.kernel;
  if (kernel.kind == KernelKind::kGemm)
    return fmt::format("product {:.0f} x {:.0f} x {:.0f} ({:.0f})", kernel.gemm.m, kernel.gemm.n, kernel.gemm.k,
                       kernel.gemm.batch);
  if (kernel.step == StepKernel::kMemset) return fmt::format("set_zero {:.0f}", kernel.bytes.value);
  return fmt::format("{} {:.0f} x {:.0f}", each.name, each.rows, each.columns);
}

std::vector<Layer> accocal_layers(const Model& model, const AccocalSizes& z) {
  const Bytes e = bytes_of(z.storage);
  const double d = z.width, t = z.tokens(), td = t * d, square = z.sequences * z.heads * z.context * z.context;
  const Bytes per_token = 2 * t * kWord;  // a norm's mean and scale

  Layer embedding = layer_of("embedding", accocal_embedding(z));
  Operator& rows = find(embedding, "embedding");
  rows.parameters = z.vocabulary * d + static_cast<double>(model.max_position_embeddings) * d;
  // The text, columns by their token, where each token begins (one more), the tokens.
  rows.activations = scratch(z) + (4 * t + z.sequences + 1) * kWord;

  Layer block = layer_of("block", accocal_block(z));
  const auto set = [&](const char* name, double parameters, Bytes activations) {
    Operator& op = find(block, name);
    op.parameters = parameters;
    op.activations = activations;
  };
  set("attention norm", 2 * d, td * e + per_token);
  set("qkv projection", 3 * d * d + 3 * d, td * e);
  set("heads", 0, 3 * td * e);
  set("softmax", 0, square * e);
  set("output projection", d * d + d, td * e);
  set("mlp norm", 2 * d, td * e + per_token);
  set("mlp up", 4 * d * d + 4 * d, td * e);
  set("activation", 0, 4 * td * e);
  set("mlp down", 4 * d * d + d, 4 * td * e);

  Layer head = layer_of("head", accocal_head(z));
  find(head, "final norm").parameters = 2 * d;
  find(head, "final norm").activations = td * e + per_token;
  find(head, "lm head").activations = td * e;
  find(head, "cross entropy").activations = padded_vocabulary(z.vocabulary) * t * e + t * kWord;

  std::vector<Layer> layers{embedding};
  for (int i = 0; i < z.layers; ++i) {
    layers.push_back(block);
    layers.back().name = "block " + std::to_string(i);
  }
  layers.push_back(head);
  return layers;
}

std::string not_for_accocal(const Model& model) {
  const bool local =
      std::any_of(model.attention_window.begin(), model.attention_window.end(), [](int window) { return window > 0; });
  if (!model.learned_positions) return "has rotary positions; accocal's model has learned ones";
  if (!model.tie_word_embeddings) return "has a head of its own; accocal's is the embedding";
  if (!model.causal || local) return "has an attention that is not full and causal";
  if (model.gated_mlp || model.rms_norm || model.intermediate_size != 4 * model.hidden_size)
    return "has an MLP or norms that accocal's model has not: two matrices of four times the width, two vectors a norm";
  if (!model.qkv_bias || !model.attention_output_bias || !model.mlp_bias)
    return "lacks biases; accocal's model has one at every product";
  if (model.activation != Activation::kGeluNew) return "has another activation than gelu_new";
  if (model.num_key_value_heads != model.num_attention_heads ||
      model.num_attention_heads * model.head_dim != model.hidden_size)
    return "has heads that do not make up its width";
  return "";
}

}  // namespace accosim
