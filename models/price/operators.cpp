// The comments name the tensors that are moved or saved, because the sum of these is what a reader will want to check
// against the literature. `r` and `w`: elements read and written.
#include "models/price/operators.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/spec/model_families.hpp"

namespace accosim {
namespace {

// Fractions of the streaming bandwidth that kernels with more than a copy to do reach in 32 bits, and their arithmetic
// an element beside that of a gelu, which shows in 16 bits: medians over the shapes of one operator, on A100, V100 and
// GH200, in the op table of github.com/eth-easl/sailor (Planner/baselines/Aceso/profiler). Dropout's backward pass, a
// product with a mask, reaches the streaming bandwidth itself on all three.
constexpr double kActivationEfficiency = 0.95, kActivationBackwardEfficiency = 0.75;
constexpr double kSoftmaxEfficiency = 0.9, kSoftmaxWork = 0.5, kSoftmaxBackwardWork = 0.85;
constexpr double kDropoutEfficiency = 0.92, kDropoutWork = 0.85;  ///< forward: it draws random numbers
constexpr double kNormEfficiency = 0.85, kNormWork = 0.8;
constexpr double kNormBackwardEfficiency = 0.55, kNormBackwardWork = 2;  ///< sums over the tokens for weight and bias
constexpr double kMaskWork = 2.75;  ///< a mask that is broadcast over heads: an index is computed for each element
constexpr Bytes kWord{4};           ///< fp32
/// An element of NF4 with double quantisation: 4 bits, 8 a block of 64, 32 a 256 blocks (arXiv 2305.14314, section 3).
constexpr Bytes kNf4{0.5 + 1.0 / 64 + 4.0 / (64 * 256)};
// cuBLAS's kernels for tensor cores load 16 bytes at once (the cuBLAS documentation, "Tensor Core Usage"). Where a
// head's vector is no multiple of that, the next head's begins between two, and its batched products run on CUDA cores
// (kernels named fp16_sgemm): BigScience's runs with heads of 150 and of 108 elements on A100.
constexpr double kAlignment = 16;

}  // namespace

Operator memory_op(const char* name, std::vector<Kernel> forward, std::vector<Kernel> backward, Bytes kept) {
  Operator op{.name = name, .forward = std::move(forward), .backward = std::move(backward), .activations = kept};
  add_up(op);
  return op;
}

Kernel fp8_cast(double elements, bool fused) { return memory_kernel(Bytes{(fused ? 4 : 5) * elements}, fused ? 1 : 2); }

namespace {

/// The same on the scores of attention.
Operator scores_op(const char* name, std::vector<Kernel> forward, std::vector<Kernel> backward, Bytes kept) {
  Operator op = memory_op(name, std::move(forward), std::move(backward), kept);
  op.attention = AttentionPart::kScores;
  return op;
}

/// Hugging Face's RMSNorm is written out in Python: to fp32, square, mean, + eps, rsqrt, multiply, back, times weight.
/// `norms` of them, of so many elements of so many bytes together.
Operator eager_rms_norm(const char* name, double n, Bytes element, bool frozen, int norms = 1) {
  const Bytes x = n * element, wide = n * kWord;
  const bool narrow = element < kWord;
  const Bytes to_wide = narrow ? x + wide : Bytes{0};
  // forward: cast; pow r w; mean r; product r w; cast; weight r w
  Kernel forward = memory_kernel(2 * to_wide + 5 * wide + 2 * x, norms * (narrow ? 8 : 6));
  // backward: weight: dx r w, dw r r w and its sum r; cast; product: dx r w, its factor's r r w and sum r; square:
  // r w, r w; sum of the two paths r r w; cast
  Kernel backward =
      memory_kernel(2 * to_wide + (frozen ? 2 : 6) * x + 13 * wide, norms * ((narrow ? 14 : 12) - (frozen ? 2 : 0)));
  return memory_op(name, {forward}, {backward}, wide + x);  // keeps the fp32 input and the normalised tensor
}

Operator merged_activation(const char* name, double elements, Bytes forward, Bytes backward, Bytes kept) {
  return memory_op(name, {memory_kernel(forward, 1, kActivationEfficiency, elements)},
                   {memory_kernel(backward, 1, kActivationBackwardEfficiency, elements)}, kept);
}

/// An operator's dropout as a kernel of its own: x, y and a mask of a byte an element, both ways.
Kernel dropout_kernel(double elements, Bytes element, bool backward) {
  return memory_kernel(elements * (2 * element + Bytes{1}), 1, backward ? 1 : kDropoutEfficiency,
                       backward ? 0 : kDropoutWork * elements);
}

Operator square_product(const char* name, const Gemm& forward, const Gemm& left, const Gemm& right) {
  return Operator{.name = name,
                  .cls = OperatorClass::kGemm,
                  .attention = AttentionPart::kProducts,
                  .forward = {gemm_kernel(forward)},
                  .backward = {gemm_kernel(left), gemm_kernel(right)}};
}

void multiply_in(Operator& op, Dtype dtype) {
  for (std::vector<Kernel>* kernels : {&op.forward, &op.backward})
    for (Kernel& kernel : *kernels)
      if (kernel.kind == KernelKind::kGemm) kernel.dtype = dtype;
}

/// Merged code on 32-bit tensors: Megatron's softmax kernel takes 16 bits, and torch's takes its place, after
/// masked_fill_ in place on the product's view (r w). An in-place change of a view makes autograd copy the gradient of
/// the whole: softmax r r w; into zeros of the product's shape (w, r w); CopySlices: a copy, the slice's clone,
/// masked_fill's clone and its fill, and the copy back, r w each.
Operator softmax_in_32_bits(double square) {
  const Bytes y = square * kWord;
  const Kernel fill = memory_kernel(2 * y, 1, 1, kMaskWork * square);
  return scores_op("softmax", {fill, memory_kernel(2 * y, 1, kSoftmaxEfficiency)},
                   {memory_kernel(3 * y, 1, kSoftmaxEfficiency), memory_kernel(11 * y, 6), fill}, y);
}

/// Whether the model's own code keeps the scores of attention in fp32 though everything else has 16 bits. Autocast
/// takes them back to 16 bits.
bool wide_scores(const Model& model, const Sizes& z) {
  const bool eager = z.implementation == Implementation::kEager;
  return eager && family_of(model).fp32_scores && !z.autocast && z.act < kWord;
}

/// Of the scores of attention, in eager code. Scale and mask r w each, the mask broadcast over the heads; softmax r w,
/// in fp32 where autocast or the model's own code asks for it, and then back to what the values have; backward mirrors
/// that. From 16 bits to fp32 the kernel of softmax casts fp16 itself, and bf16 is cast by a kernel before it
/// (aten/src/ATen/native/SoftMax.cpp).
Operator eager_softmax(const Model& model, const Sizes& z, double square) {
  const EagerSoftmax rule = family_of(model).softmax;
  const bool clamped = rule == EagerSoftmax::kClamped;
  const Bytes score = wide_scores(model, z) ? kWord : z.act;
  const Bytes wide = z.autocast || rule == EagerSoftmax::kInFp32 ? kWord : score;
  const Bytes y = square * score, out = square * wide, value = square * z.act;
  const Bytes cast = out > y && z.bf16 ? y + out : Bytes{0};
  const Bytes in = cast > Bytes{0} ? out : y;
  const Bytes back = out > value ? out + value : Bytes{0};
  const int casts = (cast > Bytes{0} ? 1 : 0) + (back > Bytes{0} ? 1 : 0);
  // Clamped: mask and torch.max against the least number, in the place of scale and mask. The backward of that maximum
  // compares, halves, selects, compares and fills: 36 bytes and more an element of fp32, as ten passes.
  // The maximum keeps the masked scores; softmax keeps what it makes, not what the maximum made.
  const Bytes kept = out + (out > value ? value : Bytes{0}) + (clamped ? 1 : 0) * y;
  return scores_op(
      "softmax",
      {memory_kernel(4 * y, 2, 1, kMaskWork * square),
       memory_kernel(cast + in + out + back, 1 + casts, kSoftmaxEfficiency, clamped ? 0 : kSoftmaxWork * square)},
      {memory_kernel(back + 2 * out + in + cast, 1 + casts, kSoftmaxEfficiency),
       clamped ? memory_kernel(10 * y, 5) : memory_kernel(4 * y, 2, 1, kMaskWork * square)},
      kept);
}

/// Merged: r w, a causal kernel of Megatron's reads only half; backward r r w.
Operator softmax(const Model& model, const Sizes& z, double square) {
  if (z.implementation == Implementation::kEager) return eager_softmax(model, z, square);
  if (z.implementation == Implementation::kFused && z.act == kWord) return softmax_in_32_bits(square);
  const Bytes y = square * z.act;
  const bool half = z.implementation == Implementation::kFused && model.causal;
  return scores_op("softmax", {memory_kernel((half ? 1.5 : 2) * y, 1, kSoftmaxEfficiency, kSoftmaxWork * square)},
                   {memory_kernel((half ? 2 : 3) * y, 1, kSoftmaxEfficiency, kSoftmaxBackwardWork * square)}, y);
}

/// Rows of the vocabulary that one of several ranks holds.
double vocabulary_share(int vocabulary, int ranks, Implementation implementation) {
  if (ranks == 1) return vocabulary;
  const double unit = implementation == Implementation::kFused ? 128 : 1;
  return unit * std::ceil(vocabulary / (unit * ranks));
}

}  // namespace

double attended_pairs(int sequence_length, int window) {
  const double s = sequence_length;
  const double w = window > 0 && window < sequence_length ? window : s;
  return w * s - w * w / 2;
}

double attended_pairs(const Workload& workload, int window) {
  if (workload.documents.empty()) return attended_pairs(workload.sequence_length, window);
  double pairs = 0, tokens = 0;
  for (const SequenceLengths::Bar& document : workload.documents) {
    pairs += document.weight * attended_pairs(document.tokens, window);
    tokens += document.weight * document.tokens;
  }
  return workload.sequence_length * pairs / tokens;
}

Sizes sizes_of(const Model& model, const Workload& workload, int ranks, bool sequence) {
  Sizes z{};
  z.batch = workload.micro_batch_size;
  z.seq = workload.sequence_length;
  z.tokens = z.batch * z.seq;
  z.split = {ranks, sequence && ranks > 1};
  z.own_tokens = z.split.sequence ? z.tokens / ranks : z.tokens;
  z.hidden = model.hidden_size;
  z.heads = 1.0 * model.num_attention_heads / ranks;
  z.head_dim = model.head_dim;
  z.value_dim = value_dim_of(model);
  z.query = z.heads * z.head_dim;
  z.key_value = std::max(1.0, 1.0 * model.num_key_value_heads / ranks) * z.head_dim;
  z.ffn = 1.0 * model.intermediate_size / ranks;
  z.vocab = vocabulary_share(model.vocab_size, ranks, workload.implementation);
  // fp8 training quantises the inputs of a product on the fly; what is stored between operators has 16 bits.
  z.act = std::max(bytes_of(workload.compute), Bytes{2});
  z.param = bytes_of(workload.parameter_dtype);
  z.stream = std::max(z.act, z.param);
  z.grad = bytes_of(workload.gradient_dtype);
  z.autocast = workload.autocast;
  z.cast = z.param > z.act;
  z.bf16 = workload.compute == Dtype::kBf16;
  z.fp8 = workload.compute == Dtype::kFp8;
  z.flash_3 = workload.attention == Attention::kFlash3;
  z.dropout = workload.dropout > 0;
  z.lora = workload.lora;
  z.implementation = workload.implementation;
  z.repeated = z.key_value < z.query && z.implementation != Implementation::kFused;
  return z;
}

void add_up(Operator& op) {
  const auto add = [](const std::vector<Kernel>& kernels, Flops& flops, Bytes& bytes, int& launches) {
    flops = Flops{0}, bytes = Bytes{0}, launches = 0;
    for (const Kernel& kernel : kernels) {
      flops += flops_of(kernel);
      bytes += bytes_of(kernel);
      launches += kernel.launches;
    }
  };
  add(op.forward, op.forward_flops, op.forward_bytes, op.forward_kernels);
  add(op.backward, op.backward_flops, op.backward_bytes, op.backward_kernels);
}

Operator in_16_bits(Operator op, const Sizes& z) {
  if (z.fp8) multiply_in(op, Dtype::kBf16);
  return op;
}

void freeze(Operator& op, const Sizes& z) {
  op.frozen = op.parameters;
  op.frozen_bytes = op.parameters * z.param;
  op.parameters = op.alike = 0;
  op.tensors.clear();
}

double norm_parameters(const Model& model) { return (model.rms_norm ? 1.0 : 2.0) * model.hidden_size; }

namespace {

/// Of one of the norms' kernels: forward r w; backward: dx r r w, and the gradients of weight and bias r r.
Operator merged_norm(const char* name, double n, Bytes in, Bytes out, bool frozen, int norms = 1) {
  const Bytes gradients = frozen ? Bytes{0} : in + out;
  return memory_op(name, {memory_kernel(in + out, norms, kNormEfficiency, kNormWork * n)},
                   {memory_kernel(2 * in + out + gradients, (frozen ? 1 : 2) * norms, kNormBackwardEfficiency,
                                  kNormBackwardWork * n)},
                   in);
}

/// A norm of so many elements of a type, which it puts out in the type of `norm_output` beside the stream.
Operator norm_of(const char* name, const Model& model, const Sizes& z, Bytes element, Bytes output) {
  const double n = z.own_tokens * z.hidden;
  const Bytes x = n * element;
  Operator op;
  if (model.rms_norm && z.implementation == Implementation::kEager) {
    op = eager_rms_norm(name, n, element, z.lora.on());
  } else {
    // Under autocast eager code computes it in fp32: what has 16 bits is cast before, the input and both vectors, and
    // its gradients after.
    const bool widened = z.autocast && z.implementation == Implementation::kEager && element < kWord;
    op = merged_norm(name, n, widened ? n * kWord : x, n * output, z.lora.on());
    if (widened) {
      const Kernel casts = memory_kernel(x + n * kWord + norm_parameters(model) * (z.param + kWord), 3);
      op.forward.insert(op.forward.begin(), casts);
      op.backward.push_back(casts);
      add_up(op);
    }
  }
  op.parameters = op.alike = norm_parameters(model);
  op.tensors.assign(model.rms_norm ? 1 : 2, z.hidden);
  if (z.lora.on()) freeze(op, z);
  return op;
}

}  // namespace

Operator norm(const char* name, const Model& model, const Sizes& z) {
  return norm_of(name, model, z, z.stream, norm_output(model, z));
}

Operator branch_norm(const char* name, const Model& model, const Sizes& z) {
  return norm_of(name, model, z, z.act, z.act);
}

Operator query_key_norm(const Model& model, const Sizes& z) {
  const double n = z.tokens * (z.query + z.key_value);
  const bool eager = z.implementation == Implementation::kEager,
             by_head = model.query_key_norm == QueryKeyNorm::kByHead;
  Operator op = eager ? eager_rms_norm("query and key norm", n, z.act, z.lora.on(), 2)
                      : merged_norm("query and key norm", n, n * z.act, n * z.act, z.lora.on(), 2);
  for (const double width : {by_head ? z.head_dim : z.query, by_head ? z.head_dim : z.key_value})
    op.tensors.insert(op.tensors.end(), model.rms_norm ? 1 : 2, width);
  for (const double width : op.tensors) op.parameters += width;
  if (by_head) op.alike = op.parameters;
  if (z.lora.on()) freeze(op, z);
  return op;
}

Bytes norm_output(const Model& model, const Sizes& z) {
  if (z.implementation != Implementation::kEager) return z.act;  // the cast is in the norm's kernel
  return z.autocast && !model.rms_norm ? kWord : z.stream;
}

Bytes activation_output(const Model& model, const Sizes& z) {
  const bool written_out = model.activation == Activation::kGeluNew && !model.gated_mlp;
  return z.autocast && written_out && z.implementation == Implementation::kEager ? kWord : z.act;
}

Operator product(const char* name, const Sizes& z, Split split, double in, const std::vector<double>& outs, double bias,
                 Bytes element, bool adapted) {
  Operator op{.name = name, .cls = OperatorClass::kGemm};
  const double t = z.tokens;
  double all = 0;
  const Bytes operand = z.fp8 ? Bytes{1} : z.act;
  const bool fused = z.implementation == Implementation::kFused;
  const int casts = element > z.act ? static_cast<int>(outs.size()) : 0;  // of the input, for each GEMM
  const Kernel cast = memory_kernel(casts * t * in * (element + z.act), casts);
  if (casts > 0) op.forward.push_back(cast);
  if (z.fp8) op.forward.push_back(fp8_cast(t * in, fused));
  const bool frozen = z.lora.on(), narrow = z.lora.base == LoraBase::kNf4;
  for (const double out : outs) {
    all += out;
    const Kernel widen = memory_kernel(in * out * (kNf4 + z.act));
    if (narrow) op.forward.push_back(widen);
    if (narrow) op.backward.push_back(widen);
    if (z.fp8) {
      op.forward.push_back(fp8_cast(in * out, fused));
      op.backward.push_back(fp8_cast(t * out, fused));
      const double transposed = in * out + (frozen ? 0 : t * in + t * out);
      if (!fused) op.backward.push_back(memory_kernel(Bytes{2 * transposed}, frozen ? 1 : 3));
    }
    op.forward.push_back(gemm_kernel({1, t, out, in, operand, z.act, false}));  // the bias is added in its epilogue
    op.backward.push_back(gemm_kernel({1, t, in, out, operand, z.act, false}));
    const bool merged = fused && !z.cast;
    if (frozen) continue;
    op.backward.push_back(
        gemm_kernel({1, in, out, t, operand, merged ? z.grad : z.act, merged, GemmLayout::kAny, true}));
  }
  if (bias > 0 && !frozen)  // its gradient is a sum over the tokens
    op.backward.push_back(
        memory_kernel((split == Split::kInner ? z.own_tokens : t) * all * z.act, static_cast<int>(outs.size())));
  if (casts > 0) op.backward.push_back(cast);
  if (outs.size() > 1)  // the gradients of the shared input are added: two reads and a write each
    op.backward.push_back(memory_kernel(3.0 * static_cast<double>(outs.size() - 1) * t * in * element,
                                        static_cast<int>(outs.size()) - 1));
  op.parameters = in * all + bias;
  for (const double out : outs) {
    op.tensors.push_back(in * out);
    if (bias > 0) op.tensors.push_back(out);
  }
  const double kept = split == Split::kColumns ? z.own_tokens : t;
  op.activations = std::max(1, casts) * kept * in * z.act;
  if (kept < t) op.workspace = t * in * z.act;
  if (split == Split::kInner) op.alike = bias;
  op.messages = split == Split::kColumns ? messages_of_columns(z.split, t * in * element, t * in * z.act)
                                         : messages_of_inner(z.split, t * all * z.act);
  if (frozen) {
    freeze(op, z);
    if (narrow) op.frozen_bytes = in * all * kNf4 + bias * z.param;
    op.activations = Bytes{0};  // adapters keep their own input
    if (!adapted) op.workspace = Bytes{0};
    if (!adapted && split == Split::kColumns)  // nothing needs the whole input again
      std::erase_if(op.messages,
                    [](const TensorMessage& m) { return m.backward && m.kind == CollectiveKind::kAllGather; });
  }
  add_up(op);
  return op;
}

Operator adapters(const char* name, const Sizes& z, Split split, double in, const std::vector<double>& outs) {
  Operator op{.name = name, .cls = OperatorClass::kGemm};
  const double t = z.tokens, r = z.lora.rank;
  const bool eager = z.implementation == Implementation::kEager;
  for (const double out : outs) {
    const Bytes x = t * in * z.act, y = t * out * z.act;
    op.forward.push_back(gemm_kernel({1, t, r, in, z.act, z.act, false}));
    op.forward.push_back(gemm_kernel({1, t, out, r, z.act, z.act, false}));
    op.forward.push_back(memory_kernel((eager ? 5 : 3) * y, eager ? 2 : 1));  // scaled r w, added r r w
    op.backward.push_back(memory_kernel(2 * y));                              // the gradient, scaled
    op.backward.push_back(gemm_kernel({1, r, out, t, z.act, z.act, false, GemmLayout::kAny, true}));
    op.backward.push_back(gemm_kernel({1, t, r, out, z.act, z.act, false}));
    op.backward.push_back(gemm_kernel({1, in, r, t, z.act, z.act, false, GemmLayout::kAny, true}));
    op.backward.push_back(gemm_kernel({1, t, in, r, z.act, z.act, false}));
    op.backward.push_back(memory_kernel(3 * x));  // added to the product's gradient of its input
    op.parameters += r * (in + out);
    op.alike += z.split.ranks == 1 ? 0 : r * (split == Split::kColumns ? in : out);
    op.tensors.insert(op.tensors.end(), {r * in, r * out});
    op.activations += t * r * z.act;
  }
  op.activations += (split == Split::kColumns ? z.own_tokens : t) * in * z.act;
  add_up(op);
  return in_16_bits(std::move(op), z);
}

Operator residual(const char* name, const Sizes& z) {
  const double n = z.own_tokens * z.hidden;
  const Bytes sum = n * (2 * z.stream + z.act);
  Operator op;
  switch (z.implementation) {
    case Implementation::kEager:
      op = memory_op(name, {memory_kernel(sum)}, {memory_kernel(3 * n * z.stream)});
      if (z.stream > z.act) op.backward.push_back(memory_kernel(n * (z.stream + z.act)));  // the branch's is narrower
      if (z.dropout) {
        op.forward.insert(op.forward.begin(), dropout_kernel(n, z.act, false));
        op.backward.push_back(dropout_kernel(n, z.act, true));
      }
      break;
    case Implementation::kCompiled:  // one kernel with the norm that follows, which then need not read the sum again
      op = memory_op(name, {memory_kernel(n * (z.stream + z.act), 0)}, {memory_kernel(n * z.stream, 0)});
      if (z.dropout) {
        op.forward.push_back(memory_kernel(Bytes{n}, 0));
        op.backward.push_back(memory_kernel(n * (z.act + Bytes{1}), 0));
      }
      break;
    case Implementation::kFused:  // bias, dropout and sum in one
      op = memory_op(name, {memory_kernel(sum + Bytes{z.dropout ? n : 0})}, {memory_kernel(3 * n * z.stream)});
      if (z.dropout) op.backward.push_back(dropout_kernel(n, z.act, true));
      break;
    case Implementation::kAccocal:
      throw std::logic_error("accocal's step has a list of its own: models/spec/accocal_step.cpp");
  }
  op.activations = Bytes{z.dropout ? n : 0};
  add_up(op);
  return op;
}

Operator rotary(const Model& model, const Sizes& z) {
  const Bytes all = z.tokens * (z.query + z.key_value) * z.act, qk = model.rotary_share * all;
  // Eager, for q and k each: -x2, its concatenation with x1, two products, their sum: r w of 1/2, 1, 1, 1 and r r w.
  // Keeps only a table that all blocks share.
  if (z.implementation == Implementation::kEager)
    return model.rotary_share == 1
               ? memory_op("rotary", {memory_kernel(10 * qk, 10)}, {memory_kernel(12 * qk, 12)})
               // Both parts are concatenated again, and their gradients zeroed and added.
               : memory_op("rotary", {memory_kernel(10 * qk + 2 * all, 12)}, {memory_kernel(12 * qk + 4 * all, 16)});
  return memory_op("rotary", {memory_kernel(2 * qk, 2)}, {memory_kernel(2 * qk, 2)});
}

Operator activation(const Model& model, const Sizes& z) {
  const double n = z.tokens * z.ffn;
  const Bytes wide = n * z.act;
  const bool eager = z.implementation == Implementation::kEager;
  const char* const name = "activation";
  if (model.gated_mlp) {  // act(gate) up; what it writes is the next product's input
    if (!eager) return merged_activation(name, n, 3 * wide, 5 * wide, 2 * wide);
    // act r w, product r r w; backward two products r r w, act r r w. Keeps gate, up and act(gate).
    return memory_op(name, {memory_kernel(2 * wide, 1, kActivationEfficiency, n), memory_kernel(3 * wide)},
                     {memory_kernel(9 * wide, 3, kActivationBackwardEfficiency, n)}, 3 * wide);
  }
  if (model.activation == Activation::kRelu) return merged_activation(name, 0, 2 * wide, 3 * wide, Bytes{0});
  if (model.activation == Activation::kReluSquared && eager)  // relu r w, square r w, and keeps what it squares
    return memory_op(name, {memory_kernel(4 * wide, 2)}, {memory_kernel(6 * wide, 2)}, wide);
  if (activation_output(model, z) > z.act) {
    // The same as below: x / 2 stays in 16 bits; x is cast for pow, which and the six kernels after it write fp32. The
    // sum and the last product read 16 bits and fp32. Bytes an element: x/2 4, cast 6, pow 8, product 8, sum 10,
    // product 8, tanh 8, + 1 8, product 10. Backward: of the last product 12 + 10, tanh 12, products 8 + 8, pow 28,
    // x/2 4; the three gradients of x/2, of the sum and of pow's cast are cast, 6 each, and added in 16 bits, 12. Keeps
    // x and tanh and 1 + tanh in fp32, and x / 2.
    return memory_op(name, {memory_kernel(Bytes{70 * n}, 9)}, {memory_kernel(Bytes{112 * n}, 14)}, Bytes{14 * n});
  }
  if (model.activation == Activation::kGeluNew && eager) {
    // 0.5 x (1 + tanh(c (x + 0.044715 x^3))): pow, three products with a constant, two sums, tanh, a product. Keeps x,
    // tanh, 1 + tanh and x / 2.
    return memory_op(name, {memory_kernel(18 * wide, 8)}, {memory_kernel(28 * wide, 11)}, 4 * wide);
  }
  return merged_activation(name, n, 2 * wide, 3 * wide, wide);  // keeps x
}

Operator scaled(const char* name, double elements, Bytes element) {
  const Kernel once = memory_kernel(2 * elements * element);
  return memory_op(name, {once}, {once});
}

Operator soft_cap(const char* name, const Sizes& z, double elements, Bytes element) {
  // x / cap, tanh and a product with the cap, r w each; backward the same, with tanh's output too, which is kept.
  const Bytes y = elements * element;
  const bool eager = z.implementation == Implementation::kEager;
  return memory_op(name, {memory_kernel((eager ? 6 : 2) * y, eager ? 3 : 1)},
                   {memory_kernel((eager ? 7 : 3) * y, eager ? 3 : 1)}, y);
}

Operator repeat_key_value(const Sizes& z) {
  const Bytes copies = 2 * z.tokens * (z.query + z.key_value) * z.act;
  return memory_op("repeat keys and values", {memory_kernel(copies, 2)}, {memory_kernel(copies, 2)});
}

Operator flash_attention(const Model& model, const Workload& workload, const Sizes& z, int window) {
  double longest = workload.documents.empty() ? z.seq : 1;
  for (const SequenceLengths::Bar& document : workload.documents) longest = std::max(longest, 1.0 * document.tokens);
  const double own_heads = (z.repeated ? z.query : z.key_value) / z.head_dim;  // with keys and values
  AttentionShape shape{z.batch, z.heads, own_heads, z.seq, z.head_dim, z.value_dim, 0, 0, z.act, z.flash_3};
  shape.pairs = (model.causal ? 1 : 2) * attended_pairs(workload, model.causal ? window : 0);
  shape.span = window > 0 ? std::min(longest, 1.0 * window) : longest;
  Operator op{.name = "attention",
              .cls = OperatorClass::kAttention,
              .attention = AttentionPart::kProducts,
              .forward = {attention_kernel(shape, false)},
              .backward = {attention_kernel(shape, true)}};
  // q, k, v and the log-sum-exp; its output is counted where it is the next product's input.
  op.activations = z.tokens * (z.query + own_heads * (z.head_dim + z.value_dim)) * z.act + z.tokens * z.heads * kWord;
  add_up(op);
  return op;
}

void add_naive_attention(const Model& model, const Sizes& z, std::vector<Operator>& ops) {
  const double square = z.batch * z.heads * z.seq * z.seq;
  const double b = z.batch * z.heads, s = z.seq, d = z.head_dim, v = z.value_dim;
  const Bytes q = z.tokens * z.query * z.act, out = z.tokens * z.heads * v * z.act;
  const Bytes kv = z.tokens * (z.repeated ? z.query : z.key_value) * z.act;
  const bool eager = z.implementation == Implementation::kEager;
  const bool wide = wide_scores(model, z);
  const Bytes e = wide ? kWord : z.act;
  const bool unaligned = e < kWord && std::fmod(d * e.value, kAlignment) > 0;
  Operator scores = square_product("attention scores", {b, s, s, d, e, e, false}, {b, s, d, s, e, e, false},
                                   {b, s, d, s, e, e, false, GemmLayout::kAny, true});
  if (eager && family_of(model).fp32_scores && z.act < kWord) {
    // Its code casts q and k to fp32, and autocast casts them back for the product.
    const Bytes up = q + kv + z.tokens * (z.query + z.key_value) * kWord;
    const Kernel casts = memory_kernel((wide ? 1 : 2) * up, wide ? 2 : 4);
    scores.forward.push_back(casts);
    scores.backward.push_back(casts);
  }
  if (wide || unaligned) multiply_in(scores, Dtype::kFp32);
  scores.activations = wide ? z.tokens * (z.query + z.key_value) * kWord : q + kv;
  add_up(scores);
  ops.push_back(scores);

  if (model.capped_scores) {
    ops.push_back(soft_cap("soft cap of scores", z, square, e));
    ops.back().attention = AttentionPart::kScores;
  }
  ops.push_back(softmax(model, z, square));  // what it keeps is also the next product's input
  if (z.dropout)
    ops.push_back(scores_op("attention dropout", {dropout_kernel(square, z.act, false)},
                            {dropout_kernel(square, z.act, true)}, square * z.act + Bytes{square}));

  Operator context =
      square_product("attention context", {b, s, v, s, z.act, z.act, false}, {b, s, s, v, z.act, z.act, false},
                     {b, s, v, s, z.act, z.act, false, GemmLayout::kAny, true});
  if (unaligned) multiply_in(context, Dtype::kFp32);
  context.forward.push_back(memory_kernel(2 * out));  // the heads are then merged by a copy
  context.backward.push_back(memory_kernel(2 * out));
  context.activations = v / d * kv;
  add_up(context);
  ops.push_back(context);
}

Operator autocast(const Sizes& z, double parameters, int tensors, double frozen) {
  const Bytes each = z.param + z.act, both = parameters * each;
  Operator op = memory_op("autocast", {memory_kernel(both + frozen * each, tensors)}, {memory_kernel(both, tensors)},
                          (parameters + frozen) * z.act);
  op.beside_all = true;
  return op;
}

Operator accumulate(const Sizes& z, double matrices, double vectors, int matrix_tensors, int vector_tensors) {
  const bool merged = z.implementation == Implementation::kFused && !z.cast;
  const double parameters = vectors + (merged ? 0 : matrices);
  const int tensors = vector_tensors + (merged ? 0 : matrix_tensors);
  Operator op = memory_op("gradient accumulation", {}, {memory_kernel(parameters * (z.param + 2 * z.grad), tensors)});
  op.beside_all = true;
  return op;
}

Operator cross_entropy(const Sizes& z) {
  const double logits = z.tokens * z.vocab;
  const bool narrow = z.act < kWord;
  const Bytes fp32 = logits * kWord;
  const Bytes cast = narrow ? logits * (z.act + kWord) : Bytes{0};
  Operator loss;
  if (z.implementation == Implementation::kFused) {
    // One kernel reads the logits for their sum and again to put the gradient in their place; backward scales it.
    loss = memory_op("cross entropy", {memory_kernel(3 * logits * z.act)}, {memory_kernel(2 * logits * z.act)},
                     logits * z.act);
  } else {
    // Logits become fp32, then their log-softmax, which is kept. Backward: the loss writes a zeroed fp32 gradient, the
    // log-softmax reads it and its output and writes another, which is cast back.
    loss = memory_op("cross entropy", {memory_kernel(cast + 2 * fp32, narrow ? 3 : 2)},
                     {memory_kernel(4 * fp32 + cast, narrow ? 4 : 3)}, fp32);
    loss.workspace = 2 * fp32;
  }
  loss.messages = messages_of_loss(z.split, z.tokens);
  return loss;
}

Operator embedding_dropout(const Sizes& z) {
  const double n = z.own_tokens * z.hidden;
  return memory_op("embedding dropout", {dropout_kernel(n, z.stream, false)}, {dropout_kernel(n, z.stream, true)},
                   Bytes{n});
}

}  // namespace accosim
