// The transformer put together from its operators, and what the backward pass recomputes of it.
#include "models/price/layers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/price/accocal_layers.hpp"
#include "models/price/expert_operators.hpp"
#include "models/price/latent_operators.hpp"
#include "models/price/operators.hpp"
#include "models/price/tensor_messages.hpp"
#include "models/spec/model_families.hpp"

namespace accosim {
namespace {

Layer embedding_layer(const Model& model, const Sizes& z) {
  Layer layer;
  layer.kind = LayerKind::kEmbedding;
  const Bytes rows = z.tokens * z.hidden * z.stream;
  const Bytes ids = z.tokens * Bytes{8};
  const double table = z.vocab * z.hidden;
  // The gradient of the table is dense: zeroed, then the rows are added in.
  Operator token{.name = "token embedding",
                 .forward = {memory_kernel(ids + 2 * rows)},
                 .backward = {memory_kernel(ids + 3 * rows + table * z.param, 2)},
                 .parameters = table,
                 .tensors = {table},
                 .activations = ids};
  // A learned table of positions is added to whole sequences, which are cut up behind that, without a collective.
  token.messages = messages_of_embedding(z.split, rows, model.learned_positions);
  const auto without_gradient = [&](Operator& op) {
    if (!z.lora.on()) return;
    freeze(op, z);
    op.backward.clear();
    op.activations = Bytes{0};
  };
  without_gradient(token);
  add_up(token);
  layer.operators.push_back(token);
  double parameters = table;
  if (model.learned_positions) {
    const double positions = static_cast<double>(model.max_position_embeddings) * z.hidden;
    // Looks up, then adds to the tokens'.
    const Bytes looked_up = z.seq * z.hidden * z.stream;
    Operator position{.name = "position embedding",
                      .forward = {memory_kernel(3 * looked_up + 2 * rows, 2)},
                      .backward = {memory_kernel(rows + 3 * looked_up + positions * z.param, 3)}};
    position.parameters = position.alike = positions;
    position.tensors = {positions};
    without_gradient(position);
    add_up(position);
    layer.operators.push_back(position);
    parameters += positions;
  }
  if (model.scaled_embeddings && z.implementation == Implementation::kEager)
    layer.operators.push_back(scaled("embedding scale", z.own_tokens * z.hidden, z.stream));
  if (z.dropout) layer.operators.push_back(embedding_dropout(z));
  if (!z.lora.on()) layer.operators.push_back(accumulate(z, 0, parameters, 0, model.learned_positions ? 2 : 1));
  return layer;
}

void run_again(Operator& op, const std::vector<Kernel>& kernels) {
  op.backward.insert(op.backward.end(), kernels.begin(), kernels.end());
  add_up(op);
}

/// Its collectives too, which nothing then runs beside.
void send_again(Operator& op) {
  std::vector<TensorMessage> again;
  for (const TensorMessage& message : op.messages)
    if (!message.backward) {
      again.push_back(message);
      again.back().backward = true;
      again.back().beside = Beside::kNothing;
    }
  op.messages.insert(op.messages.end(), again.begin(), again.end());
}

Bytes kept_by(const std::vector<Operator>& ops) { return sum_of<Bytes>(ops, &Operator::activations); }

/// Of the last product, whose output only the sum behind it reads, the backward pass needs the input alone. A dropout
/// between them keeps its mask, so that both run again.
bool is_behind_the_last_need(const Operator& op, const Sizes& z) { return !z.dropout && op.before_the_sum; }

/// Only the block's input is kept, which its first norm reads.
void recompute_all(const Sizes& z, bool early_stop, std::vector<Operator>& ops) {
  const Bytes before = kept_by(ops);
  for (Operator& op : ops) {
    if (!early_stop || !is_behind_the_last_need(op, z)) {
      run_again(op, op.forward);
      send_again(op);
    }
    op.activations = Bytes{0};
  }
  ops.front().activations = z.own_tokens * z.hidden * z.stream;
  ops.front().workspace = before - ops.front().activations;
}

/// From q, k and v to the attention's output (Korthikanti et al.): those three are kept, nothing of the square.
void recompute_attention(std::vector<Operator>& ops) {
  const Bytes before = kept_by(ops);
  for (Operator& op : ops) {
    if (op.attention == AttentionPart::kNone) continue;
    run_again(op, op.forward);
    if (op.attention == AttentionPart::kScores) op.activations = Bytes{0};
  }
  ops.front().workspace = before - kept_by(ops);
}

/// What its reduce-scatters leave of the forward pass.
Bytes scattered(const Operator& op, const Sizes& z) {
  Bytes sum;
  for (const TensorMessage& message : op.messages)
    if (!message.backward && message.kind == CollectiveKind::kReduceScatter) sum += message.bytes / z.split.ranks;
  return sum;
}

/// torchtitan's selective_op: the outputs of attention and of the first, third, fifth... matrix product are kept, all
/// else is computed again from the block's input and these. A compiler keeps only what its backward graph reads, and
/// nothing reads the output of the last product. What a reduce-scatter put out is kept too, so that none runs again;
/// the gather before a product runs once in the backward pass, recomputed or not.
void recompute_operators(const Sizes& z, std::vector<Operator>& ops) {
  const Bytes before = kept_by(ops);
  Bytes kept = z.own_tokens * z.hidden * z.stream;
  const bool compiled = z.implementation == Implementation::kCompiled;
  int products = 0;
  for (Operator& op : ops) {
    std::vector<Kernel> again;
    for (const Kernel& kernel : op.forward) {
      const bool dense = kernel.kind == KernelKind::kGemm && kernel.gemm.batch == 1 && kernel.repeats == 1;
      if (dense && ++products % 2 == 1) {
        if (!compiled || !is_behind_the_last_need(op, z)) kept += kernel.gemm.m * kernel.gemm.n * kernel.gemm.out;
      } else if (kernel.kind == KernelKind::kAttentionForward) {
        kept += z.tokens * z.heads * (z.value_dim * z.act + Bytes{4});
      } else {
        again.push_back(kernel);
      }
    }
    run_again(op, again);
    if (!compiled || !is_behind_the_last_need(op, z)) kept += scattered(op, z);
    op.activations = Bytes{0};
  }
  ops.front().activations = kept;
  ops.front().workspace = std::max(Bytes{0}, before - kept);
}

/// The columns of the product's GEMMs that have adapters: all of a matrix of several where one of them is a target.
std::vector<double> adapted(const Lora& lora, const std::vector<LoraTarget>& targets, const std::vector<double>& outs) {
  std::vector<double> columns;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const bool first = outs.size() == targets.size() || columns.empty();
    if (lora.has(targets[i]) && first) columns.push_back(outs[std::min(i, outs.size() - 1)]);
  }
  return columns;
}

/// A product and its adapters.
void add_product(const char* name, const char* beside, const Sizes& z, Split split, double in,
                 const std::vector<double>& outs, double bias, Bytes element, const std::vector<LoraTarget>& targets,
                 std::vector<Operator>& ops) {
  const std::vector<double> columns = z.lora.on() ? adapted(z.lora, targets, outs) : std::vector<double>();
  ops.push_back(product(name, z, split, in, outs, bias, element, !columns.empty()));
  if (!columns.empty()) ops.push_back(adapters(beside, z, split, in, columns));
}

/// What of a branch follows its last product, before the sum with the stream.
void end_branch(const Model& model, const Sizes& z, const char* norm, std::vector<Operator>& ops) {
  if (model.norms != NormPlaces::kBefore) ops.push_back(branch_norm(norm, model, z));
  // Compiled and fused code scales as it adds.
  if (model.scaled_branches && z.implementation == Implementation::kEager)
    ops.push_back(scaled("branch scale", z.own_tokens * z.hidden, z.act));
}

/// From the stream to attention's output.
void add_attention(const Model& model, const Workload& workload, const Sizes& z, int window,
                   std::vector<Operator>& ops) {
  const double qkv = z.query + 2 * z.key_value;
  // Merged code always has one matrix for the three projections.
  const bool together = family_of(model).one_qkv_matrix || z.implementation == Implementation::kFused;
  const std::vector<double> projections =
      together ? std::vector<double>{qkv} : std::vector<double>{z.query, z.key_value, z.key_value};
  const bool normed = model.norms != NormPlaces::kAfter, latent = model.latent.key_value_rank > 0;
  if (normed) ops.push_back(norm("attention norm", model, z));
  if (latent)
    add_latent_projections(model, z, ops);
  else
    add_product("qkv projection", "qkv adapters", z, Split::kColumns, z.hidden, projections, model.qkv_bias ? qkv : 0,
                normed ? norm_output(model, z) : z.stream, {LoraTarget::kQuery, LoraTarget::kKey, LoraTarget::kValue},
                ops);
  if (model.query_key_norm != QueryKeyNorm::kNone) ops.push_back(query_key_norm(model, z));
  if (!model.learned_positions && !latent) ops.push_back(rotary(model, z));
  if (z.repeated) ops.push_back(repeat_key_value(z));
  if (model.attention_sinks) ops.push_back(attention_sinks(z));
  if (workload.attention != Attention::kNaive)
    ops.push_back(flash_attention(model, workload, z, window));
  else
    add_naive_attention(model, z, ops);
  for (Operator& op : ops)
    if (op.cls == OperatorClass::kGemm && op.parameters + op.frozen == 0) op = in_16_bits(std::move(op), z);
  add_product("output projection", "output adapters", z, Split::kInner, z.heads * z.value_dim, {z.hidden},
              model.attention_output_bias ? z.hidden : 0, z.act, {LoraTarget::kOutput}, ops);
  end_branch(model, z, "attention output norm", ops);
}

/// From the stream to the MLP's output; beside attention behind one norm it reads what that has normalised.
void add_mlp(const Model& model, const Sizes& z, std::vector<Operator>& ops) {
  const bool one = family_of(model).one_gate_up_matrix || z.implementation == Implementation::kFused;
  const double up_columns = (model.gated_mlp ? 2 : 1) * z.ffn;
  const std::vector<double> up =
      model.gated_mlp && !one ? std::vector<double>{z.ffn, z.ffn} : std::vector<double>{up_columns};
  const bool normed = model.norms != NormPlaces::kAfter, shared = model.parallel_norms == 1;
  const Bytes input = normed ? norm_output(model, z) : z.stream;
  if (normed && !shared) ops.push_back(norm("mlp norm", model, z));
  const std::size_t first = ops.size();
  add_product("mlp up", "mlp up adapters", z, Split::kColumns, z.hidden, up, model.mlp_bias ? up_columns : 0, input,
              model.gated_mlp ? std::vector{LoraTarget::kGate, LoraTarget::kUp} : std::vector{LoraTarget::kUp}, ops);
  if (shared && input == z.act) ops[first].activations = Bytes{0};  // attention keeps it
  ops.push_back(activation(model, z));
  const std::size_t last = ops.size();
  add_product("mlp down", "mlp down adapters", z, Split::kInner, z.ffn, {z.hidden}, model.mlp_bias ? z.hidden : 0,
              activation_output(model, z), {LoraTarget::kDown}, ops);
  // The adapters' second product needs what their first puts out.
  ops[last].before_the_sum = model.norms == NormPlaces::kBefore;
  end_branch(model, z, "mlp output norm", ops);
}

/// The block's biases, and its tensors of each kind.
struct Counted {
  double matrices = 0, vectors = 0;  ///< elements
  int matrix_tensors = 0, vector_tensors = 0, norm_tensors = 0;
};
/// A product registers a matrix and, where it has a bias, a vector for each of its GEMMs, one after the other.
Counted count(const std::vector<Operator>& ops) {
  Counted all;
  for (const Operator& op : ops) {
    const bool gemm = op.cls == OperatorClass::kGemm;
    double matrices = 0;
    for (const Kernel& kernel : op.forward)
      if (gemm && op.parameters > 0 && kernel.kind == KernelKind::kGemm) {
        matrices += kernel.repeats * kernel.gemm.batch * kernel.gemm.n * kernel.gemm.k;
        all.matrix_tensors += static_cast<int>(kernel.repeats);
      }
    all.matrices += matrices;
    all.vectors += op.parameters - matrices;
    (gemm ? all.vector_tensors : all.norm_tensors) += static_cast<int>(op.tensors.size());
  }
  all.vector_tensors -= all.matrix_tensors;
  return all;
}

Layer block_layer(const Model& model, const Workload& workload, const Sizes& z, int window, bool experts,
                  bool recomputed) {
  Layer layer;
  std::vector<Operator>& ops = layer.operators;
  add_attention(model, workload, z, window, ops);
  if (model.parallel_norms == 0) ops.push_back(residual("attention residual", z));
  if (experts)
    add_experts(model, workload, z, ops);
  else
    add_mlp(model, z, ops);
  if (model.parallel_norms > 0) {
    ops.push_back(residual("attention residual", z));
    ops.back().before_the_sum = true;
  }
  ops.push_back(residual("mlp residual", z));
  ops.back().before_the_sum = true;

  const Counted all = count(ops);
  double weights = 0, frozen = 0;
  for (const Operator& op : ops)
    if (op.cls == OperatorClass::kGemm) {
      weights += op.parameters;
      frozen += z.lora.base == LoraBase::kNf4 ? 0 : op.frozen;
    }
  if (z.cast) ops.push_back(autocast(z, weights, all.matrix_tensors + all.vector_tensors, frozen));

  switch (recomputed ? workload.recompute : Recompute::kNone) {
    case Recompute::kNone: break;
    case Recompute::kSelective: recompute_attention(ops); break;
    case Recompute::kSelectiveOp: recompute_operators(z, ops); break;
    case Recompute::kFull: recompute_all(z, false, ops); break;
    case Recompute::kFullEarlyStop: recompute_all(z, true, ops); break;
  }
  if (all.matrices + all.vectors > 0)
    ops.push_back(accumulate(z, all.matrices, all.vectors, all.matrix_tensors, all.vector_tensors + all.norm_tensors));
  return layer;
}

/// From the normalised stream to the loss, of so many tokens.
std::vector<Operator> logits_and_loss(const Model& model, const Sizes& z) {
  Sizes wide = z;
  wide.fp8 = false;
  wide.lora.base = LoraBase::kParameters;
  std::vector<Operator> ops = {
      in_16_bits(product("lm head", wide, Split::kColumns, z.hidden, {z.vocab}, 0, norm_output(model, z)), z)};
  if (model.scaled_logits && z.implementation == Implementation::kEager)
    ops.push_back(scaled("logit scale", z.tokens * z.vocab, z.act));
  if (model.capped_logits) ops.push_back(soft_cap("soft cap of logits", z, z.tokens * z.vocab, z.act));
  ops.push_back(cross_entropy(z));
  return ops;
}

void repeat(std::vector<Kernel>& kernels, int times) {
  const std::vector<Kernel> once = kernels;
  for (int i = 1; i < times; ++i) kernels.insert(kernels.end(), once.begin(), once.end());
}

/// The same in pieces: only the product's input is kept, a piece's logits are there while it is computed, and a piece
/// needs its forward pass again in the backward pass, or, where `at_once`, has its backward pass in the forward pass.
/// Then the gradients of the input and of the matrix are kept in the input's place, and scaled by that of the loss. In
/// eager code the gradients of the matrix, one a piece, are added: two reads and a write.
std::vector<Operator> in_pieces(const Model& model, const Sizes& z, int pieces, bool at_once) {
  Sizes part = z;
  part.tokens = z.tokens / pieces;
  part.own_tokens = z.own_tokens / pieces;
  std::vector<Operator> ops = logits_and_loss(model, part);
  Operator& head = ops.front();
  const double table = head.parameters + head.frozen;
  const Bytes input = pieces * head.activations, logits = kept_by(ops) - head.activations + ops.back().workspace;
  if (z.implementation != Implementation::kFused && !z.lora.on())
    head.backward.push_back(memory_kernel(1.0 * (pieces - 1) / pieces * 3 * table * z.param));
  for (Operator& op : ops) {
    std::vector<Kernel>& longer = at_once ? op.forward : op.backward;
    const std::vector<Kernel>& other = at_once ? op.backward : op.forward;
    longer.insert(longer.end(), other.begin(), other.end());
    if (at_once) op.backward.clear();
    repeat(op.forward, pieces);
    repeat(op.backward, pieces);
    op.activations = op.workspace = Bytes{0};
    add_up(op);
  }
  head.activations = input;
  head.workspace = logits;
  if (at_once) {
    head.activations = z.own_tokens * z.hidden * z.stream + (z.lora.on() ? Bytes{0} : table * z.param);
    head.backward = {memory_kernel(2 * head.activations, 2)};
    add_up(head);
  }
  return ops;
}

/// Logits in tiles that stay on the multiprocessors, computed once forward and once more backward: of the loss only a
/// log-sum-exp of each token is kept.
std::vector<Operator> cut_loss(const Model& model, const Sizes& z) {
  Operator head = logits_and_loss(model, z).front();
  const Kernel again = head.forward.back();
  head.backward.insert(head.backward.begin(), again);
  for (std::vector<Kernel>* const kernels : {&head.forward, &head.backward})
    for (Kernel& kernel : *kernels)
      if (kernel.kind == KernelKind::kGemm && kernel.gemm == again.gemm) kernel.gemm.out = Bytes{0};
  head.activations += z.tokens * Bytes{4};
  add_up(head);
  return {head};
}

/// Liger's: so many that a piece's logits are about as large as its input, of a power of two of tokens
/// (ops/fused_linear_cross_entropy.py).
int ligers_pieces(const Sizes& z) {
  const double wanted = std::ceil(z.tokens / std::ceil(z.vocab / z.hidden));
  return static_cast<int>(std::min(std::ceil(z.tokens / std::exp2(std::ceil(std::log2(wanted)))), 1e9));
}

std::vector<Operator> loss_of(const Model& model, const Workload& workload, const Sizes& z) {
  const auto pieces = [&](int usual) {
    const int asked = workload.loss_chunks > 0 ? workload.loss_chunks : usual;
    return static_cast<int>(std::min({1.0 * asked, 1.0 * kMostLossChunks, z.tokens}));
  };
  switch (workload.loss) {
    case Loss::kWhole: return logits_and_loss(model, z);
    case Loss::kChunked: return in_pieces(model, z, pieces(kLossChunks), false);
    case Loss::kFusedLinear: {
      Sizes merged = z;  // one kernel puts the gradient in the logits' place
      merged.implementation = Implementation::kFused;
      return in_pieces(model, merged, pieces(ligers_pieces(z)), true);
    }
    case Loss::kCut: return cut_loss(model, z);
  }
  return {};
}

/// `tied`: its matrix is the embedding's, of the same rank.
Layer head_layer(const Model& model, const Workload& workload, const Sizes& z, bool tied) {
  Layer layer;
  layer.kind = LayerKind::kHead;
  std::vector<Operator>& ops = layer.operators;
  ops = loss_of(model, workload, z);
  const double table = ops.front().parameters + ops.front().frozen;
  if (tied) {
    ops.front().parameters = ops.front().frozen = 0;
    ops.front().frozen_bytes = Bytes{0};
    ops.front().tensors.clear();
  }
  ops.insert(ops.begin(), norm("final norm", model, z));
  if (z.cast) ops.push_back(z.lora.on() ? autocast(z, 0, 0, table) : autocast(z, table, 1));
  // A tied table gets its gradient here too, and once more in the embedding.
  if (!z.lora.on()) ops.push_back(accumulate(z, table, norm_parameters(model), 1, model.rms_norm ? 1 : 2));
  return layer;
}

}  // namespace

