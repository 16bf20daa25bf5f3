// Operator counts of a decoder-only transformer. Every size below is per micro-batch; the comments name the tensors
// that PyTorch moves or saves, because the sum of these is what a reader will want to check against the literature.
#include "models/layers.hpp"

#include <algorithm>

namespace accosim {
namespace {

/// Sizes that every operator needs, so that the formulas below read as in a paper.
struct Sizes {
  double tokens;      ///< of the micro-batch
  double batch, seq;  ///< sequences, tokens a sequence
  double hidden, heads, head_dim, query, key_value, ffn, vocab;
  Bytes act;     ///< an activation between matmuls
  Bytes stream;  ///< an element of the residual stream
  Bytes param;   ///< a stored parameter
  Bytes grad;    ///< a stored gradient
  bool cast;     ///< autocast: stored parameters are wider than the matmuls
};

Sizes sizes_of(const Model& model, const Workload& workload) {
  Sizes z{};
  z.batch = workload.micro_batch_size;
  z.seq = workload.sequence_length;
  z.tokens = z.batch * z.seq;
  z.hidden = model.hidden_size;
  z.heads = model.num_attention_heads;
  z.head_dim = model.head_dim;
  z.query = z.heads * z.head_dim;
  z.key_value = static_cast<double>(model.num_key_value_heads) * z.head_dim;
  z.ffn = model.intermediate_size;
  z.vocab = model.vocab_size;
  // fp8 training quantises the inputs of a product on the fly; what is stored between operators has 16 bits.
  z.act = std::max(bytes_of(workload.compute), Bytes{2});
  z.param = bytes_of(workload.parameter_dtype);
  z.stream = std::max(z.act, z.param);
  z.grad = bytes_of(workload.gradient_dtype);
  z.cast = z.param > z.act;
  return z;
}

double norm_parameters(const Model& model) { return (model.rms_norm ? 1.0 : 2.0) * model.hidden_size; }

/// `count` products that share one input (tokens x in) and have `out` columns together. A product is dX = dY W' and
/// dW = X' dY in the backward pass: the same three matrices moved twice. `bias` is the number of its elements.
Operator gemm(const char* name, const Sizes& z, double in, double out, int count, double bias) {
  Operator op;
  op.name = name;
  op.cls = OperatorClass::kGemm;
  op.forward_flops = Flops{2 * z.tokens * in * out};
  op.backward_flops = 2 * op.forward_flops;
  op.forward_bytes = (count * z.tokens * in + in * out + z.tokens * out) * z.act;
  op.backward_bytes = 2 * op.forward_bytes;
  op.parameters = in * out + bias;
  op.activations = z.tokens * in * z.act;
  op.forward_kernels = count;  // the bias is added in the product's epilogue
  op.backward_kernels = 2 * count;
  if (bias > 0) {  // its gradient is a sum over the tokens
    op.backward_bytes += z.tokens * out * z.act;
    op.backward_kernels += count;
  }
  if (count > 1) {  // the gradients of the shared input are added: two reads and a write each
    op.backward_bytes += 3.0 * (count - 1) * z.tokens * in * z.act;
    op.backward_kernels += count - 1;
  }
  return op;
}

Operator memory_op(const char* name, Bytes forward, Bytes backward, int forward_kernels, int backward_kernels) {
  Operator op;
  op.name = name;
  op.forward_bytes = forward;
  op.backward_bytes = backward;
  op.forward_kernels = forward_kernels;
  op.backward_kernels = backward_kernels;
  return op;
}

/// Reads x, writes y; backward reads x and dy, writes dx. Keeps x.
Operator norm(const char* name, const Model& model, const Sizes& z) {
  const Bytes x = z.tokens * z.hidden * z.stream;
  // torch's layer_norm is one kernel, and two backward; Hugging Face's RMSNorm is written out in Python.
  Operator op = model.rms_norm ? memory_op(name, 2 * x, 3 * x, 6, 12) : memory_op(name, 2 * x, 3 * x, 1, 2);
  op.parameters = norm_parameters(model);
  op.activations = x;
  return op;
}

/// Reads the stream and the branch, writes the stream; backward adds the gradients of the two paths.
Operator residual(const char* name, const Sizes& z) {
  const double n = z.tokens * z.hidden;
  return memory_op(name, n * (2 * z.stream + z.act), 3 * n * z.stream, 1, 1);
}

/// What torch.autocast does around the products of a layer: the matrices are read in their dtype and written in the
/// matmuls' (and that copy stays until the backward pass), their gradients come back the same way; so do the `inputs`
/// that arrive in the stream's dtype.
Operator autocast(const Sizes& z, double matrices, double inputs, int tensors) {
  const Bytes both = (matrices + inputs) * (z.param + z.act);
  Operator op = memory_op("autocast", both, both, tensors, tensors);
  op.activations = matrices * z.act;
  return op;
}

/// Every weight gradient leaves its kernel as a tensor of its own and is added to the stored one: read it, read and
/// write the stored one.
Operator accumulate(const Sizes& z, double parameters, int tensors) {
  return memory_op("gradient accumulation", Bytes{0}, parameters * (z.param + 2 * z.grad), 0, tensors);
}

void add_flash_attention(const Sizes& z, double pairs, std::vector<Operator>& ops) {
  const Bytes qkv = z.tokens * (z.query + 2 * z.key_value) * z.act;
  const Bytes out = z.tokens * z.query * z.act;
  const Bytes log_sum_exp = z.tokens * z.heads * Bytes{4};
  Operator op;
  op.name = "attention";
  op.cls = OperatorClass::kAttention;
  op.forward_flops = Flops{4 * z.batch * z.query * pairs};  // QK' and PV
  op.backward_flops = 2.5 * op.forward_flops;               // QK' again, dV, dP, dQ, dK: five products for two
  op.forward_bytes = qkv + out + log_sum_exp;
  op.backward_bytes = 2 * (qkv + out) + log_sum_exp;  // reads q, k, v, o, do; writes dq, dk, dv
  op.activations = qkv + log_sum_exp;                 // its output is counted where it is the next product's input
  op.forward_kernels = 1;
  op.backward_kernels = 3;  // rowsum(dO O), the fused kernel, the conversion of dQ
  ops.push_back(op);
}

/// Three operators that compute the whole square and mask half of it away.
void add_naive_attention(const Sizes& z, std::vector<Operator>& ops) {
  const double square = z.batch * z.heads * z.seq * z.seq;
  const Bytes scores = square * z.act;
  const Bytes q = z.tokens * z.query * z.act;
  const Bytes kv = z.tokens * z.key_value * z.act;
  Operator op;
  op.cls = OperatorClass::kGemm;
  op.forward_flops = Flops{2 * square * z.head_dim};
  op.backward_flops = 2 * op.forward_flops;
  op.forward_bytes = q + kv + scores;
  op.backward_bytes = 2 * op.forward_bytes;
  op.backward_kernels = 2;

  op.name = "attention scores";
  op.activations = q + kv;
  ops.push_back(op);

  // Scale, mask and softmax are a kernel each, and each reads and writes the square; the backward of softmax reads two.
  Operator softmax = memory_op("softmax", 6 * scores, 7 * scores, 3, 3);
  softmax.activations = scores;  // its output, which is also the next product's input
  ops.push_back(softmax);

  op.name = "attention context";
  op.activations = kv;
  op.forward_kernels = 2;  // the heads are then merged by a copy
  op.forward_bytes += 2 * q;
  op.backward_bytes += 2 * q;
  ops.push_back(op);
}

Layer embedding_layer(const Model& model, const Sizes& z) {
  Layer layer;
  layer.name = "embedding";
  const Bytes rows = z.tokens * z.hidden * z.stream;
  const Bytes ids = z.tokens * Bytes{8};
  const double table = z.vocab * z.hidden;
  // The gradient of the table is dense: zeroed, then the rows are added in.
  Operator token = memory_op("token embedding", ids + 2 * rows, ids + 3 * rows + table * z.param, 1, 2);
  token.parameters = table;
  token.activations = ids;
  layer.operators.push_back(token);
  double parameters = table;
  if (model.learned_positions) {
    const double positions = static_cast<double>(model.max_position_embeddings) * z.hidden;
    // Looks up, then adds to the tokens'.
    const Bytes looked_up = z.seq * z.hidden * z.stream;
    Operator position =
        memory_op("position embedding", 3 * looked_up + 2 * rows, rows + 3 * looked_up + positions * z.param, 2, 3);
    position.parameters = positions;
    layer.operators.push_back(position);
    parameters += positions;
  }
  layer.operators.push_back(accumulate(z, parameters, model.learned_positions ? 2 : 1));
  return layer;
}

Layer block_layer(const Model& model, const Workload& workload, const Sizes& z, int index) {
  Layer layer;
  layer.name = "block " + std::to_string(index);
  std::vector<Operator>& ops = layer.operators;
  const double qkv = z.query + 2 * z.key_value;
  // GPT-2 has one matrix for the three projections, the others have three.
  const int projections = model.family == "gpt2" ? 1 : 3;

  ops.push_back(norm("attention norm", model, z));
  ops.push_back(gemm("qkv projection", z, z.hidden, qkv, projections, model.qkv_bias ? qkv : 0));
  if (!model.learned_positions) {
    const Bytes qk = z.tokens * (z.query + z.key_value) * z.act;
    ops.push_back(memory_op("rotary", 2 * qk, 2 * qk, 10, 12));  // keeps only a table that all blocks share
  }
  if (workload.attention == Attention::kFlash) {
    const std::size_t i = static_cast<std::size_t>(index);
    const int window = i < model.attention_window.size() ? model.attention_window[i] : 0;
    add_flash_attention(z, attended_pairs(workload.sequence_length, window), ops);
  } else {
    add_naive_attention(z, ops);
  }
  ops.push_back(gemm("output projection", z, z.query, z.hidden, 1, model.attention_output_bias ? z.hidden : 0));
  ops.push_back(residual("attention residual", z));

  ops.push_back(norm("mlp norm", model, z));
  const double up = (model.gated_mlp ? 2 : 1) * z.ffn;
  ops.push_back(gemm("mlp up", z, z.hidden, up, model.gated_mlp ? 2 : 1, model.mlp_bias ? up : 0));
  // Plain: gelu(x); keeps x. Gated: silu(g) u; keeps g, u and silu(g). The output is the next product's input.
  const Bytes wide = z.tokens * z.ffn * z.act;
  Operator activation = model.gated_mlp ? memory_op("activation", 5 * wide, 8 * wide, 2, 3)
                                        : memory_op("activation", 2 * wide, 3 * wide, 8, 11);
  activation.activations = (model.gated_mlp ? 3 : 1) * wide;
  ops.push_back(activation);
  ops.push_back(gemm("mlp down", z, z.ffn, z.hidden, 1, model.mlp_bias ? z.hidden : 0));
  ops.push_back(residual("mlp residual", z));

  const int matrices = projections + 1 + (model.gated_mlp ? 3 : 2);
  if (z.cast) {
    double weights = 0;
    for (const Operator& op : ops)
      if (op.cls == OperatorClass::kGemm) weights += op.parameters;
    ops.push_back(autocast(z, weights, 2 * z.tokens * z.hidden, matrices + 2));
  }
  const int biases = (model.qkv_bias ? projections : 0) + (model.attention_output_bias ? 1 : 0) +
                     (model.mlp_bias ? (model.gated_mlp ? 3 : 2) : 0);
  double parameters = 0;
  for (const Operator& op : ops) parameters += op.parameters;
  const Operator gradients = accumulate(z, parameters, matrices + biases + (model.rms_norm ? 2 : 4));

  if (workload.recompute == Recompute::kFull) {
    Bytes kept;
    for (Operator& op : ops) {
      op.backward_flops += op.forward_flops;
      op.backward_bytes += op.forward_bytes;
      op.backward_kernels += op.forward_kernels;
      kept += op.activations;
      op.activations = Bytes{0};
    }
    ops.front().activations = z.tokens * z.hidden * z.stream;  // the block's input, which its first norm reads
    ops.front().workspace = kept - ops.front().activations;
  }
  ops.push_back(gradients);
  return layer;
}

Layer head_layer(const Model& model, const Sizes& z) {
  Layer layer;
  layer.name = "head";
  std::vector<Operator>& ops = layer.operators;
  ops.push_back(norm("final norm", model, z));
  ops.push_back(gemm("lm head", z, z.hidden, z.vocab, 1, 0));
  const double table = ops.back().parameters;
  if (model.tie_word_embeddings) ops.back().parameters = 0;

  // Logits become fp32, then their log-softmax, which is kept. Backward: the loss writes a zeroed fp32 gradient, the
  // log-softmax reads it and its output and writes another, which is cast back.
  const double logits = z.tokens * z.vocab;
  const bool narrow = z.act < Bytes{4};
  const Bytes fp32 = logits * Bytes{4};
  const Bytes cast = narrow ? logits * (z.act + Bytes{4}) : Bytes{0};
  Operator loss = memory_op("cross entropy", cast + 2 * fp32, 4 * fp32 + cast, narrow ? 3 : 2, narrow ? 4 : 3);
  loss.activations = fp32;
  loss.workspace = 2 * fp32;
  ops.push_back(loss);

  if (z.cast) ops.push_back(autocast(z, table, z.tokens * z.hidden, 2));
  // A tied table gets its gradient here too, and once more in the embedding.
  ops.push_back(accumulate(z, norm_parameters(model) + table, (model.rms_norm ? 1 : 2) + 1));
  return layer;
}

}  // namespace

double attended_pairs(int sequence_length, int window) {
  const double s = sequence_length;
  const double w = window > 0 && window < sequence_length ? window : s;
  return w * s - w * w / 2;
}

std::vector<Layer> layers_of(const Model& model, const Workload& workload) {
  const Sizes z = sizes_of(model, workload);
  std::vector<Layer> layers;
  layers.reserve(static_cast<std::size_t>(model.num_hidden_layers) + 2);
  layers.push_back(embedding_layer(model, z));
  for (int i = 0; i < model.num_hidden_layers; ++i) layers.push_back(block_layer(model, workload, z, i));
  layers.push_back(head_layer(model, z));
  return layers;
}

Flops model_flops(const Model& model, const Workload& workload) {
  Workload needed = workload;  // the model's need does not depend on the kernels that serve it
  needed.attention = Attention::kFlash;
  needed.recompute = Recompute::kNone;
  Flops forward;
  for (const Layer& layer : layers_of(model, needed))
    for (const Operator& op : layer.operators) forward += op.forward_flops;
  return 3 * forward;
}

}  // namespace accosim
