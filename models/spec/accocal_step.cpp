// In column-major order Y = W X needs no transpose, dX = W' dY one of A, dW = dY X' one of B.
#include "models/spec/accocal_step.hpp"

#include <algorithm>
#include <cmath>

namespace accosim {
namespace {

using Launches = std::vector<StepLaunch>;

constexpr double kLogitsMultiple = 64;

StepLaunch kernel(const char* part, StepKernel which, double rows, double columns) {
  const bool flat = is_flat(which);
  return {part, {}, which, flat ? rows * columns : rows, flat ? 1 : columns};
}

StepLaunch product(const char* part, const StepProduct& what) { return {part, what}; }

/// Y (out x tokens) = W X + b: the input was just written, the weights were not.
StepLaunch forward(const char* part, const AccocalSizes& z, double out, double in,
                   AddedTo added_to = AddedTo::kNothing) {
  return product(part, {.name = "forward",
                        .m = out,
                        .n = z.tokens(),
                        .k = in,
                        .added_to = added_to,
                        .bias = z.gated == 0,
                        .fresh_b = true});
}

/// dW (out x in) += dY X'; X is of the forward pass.
StepLaunch weight_gradient(const char* part, const AccocalSizes& z, double out, double in) {
  return product(part, {.name = "wgrad",
                        .m = out,
                        .n = in,
                        .k = z.tokens(),
                        .transpose_b = true,
                        .added_to = AddedTo::kItself,
                        .fresh_a = true});
}

/// dX (in x tokens) = W' dY.
StepLaunch input_gradient(const char* part, const AccocalSizes& z, double out, double in) {
  return product(part, {.name = "dgrad", .m = in, .n = z.tokens(), .k = out, .transpose_a = true, .fresh_b = true});
}

void add_backward(Launches& to, const char* part, const AccocalSizes& z, double out, double in) {
  if (z.gated == 0) to.push_back(kernel(part, StepKernel::kBiasBackward, out, z.tokens()));
  to.push_back(weight_gradient(part, z, out, in));
  to.push_back(input_gradient(part, z, out, in));
}

/// Of every head of every sequence: context x context, summed over the head's features.
StepProduct keys_by_queries(const char* name, const AccocalSizes& z) {
  return {.name = name,
          .m = z.context,
          .n = z.context,
          .k = z.head_size(),
          .batch = z.matrices(),
          .transpose_a = true,
          .fresh_b = true};
}

/// And features x context, summed over the context.
StepProduct features_by_tokens(const char* name, const AccocalSizes& z, bool transpose_b) {
  return {.name = name,
          .m = z.head_size(),
          .n = z.context,
          .k = z.context,
          .batch = z.matrices(),
          .transpose_b = transpose_b};
}

void add_attention(Launches& to, const AccocalSizes& z) {
  StepProduct scores = keys_by_queries("scores", z);
  scores.alpha = 1 / std::sqrt(z.head_size());
  scores.fresh_a = true;
  StepProduct mixed = features_by_tokens("mixed", z, false);
  mixed.fresh_a = mixed.fresh_b = true;
  to.push_back(kernel("heads", StepKernel::kSplitHeads, 3 * z.width, z.tokens()));
  to.push_back(product("attention scores", scores));
  to.push_back(kernel("softmax", StepKernel::kSoftmaxForward, z.context, z.matrices() * z.context));
  to.push_back(product("attention context", mixed));
  to.push_back(kernel("heads", StepKernel::kMergeHeads, z.width, z.tokens()));
}

void add_attention_backward(Launches& to, const AccocalSizes& z) {
  StepProduct values = features_by_tokens("d_values", z, true);
  values.fresh_a = true;
  StepProduct queries = features_by_tokens("d_queries", z, false);
  StepProduct keys = features_by_tokens("d_keys", z, true);
  queries.fresh_b = keys.fresh_b = true;
  to.push_back(kernel("heads", StepKernel::kSplitHeads, z.width, z.tokens()));
  to.push_back(product("attention context", values));
  to.push_back(product("attention context", keys_by_queries("d_weights", z)));
  to.push_back(kernel("softmax", StepKernel::kSoftmaxBackward, z.context, z.matrices() * z.context));
  to.push_back(product("attention scores", queries));
  to.push_back(product("attention scores", keys));
  to.push_back(kernel("heads", StepKernel::kMergeHeads, 3 * z.width, z.tokens()));
}

Launches block_forward(const AccocalSizes& z) {
  const double d = z.width, t = z.tokens();
  Launches all = {kernel("attention norm", StepKernel::kNormForward, d, t), forward("qkv projection", z, 3 * d, d)};
  add_attention(all, z);
  all.insert(all.end(), {forward("output projection", z, d, d, AddedTo::kStream),
                         kernel("mlp norm", StepKernel::kNormForward, d, t), forward("mlp up", z, z.up(), d),
                         kernel("activation", StepKernel::kGeluForward, z.down(), t),
                         forward("mlp down", z, d, z.down(), AddedTo::kStream)});
  return all;
}

Launches block_backward(const AccocalSizes& z) {
  const double d = z.width, t = z.tokens();
  Launches all;
  add_backward(all, "mlp down", z, d, z.down());
  all.push_back(kernel("activation", StepKernel::kGeluBackward, z.down(), t));
  add_backward(all, "mlp up", z, z.up(), d);
  all.push_back(kernel("mlp norm", StepKernel::kNormBackward, d, t));
  add_backward(all, "output projection", z, d, d);
  add_attention_backward(all, z);
  add_backward(all, "qkv projection", z, 3 * d, d);
  all.push_back(kernel("attention norm", StepKernel::kNormBackward, d, t));
  return all;
}

struct HeadProducts {
  StepLaunch forward, weight_gradient, input_gradient;
};

HeadProducts own_head(const AccocalSizes& z) {
  return {forward("lm head", z, z.vocabulary, z.width), weight_gradient("lm head", z, z.vocabulary, z.width),
          input_gradient("lm head", z, z.vocabulary, z.width)};
}

/// The embedding (width x vocabulary) is the head too: logits = embedding' X, their columns apart.
HeadProducts tied_head(const AccocalSizes& z) {
  const double d = z.width, t = z.tokens(), v = z.vocabulary, apart = padded_vocabulary(v);
  const StepProduct logits{
      .name = "forward", .m = v, .n = t, .k = d, .transpose_a = true, .ldc = apart, .fresh_b = true};
  const StepProduct table{.name = "wgrad",
                          .m = d,
                          .n = v,
                          .k = t,
                          .transpose_b = true,
                          .ldb = apart,
                          .added_to = AddedTo::kItself,
                          .fresh_b = true};
  const StepProduct stream{.name = "dgrad", .m = d, .n = t, .k = v, .ldb = apart, .fresh_b = true};
  return {product("lm head", logits), product("lm head", table), product("lm head", stream)};
}

void append(Launches& to, const Launches& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

double padded_vocabulary(double vocabulary) { return kLogitsMultiple * std::ceil(vocabulary / kLogitsMultiple); }

StepPart accocal_embedding(const AccocalSizes& z) {
  return {{kernel("embedding", StepKernel::kEmbedForward, z.width, z.tokens())},
          {kernel("embedding", StepKernel::kEmbedBackward, z.width, z.tokens())}};
}

StepPart accocal_block(const AccocalSizes& z) { return {block_forward(z), block_backward(z)}; }

StepPart accocal_head(const AccocalSizes& z) {
  const double d = z.width, t = z.tokens();
  const HeadProducts head = z.gated > 0 ? own_head(z) : tied_head(z);
  return {{kernel("final norm", StepKernel::kNormForward, d, t), head.forward,
           kernel("cross entropy", StepKernel::kCrossEntropy, z.vocabulary, t)},
          // The gradient of the residual stream begins with zeros, to which the norms add.
          {head.weight_gradient, head.input_gradient, kernel("final norm", StepKernel::kMemset, d, t),
           kernel("final norm", StepKernel::kNormBackward, d, t)}};
}

std::vector<StepLaunch> accocal_micro_batch(const AccocalSizes& z) {
  const StepPart embedding = accocal_embedding(z), block = accocal_block(z), head = accocal_head(z);
  Launches all = embedding.forward;
  for (int i = 0; i < z.layers; ++i) append(all, block.forward);
  append(all, head.forward);
  append(all, head.backward);
  for (int i = 0; i < z.layers; ++i) append(all, block.backward);
  append(all, embedding.backward);
  return all;
}

std::string not_for_accocal(const Model& model) {
  const bool local = std::ranges::any_of(model.attention_window, [](int window) { return window > 0; });
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