bool is_recomputed(const RecomputedBlocks& blocks, int own, int in_chunk) {
  if (blocks.first > 0) return in_chunk < blocks.first;
  const auto reached = [&](int i) { return std::floor(i * blocks.fraction + 0.5); };
  return (own + 1) % blocks.every == 0 && reached(own + 1) > reached(own);
}

namespace {

/// Those of these ranges, one after the other.
Layers layers_in(const std::vector<LayerRange>& ranges, const Model& model, const Workload& workload,
                 const ModelShare& share) {
  const bool whole_only = family_of(model).measured || workload.implementation == Implementation::kAccocal;
  if (share.tensor > 1 && whole_only) throw std::logic_error("these layers are not split");
  if (family_of(model).measured) {
    Operator whole{.name = "micro-batch", .parameters = static_cast<double>(model.measured_parameters)};
    whole.tensors = {whole.parameters};
    whole.forward_kernels = whole.backward_kernels = 0;
    return {Layer{LayerKind::kMeasured, {whole}}};
  }
  Sizes z = sizes_of(model, workload, share.tensor, share.sequence);
  z.expert_split = share.whole_experts ? 1 : share.tensor;
  z.expert_ranks = share.experts * share.tensor / z.expert_split;
  z.dispatcher = share.dispatcher;
  if (workload.implementation == Implementation::kAccocal)
    return accocal_layers(model, {z.batch, z.seq, z.hidden, z.heads, z.vocab, model.num_hidden_layers},
                          workload.parameter_dtype == Dtype::kFp32 ? Dtype::kFp32 : Dtype::kBf16);
  using Kind = std::tuple<int, bool, bool>;
  std::vector<std::pair<Kind, Shared<Layer>>>
      built;  // by window, experts and recomputation: equal blocks are built once
  const auto block = [&](int i, bool recomputed) {
    const auto index = static_cast<std::size_t>(i);
    const int window = index < model.attention_window.size() ? model.attention_window[index] : 0;
    const Kind kind{window, has_experts(model, i), recomputed};
    auto same = std::ranges::find_if(built, [&](const auto& each) { return each.first == kind; });
    if (same == built.end())
      same = built.insert(built.end(), {kind, block_layer(model, workload, z, window, std::get<1>(kind), recomputed)});
    return same->second;
  };
  Layers layers;
  int own = 0;
  for (const LayerRange& range : ranges) {
    int in_chunk = 0;
    for (int i = range.begin; i < range.end; ++i)
      if (i == 0)
        layers.emplace_back(embedding_layer(model, z));
      else if (i <= model.num_hidden_layers)
        layers.push_back(block(i - 1, is_recomputed(workload.recomputed_blocks, own++, in_chunk++)));
      else
        layers.emplace_back(head_layer(model, workload, z, model.tie_word_embeddings && share.stages == 1));
  }
  return layers;
}

}  // namespace

