// The training step of accocal's own GPT (calibration/train/gpt.hpp) on a GPU, once, as data: every kernel and every
// matrix product of a micro-batch in the order of launching, by the model's sizes. `accocal measure` takes from it what
// to measure, accosim what to price, and what accocal launches (calibration/device/device_gpt.cpp) is held to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/spec/spec.hpp"
#include "models/spec/step_kernel.hpp"

namespace accosim {

/// A GPT-2: tied embeddings, biases, full causal attention, an MLP of four times the width.
struct AccocalSizes {
  double sequences = 1, context = 1, width = 1, heads = 1, vocabulary = 1;
  int layers = 1;
  /// Not accocal's own, whose products are measured too: the inner size of a gated MLP (gate and up side by side), the
  /// head apart from the embedding, and no biases, as Llama has it; 0: its own.
  double gated = 0;

  double tokens() const { return sequences * context; }
  double head_size() const { return width / heads; }
  double matrices() const { return sequences * heads; }  ///< of attention: one a head of a sequence
  double up() const { return gated > 0 ? 2 * gated : 4 * width; }
  double down() const { return gated > 0 ? gated : 4 * width; }
};

/// What the result of a product is added to.
enum class AddedTo : std::uint8_t {
  kNothing,
  kStream,  ///< the residual stream, which lies elsewhere
  kItself,  ///< what was there: a gradient
};

/// C (m x n) = alpha op(A) op(B), column by column.
struct StepProduct {
  const char* name = "";  ///< forward, dgrad, wgrad, scores, mixed, d_values, d_weights, d_queries, d_keys
  double m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false;  ///< as stored, A is k x m, B n x k
  double ldb = 0, ldc = 0;                        ///< elements between the columns as stored; 0: no gaps
  double alpha = 1;
  AddedTo added_to = AddedTo::kNothing;
  bool bias = false;                      ///< one a row is added
  bool fresh_a = false, fresh_b = false;  ///< the step has just written it
};

struct StepLaunch {
  const char* part = "";               ///< the operator that it belongs to
  std::optional<StepProduct> product;  ///< or else:
  StepKernel kernel = StepKernel::kCopy;
  double rows = 0, columns = 0;  ///< of the kernel's main operand; a flat one has one column
};

struct StepPart {
  std::vector<StepLaunch> forward, backward;
};

/// In three parts, since the blocks are equal.
StepPart accocal_embedding(const AccocalSizes& z);
StepPart accocal_block(const AccocalSizes& z);
StepPart accocal_head(const AccocalSizes& z);

/// Of a whole micro-batch, forward and backward.
std::vector<StepLaunch> accocal_micro_batch(const AccocalSizes& z);

/// Columns of logits are this far apart: the vocabulary rounded up to a multiple of 64.
double padded_vocabulary(double vocabulary);

/// What the model lacks to be one that accocal trains, as the end of a sentence ("has ..."); empty: nothing.
std::string not_for_accocal(const Model& model);

}  // namespace accosim
