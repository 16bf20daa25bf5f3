#include "models/price/expert_operators.hpp"

#include <utility>

#include "models/collectives/dispatch.hpp"
#include "models/spec/model_families.hpp"

namespace accosim {
namespace {

constexpr Bytes kWord{4};  ///< fp32
constexpr Bytes kIndex{8};

/// Of the rank with most rows.
struct Rows {
  double sent;       ///< of the rank's own tokens
  double tokens;     ///< its own
  double all;        ///< that its experts work on
  double experts;    ///< that it has
  double inner;      ///< of each, its part
  int ranks;         ///< that have the experts between them
  double skew;       ///< rows over the mean of these
  bool looped, own;  ///< a kernel an expert; launches that grow with the experts
  bool sorted;       ///< by indexing, in eager code
};

Rows rows_of(const Model& model, const Workload& workload, const Sizes& z) {
  const Experts& experts = model.experts;
  const double skew = z.expert_ranks > 1 ? workload.expert_imbalance : 1;
  const bool eager = z.implementation == Implementation::kEager;
  const bool looped = eager && workload.experts_implementation == ExpertsImplementation::kEager;
  return {z.own_tokens * experts.per_token,
          z.own_tokens,
          skew * (z.expert_split == 1 ? z.own_tokens : z.tokens) * experts.per_token,
          1.0 * experts.count / z.expert_ranks,
          1.0 * experts.inner_size / z.expert_split,
          z.expert_ranks,
          skew,
          looped,
          looped || z.implementation == Implementation::kFused,
          eager && !looped};
}

/// Every kernel of it once for each expert.
void repeat_for_each(const Rows& rows, Operator& op) {
  if (!rows.looped) return;
  for (std::vector<Kernel>* const kernels : {&op.forward, &op.backward})
    for (Kernel& kernel : *kernels) kernel.launches *= static_cast<int>(rows.experts);
  add_up(op);
}

/// A product of each expert's rows, in one kernel or one after the other.
Kernel each_product(const Sizes& z, const Rows& rows, double m, double n, double k, Bytes out, bool merged,
                    bool across) {
  const Bytes operand = z.fp8 ? Bytes{1} : z.act;
  Kernel kernel =
      gemm_kernel({rows.looped ? 1 : rows.experts, m, n, k, operand, out, merged, GemmLayout::kAny, across});
  kernel.repeats = rows.looped ? rows.experts : 1;
  if (rows.own) kernel.launches = static_cast<int>(rows.looped ? rows.experts : 1 + rows.experts / kLaunchedTogether);
  return kernel;
}

/// `outs` columns of each GEMM and expert, with as many biases each where `bias` is above 0; `apart`: these and their
/// gradients are another operator's. Keeps its input.
Operator expert_product(const char* name, const Sizes& z, const Rows& rows, double in, const std::vector<double>& outs,
                        double bias, bool apart = false) {
  Operator op{.name = name, .cls = OperatorClass::kGemm};
  const double a = rows.all, each = a / rows.experts;
  const bool fused = z.implementation == Implementation::kFused, merged = fused && !z.cast;
  if (z.fp8) op.forward.push_back(fp8_cast(a * in, fused));
  for (const double out : outs) {
    if (z.fp8) {
      op.forward.push_back(fp8_cast(rows.experts * in * out, fused));
      op.backward.push_back(fp8_cast(a * out, fused));
      if (!fused) op.backward.push_back(memory_kernel(Bytes{2 * (rows.experts * in * out + a * (in + out))}, 3));
    }
    op.forward.push_back(each_product(z, rows, each, out, in, z.act, false, false));
    op.backward.push_back(each_product(z, rows, each, in, out, z.act, false, false));
    op.backward.push_back(each_product(z, rows, in, out, each, merged ? z.grad : z.act, merged, true));
    op.parameters += rows.experts * (in * out + (bias > 0 ? out : 0));
    if (bias > 0 && !apart)
      op.backward.push_back(memory_kernel(a * out * z.act));  // its gradient is a sum over the rows
    for (int expert = 0; expert < (rows.looped ? rows.experts : 1); ++expert) {
      op.tensors.push_back(rows.experts / (rows.looped ? rows.experts : 1) * in * out);
      if (bias > 0) op.tensors.push_back(op.tensors.back() / in);
    }
  }
  if (outs.size() > 1)  // the gradients of the shared input are added: two reads and a write
    op.backward.push_back(memory_kernel(3.0 * a * in * z.act, rows.looped ? static_cast<int>(rows.experts) : 1));
  op.activations = a * in * z.act;
  op.of_experts = true;
  add_up(op);
  return op;
}

/// The router has the stream's tokens whole: its parameters are the same on all ranks that split the layer.
Operator router(const Model& model, const Sizes& z) {
  const Experts& experts = model.experts;
  const double t = z.own_tokens, e = experts.count, k = experts.per_token;
  Operator op{.name = "router", .cls = OperatorClass::kGemm};
  // scores r w; choice r, and the best with their places w; their weights r w; probabilities and map w
  const Bytes scores = t * e * (2 * kWord + kWord + kWord + Bytes{1}) + t * k * (kWord + kIndex + 2 * kWord);
  const bool compiled = z.implementation == Implementation::kCompiled;
  const auto choice = [&](int launches) {
    return memory_kernel(scores, compiled ? kCompiledRouterLaunches : launches);
  };
  op.forward = {gemm_kernel({1, t, e, z.hidden, z.act, kWord, false}), choice(kRouterLaunches)};
  op.backward = {gemm_kernel({1, t, z.hidden, e, z.act, z.act, false}),
                 gemm_kernel({1, z.hidden, e, t, z.act, z.act, false, GemmLayout::kAny, true}),
                 choice(kRouterBackwardLaunches)};
  op.tensors = {e * z.hidden};
  if (experts.router_bias) op.tensors.push_back(e);
  if (experts.correction_bias) op.tensors.push_back(e);
  for (const double elements : op.tensors) op.parameters += elements;
  op.alike = op.parameters;
  op.activations = t * z.hidden * z.act + t * e * (kWord + Bytes{1});
  add_up(op);
  return in_16_bits(std::move(op), z);
}

/// Of A rows and T tokens a row's elements, read and written: out, those of the tokens 2 A h w and sorted 2 A h w;
/// backward into zeros 3 A h w, and summed by token (A + 2 T) h w. Or back: weighed 2 A h w, sorted back 2 A h w,
/// summed (A + T) h w; backward into zeros 3 A h w, beside it the weights' gradients 4 A h w and the rows' 2 A h w.
Operator rows_indexed(const char* name, const Sizes& z, double rows, bool out) {
  const Bytes every = rows * z.hidden * z.act, once = z.own_tokens * z.hidden * z.act;
  const int gradients = out ? 2 : 1;
  Operator op = memory_op(
      name, {memory_kernel(out ? 4 * every : 5 * every + once, out ? kSortLaunches : 3, kPermuteEfficiency)},
      {memory_kernel(out ? 4 * every + 2 * once : 3 * every, gradients * kIndexGradientLaunches, kIndexEfficiency)});
  if (!out) op.backward.push_back(memory_kernel(6 * every, 3));
  if (!out) op.activations = every;
  add_up(op);
  return op;
}

/// A pass over so many elements both ways, read and written.
Operator rows_moved(const char* name, const Sizes& z, const Rows& rows, double elements, int launches, double passes) {
  const double efficiency = rows.looped ? kIndexEfficiency : kPermuteEfficiency;
  const Kernel kernel = memory_kernel(2 * passes * elements * z.act, launches, efficiency);
  Operator op = memory_op(name, {kernel}, {kernel});
  if (launches > 1) repeat_for_each(rows, op);
  return op;
}

/// Rows out with a weight each, or back. Gradients the other way.
Operator exchange(const char* name, const Model& model, const Sizes& z, const Rows& rows, bool out) {
  Operator op = memory_op(name, {}, {});
  const bool counts = z.dispatcher == Dispatcher::kAllToAll;
  if (out && z.dispatcher != Dispatcher::kAllGather)
    op.forward.push_back(memory_kernel(rows.tokens * model.experts.count * (Bytes{1} + kWord),
                                       counts ? kCountLaunches : kLayoutLaunches));
  add_up(op);
  const int per_token = model.experts.per_token;
  const auto add = [&](CollectiveKind kind, Bytes bytes, bool backward, int receivers) {
    const bool counted = out && !backward && z.dispatcher != Dispatcher::kAllGather;
    op.messages.push_back({kind, bytes, backward, Beside::kNothing, true, counted && op.messages.empty(), receivers});
  };
  if (z.dispatcher == Dispatcher::kAllGather) {  // a byte of the map and a weight for each expert beside a token
    const double whole = rows.tokens * rows.ranks * z.expert_split;
    const Bytes tokens = whole * z.hidden * z.act, weights = whole * model.experts.count * kWord;
    const Bytes map = whole * model.experts.count * Bytes{1};
    op.workspace = tokens;
    for (const bool backward : {false, true}) {
      const CollectiveKind kind = out != backward ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter;
      add(kind, tokens, backward, 0);
      if (out) add(kind, backward ? weights : weights + map, backward, 0);
    }
    return op;
  }
  if (z.dispatcher != Dispatcher::kAllToAll) {
    const Bytes once = rows.skew * rows.tokens * (z.hidden * z.act + (out ? per_token * kWord : Bytes{0}));
    op.workspace = rows.skew * rows.tokens * (1 + reached(rows.ranks, per_token)) * z.hidden * z.act;
    for (const bool backward : {false, true}) add(CollectiveKind::kAllToAll, once, backward, per_token);
    return op;
  }
  op.workspace = (rows.all + rows.sent) * z.hidden * z.act;  // what is sent and what arrives
  const Bytes sent = rows.all / z.expert_split * z.hidden * z.act, weights = rows.all / z.expert_split * kWord;
  for (const bool backward : {false, true}) {
    add(CollectiveKind::kAllToAll, sent, backward, 0);
    if (out) add(CollectiveKind::kAllToAll, weights, backward, 0);
  }
  if (z.expert_split == 1) return op;
  const Bytes whole = rows.all * z.hidden * z.act;  // gathered where an expert is split, and scattered behind it
  const auto tensor = [&](bool gather, bool backward) {
    op.messages.push_back(
        {gather ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter, whole, backward, Beside::kNothing});
  };
  tensor(out, false);
  tensor(!out, true);
  return op;
}

/// Merged code adds the second product's biases expert by expert, weighed, in fp32 (Megatron-LM's experts.py,
/// _apply_bias). Forward: weighed rows w, added r r w, joined r w, cast r w; backward: cast r w, to rows r w, and to
/// biases and weights a product r w and its sum r each.
Operator expert_bias(const Model& model, const Sizes& z, const Rows& rows) {
  const double elements = rows.all * model.hidden_size;
  const int each = static_cast<int>(rows.experts);
  const Bytes forward = elements * (kWord + z.act + kWord + kWord + 2 * kWord + kWord + z.act);
  const Bytes backward = elements * (z.act + kWord + kWord + z.act + 2 * 3 * kWord);
  return memory_op("expert bias", {memory_kernel(forward, 2 * each + 2)}, {memory_kernel(backward, 5 * each + 1)});
}

/// The MLP that every token passes, and the sum of both.
void add_shared(const Model& model, const Sizes& z, Bytes input, std::vector<Operator>& ops) {
  Sizes shared = z;
  shared.ffn = 1.0 * model.experts.shared_inner_size / z.split.ranks;
  const bool one = z.implementation == Implementation::kFused;
  const std::vector<double> up =
      one ? std::vector<double>{2 * shared.ffn} : std::vector<double>{shared.ffn, shared.ffn};
  ops.push_back(product("shared expert up", shared, Split::kColumns, z.hidden, up, 0, input));
  if (input == z.act) ops.back().activations = Bytes{0};  // the router keeps it
  ops.push_back(activation(model, shared));
  ops.back().name = "shared expert activation";
  ops.push_back(product("shared expert down", shared, Split::kInner, shared.ffn, {z.hidden}, 0, z.act));
  const Bytes row = z.own_tokens * z.hidden * z.act;
  if (model.experts.shared_gate) {
    Sizes own = z;
    own.tokens = z.own_tokens;
    own.split = {};
    Operator gate = product("shared expert gate", own, Split::kColumns, z.hidden, {1}, 0, input);
    gate.alike = gate.parameters;
    gate.activations = row;  // what it scales
    gate.forward.push_back(memory_kernel(2 * row, 2));
    gate.backward.push_back(memory_kernel(3 * row, 2));
    add_up(gate);
    ops.push_back(std::move(gate));
  }
  ops.push_back(memory_op("expert sum", {memory_kernel(3 * row)}, {}));
}

}  // namespace

void add_experts(const Model& model, const Workload& workload, const Sizes& z, std::vector<Operator>& ops) {
  const Rows rows = rows_of(model, workload, z);
  const Bytes input = model.norms != NormPlaces::kAfter ? norm_output(model, z) : z.stream;
  if (model.norms != NormPlaces::kAfter) ops.push_back(norm("mlp norm", model, z));
  ops.push_back(router(model, z));

  const bool shared_out = rows.ranks > 1;
  // Rows of NCCL's all-to-all are made before it, and sorted behind it; other dispatchers carry tokens.
  const bool rows_sent = shared_out && z.dispatcher == Dispatcher::kAllToAll;
  const bool in_kernels = shared_out && z.dispatcher == Dispatcher::kHybridEp;
  const double here = rows_sent ? rows.sent : rows.all;
  const auto permute = [&] {
    if (in_kernels) return;
    ops.push_back(rows.sorted ? rows_indexed("permute", z, here, true)
                              : rows_moved("permute", z, rows, here * z.hidden, rows.looped ? 3 : 1, 1));
  };
  if (!shared_out || rows_sent) permute();
  if (!shared_out)  // tokens are gathered where experts are split
    ops.back().messages = messages_of_columns(z.split, z.tokens * z.hidden * z.act, z.tokens * z.hidden * z.act);
  for (TensorMessage& message : ops.back().messages) message.beside = Beside::kNothing;
  if (shared_out) ops.push_back(exchange("dispatch", model, z, rows, true));
  if (rows_sent) ops.push_back(rows_moved("sort", z, rows, rows.all * z.hidden, 1, 1));
  if (shared_out && !rows_sent) permute();
  const double columns = (model.gated_mlp ? 2 : 1) * rows.inner;
  ops.push_back(expert_product("expert up", z, rows, z.hidden,
                               model.gated_mlp && rows.looped && !family_of(model).one_gate_up_matrix
                                   ? std::vector<double>{rows.inner, rows.inner}
                                   : std::vector<double>{columns},
                               model.mlp_bias ? 1 : 0));
  Sizes each = z;
  each.tokens = rows.all;
  each.ffn = rows.inner;
  ops.push_back(activation(model, each));
  ops.back().name = "expert activation";
  repeat_for_each(rows, ops.back());
  ops.push_back(expert_product("expert down", z, rows, rows.inner, {z.hidden}, model.mlp_bias ? 1 : 0,
                               z.implementation == Implementation::kFused));
  if (model.mlp_bias && z.implementation == Implementation::kFused) ops.push_back(expert_bias(model, z, rows));
  // A loop: rows are weighed, and added to those that are there; backward the weights have a gradient.
  const auto unpermute = [&] {
    if (in_kernels) return;
    if (rows.sorted) return ops.push_back(rows_indexed("unpermute", z, here, false));
    ops.push_back(rows_moved("unpermute", z, rows, here * z.hidden, rows.looped ? 2 : 1, rows.looped ? 2.5 : 1));
    ops.back().activations = rows.looped ? here * z.hidden * z.act : here * kWord;
  };
  if (rows_sent) ops.push_back(rows_moved("unsort", z, rows, rows.all * z.hidden, 1, 1));
  if (shared_out && !rows_sent) unpermute();
  if (shared_out) ops.push_back(exchange("combine", model, z, rows, false));
  if (!shared_out || rows_sent) unpermute();
  if (!shared_out) ops.back().messages = messages_of_inner(z.split, z.tokens * z.hidden * z.act);
  if (model.experts.shared_inner_size > 0) add_shared(model, z, input, ops);
}

}  // namespace accosim