Layers layers_of(const Model& model, const Workload& workload, const ModelShare& share) {
  return layers_in({{0, model.num_hidden_layers + 2}}, model, workload, share);
}

Bytes buffer_bytes(const Model& model, Implementation implementation) {
  if (implementation != Implementation::kEager || !family_of(model).mask_buffers) return Bytes{0};
  const double positions = model.max_position_embeddings;
  return Bytes{model.num_hidden_layers * positions * positions};
}

ModelShare share_of_stage(const Parallel& parallel, int stage) {
  return {stage,
          parallel.pipeline,
          parallel.chunks,
          parallel.blocks,
          parallel.tensor,
          parallel.sequence,
          parallel.schedule,
          parallel.whole_experts,
          parallel.dispatcher,
          parallel.group,
          expert_data_ranks(parallel)};
}

int group_of(const ModelShare& share) { return share.group > 0 ? share.group : share.stages; }

int passes_in_flight(const ModelShare& share, int micro_batches) {
  const int passes = micro_batches * share.chunks;
  if (share.schedule == PipelineSchedule::kGpipe) return passes;
  const int behind = share.stages - share.stage - 1;
  if (share.chunks == 1) return std::min(passes, behind + 1);
  return std::min(passes, 2 * behind + (share.chunks - 1) * group_of(share) + 1);
}

