#include "models/price/accocal_layers.hpp"

#include <algorithm>

#include "models/price/operators.hpp"

namespace accosim {
namespace {

constexpr Bytes kWord{4};
constexpr Bytes kProductsWorkspace{32.0 * 1024 * 1024};  ///< of the library of products, one for the model

/// The operator that the launch belongs to, a new one where it is the first.
Operator& operator_of(const StepLaunch& launch, Layer& layer) {
  std::vector<Operator>& all = layer.operators;
  auto found = std::ranges::find_if(all, [&](const Operator& op) { return op.name == launch.part; });
  if (found == all.end()) {
    found = all.insert(found, Operator{});
    found->name = launch.part;
  }
  if (launch.product) found->cls = OperatorClass::kGemm;
  return *found;
}

Layer layer_of(LayerKind kind, const StepPart& part, Dtype storage) {
  Layer layer;
  layer.kind = kind;
  for (const StepLaunch& each : part.forward) operator_of(each, layer).forward.push_back(kernel_of(each, storage));
  for (const StepLaunch& each : part.backward) operator_of(each, layer).backward.push_back(kernel_of(each, storage));
  for (Operator& op : layer.operators) add_up(op);
  return layer;
}

Operator& find(Layer& layer, const char* name) {
  return *std::ranges::find_if(layer.operators, [&](const Operator& op) { return op.name == name; });
}

/// What the backward pass needs beside what the forward kept; the buffers are there all the time, so they are kept by
/// the layer that is there all the time.
Bytes scratch(const AccocalSizes& z, Bytes e) {
  const double td = z.tokens() * z.width, square = z.sequences * z.heads * z.context * z.context;
  // dx, the gradient behind a norm and that of the heads; q, k and v before they are split, or the MLP's inner
  // gradient; the gradient of q, k and v, and that of attention's weights.
  return (3 * td + 4 * td + 3 * td + square) * e + kProductsWorkspace;
}

}  // namespace

Kernel kernel_of(const StepLaunch& launch, Dtype storage) {
  if (launch.product) {
    const Bytes element = bytes_of(storage);
    const StepProduct& p = *launch.product;
    return gemm_kernel({p.batch, p.m, p.n, p.k, element, element, p.added_to != AddedTo::kNothing,
                        layout_of(p.transpose_a, p.transpose_b)});
  }
  return accocal_kernel(launch.kernel, storage, launch.rows, launch.columns);
}

Layers accocal_layers(const Model& model, const AccocalSizes& z, Dtype storage) {
  const Bytes e = bytes_of(storage);
  const double d = z.width, t = z.tokens(), td = t * d, square = z.sequences * z.heads * z.context * z.context;
  const Bytes per_token = 2 * t * kWord;  // a norm's mean and scale

  Layer embedding = layer_of(LayerKind::kEmbedding, accocal_embedding(z), storage);
  Operator& rows = find(embedding, "embedding");
  rows.parameters = z.vocabulary * d + static_cast<double>(model.max_position_embeddings) * d;
  rows.tensors = {rows.parameters};
  // The text, columns by their token, where each token begins (one more), the tokens.
  rows.activations = scratch(z, e) + (4 * t + z.sequences + 1) * kWord;

  Layer block = layer_of(LayerKind::kBlock, accocal_block(z), storage);
  const auto set = [&](const char* name, double parameters, Bytes activations) {
    Operator& op = find(block, name);
    op.parameters = parameters;
    op.tensors = {parameters};
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

  Layer head = layer_of(LayerKind::kHead, accocal_head(z), storage);
  find(head, "final norm").parameters = 2 * d;
  find(head, "final norm").tensors = {2 * d};
  find(head, "final norm").activations = td * e + per_token;
  find(head, "lm head").activations = td * e;
  find(head, "cross entropy").activations = padded_vocabulary(z.vocabulary) * t * e + t * kWord;

  Layers layers{embedding};
  layers.insert(layers.end(), static_cast<std::size_t>(z.layers), block);
  layers.push_back(head);
  return layers;
}

}  // namespace accosim
