#include "models/price/latent_operators.hpp"

#include <utility>

namespace accosim {
namespace {

/// A product that every rank has whole, of its own tokens.
Operator whole_product(const char* name, const Sizes& z, double in, double out, Bytes element) {
  Sizes own = z;
  own.tokens = z.own_tokens;
  own.split = {};
  Operator op = product(name, own, Split::kColumns, in, {out}, 0, element);
  op.alike = op.parameters;
  return op;
}

/// Of a narrow vector of so many elements.
Operator narrow_norm(const char* name, const Model& model, const Sizes& z, double elements) {
  Sizes narrow = z;
  narrow.hidden = elements;
  Model vector = model;
  vector.hidden_size = static_cast<int>(elements);
  return branch_norm(name, vector, narrow);
}

/// The rotary part of queries and of the one key turned, then behind the other part of each head's: q and k are
/// written anew.
Operator turned_parts(const Model& model, const Sizes& z) {
  const Bytes turned = z.tokens * (z.heads + 1) * model.latent.rotary_dim * z.act,
              both = 2 * z.tokens * z.query * z.act;
  const bool eager = z.implementation == Implementation::kEager;
  return memory_op("rotary", {memory_kernel((eager ? 10 : 2) * turned + 2 * both, eager ? 12 : 4)},
                   {memory_kernel((eager ? 12 : 2) * turned + 2 * both, eager ? 16 : 4)});
}

}  // namespace

void add_latent_projections(const Model& model, const Sizes& z, std::vector<Operator>& ops) {
  const Latent& latent = model.latent;
  const Bytes input = norm_output(model, z);
  if (latent.query_rank > 0) {
    ops.push_back(whole_product("query down", z, z.hidden, latent.query_rank, input));
    ops.push_back(narrow_norm("query norm", model, z, latent.query_rank));
    ops.push_back(product("query up", z, Split::kColumns, latent.query_rank, {z.query}, 0, z.act));
  } else {
    ops.push_back(product("query projection", z, Split::kColumns, z.hidden, {z.query}, 0, input));
  }
  Operator down = whole_product("key and value down", z, z.hidden, latent.key_value_rank + latent.rotary_dim, input);
  if (input == z.act) down.activations = Bytes{0};  // the queries' product keeps it
  ops.push_back(std::move(down));
  ops.push_back(narrow_norm("key and value norm", model, z, latent.key_value_rank));
  const double own = model.head_dim - latent.rotary_dim + latent.value_dim;
  ops.push_back(product("key and value up", z, Split::kColumns, latent.key_value_rank, {z.heads * own}, 0, z.act));
  ops.push_back(turned_parts(model, z));
}

Operator attention_sinks(const Sizes& z) {
  Operator op = memory_op("attention sinks", {}, {});
  op.parameters = z.heads;
  op.tensors = {z.heads};
  return op;
}

}  // namespace accosim