Bytes boundary_bytes(const Model& model, const Workload& workload, const ModelShare& share) {
  const Sizes z = sizes_of(model, workload);
  return z.tokens * z.hidden * z.stream / (share.sequence ? share.tensor : 1);
}

std::vector<LayerRange> chunk_ranges(int blocks, const ModelShare& share) {
  const int runs = share.stages * share.chunks;
  std::vector<int> each = share.blocks;
  if (each.empty() && runs > 1 && blocks < runs) throw std::invalid_argument("a stage without a block");
  if (each.empty()) each = equal_blocks(blocks, runs);
  if (static_cast<int>(each.size()) != runs || std::accumulate(each.begin(), each.end(), 0) != blocks)
    throw std::invalid_argument("the runs' blocks are not the model's");
  std::vector<LayerRange> ranges;
  int begin = 1;
  for (int run = 0; run < runs; ++run) {
    const int end = begin + each[static_cast<std::size_t>(run)];
    if (run % share.stages == share.stage) ranges.push_back({run == 0 ? 0 : begin, run + 1 == runs ? blocks + 2 : end});
    begin = end;
  }
  return ranges;
}

Layers own_layers_of(const Model& model, const Workload& workload, const ModelShare& share) {
  if (share.stages == 1 && share.chunks == 1) return layers_of(model, workload, share);
  return layers_in(chunk_ranges(model.num_hidden_layers, share), model, workload, share);
}

Flops model_flops(const Model& model, const Workload& workload, const ModelShare& share) {
  Workload needed = workload;  // the model's need does not depend on the kernels that serve it
  needed.attention = Attention::kFlash;
  needed.recompute = Recompute::kNone;
  if (!workload.lora.on()) needed.implementation = Implementation::kFused;  // which may join products and so adapters
  needed.loss = Loss::kWhole;
  needed.expert_imbalance = 1;
  ModelShare flops = share;
  flops.tensor = 1;
  flops.sequence = false;
  flops.experts = 1;
  flops.whole_experts = false;
  Flops all;
  for (const Layer& layer : own_layers_of(model, needed, flops))
    for (const Operator& op : layer.operators) all += (op.frozen > 0 ? 2 : 3) * op.forward_flops;
  return 1.0 / share.tensor * all;
}

}  // namespace accosim
