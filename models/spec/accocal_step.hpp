// The training step of accocal's own GPT (calibration/train/gpt.hpp) on a GPU, once, as data: every kernel and every
// matrix product of a micro-batch in the order of launching, by the model's sizes. `accocal measure` takes from it what
// to measure, accosim what to price, and what accocal launches (calibration/device/device_gpt.cpp) is held to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/model.hpp"
#include "models/spec/step_kernel.hpp"

namespace accosim {

/// A GPT-2: tied embeddings, biases, full causal attention, an MLP of four times the width.
struct AccocalSizes {
  double sequences = 1, context = 1, width = 1, heads = 1, vocabulary = 1;
  int layers = 1;
  /// 0: accocal's own GPT. Otherwise a model like Llama, whose GEMMs are measured too: the inner size of its gated MLP
  /// (gate and up side by side); its head is apart from the embedding, and it has no biases.
  double gated = 0;

  double tokens() const { return sequences * context; }
  double head_size() const { return width / heads; }
  double matrices() const { return sequences * heads; }  ///< attention matrices: one per head and sequence
  double up() const { return gated > 0 ? 2 * gated : 4 * width; }
  double down() const { return gated > 0 ? gated : 4 * width; }
};

/// What the result of a product is added to.
enum class AddedTo : std::uint8_t {
  kNothing,
  kStream,  ///< the residual stream, which lies elsewhere
  kItself,  ///< the result's old content: it is a gradient
};

/// C (m x n) = alpha op(A) op(B), column by column.
struct StepProduct {
  const char* name = "";  ///< forward, dgrad, wgrad, scores, mixed, d_values, d_weights, d_queries, d_keys
  double m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false;  ///< as stored, A is k x m, B n x k
  double ldb = 0, ldc = 0;                        ///< elements between the columns as stored; 0: no gaps
  double alpha = 1;
  AddedTo added_to = AddedTo::kNothing;
  bool bias = false;                      ///< whether a bias is added, one per row of C
  bool fresh_a = false, fresh_b = false;  ///< the step has just written it
};

struct StepLaunch {
  const char* part = "";               ///< the operator that it belongs to
  std::optional<StepProduct> product;  ///< the GEMM; without one, `kernel`
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

/// `accocal measure` replays kernels that are shorter as a graph, since a host could not launch them without gaps.
inline constexpr Seconds kReplayedBelow{20e-6};

/// Columns of logits are this far apart: the vocabulary rounded up to a multiple of 64.
double padded_vocabulary(double vocabulary);

/// What keeps the model from being one that accocal trains, as the end of a sentence ("has ..."); empty: nothing.
std::string not_for_accocal(const Model& model);

}  // namespace accosim
