// The kernels of accocal's own training step on a GPU, one by one in the order in which it launches them: what the
// implementation `accocal` of a scenario is priced by, and what the step itself can be held to.
#pragma once

#include <string>
#include <vector>

#include "models/kernel.hpp"
#include "models/layers.hpp"

namespace accosim {

/// A GPT-2 as calibration/gpt.hpp has it: tied embeddings, biases, full causal attention, an MLP of four times the
/// width.
struct AccocalSizes {
  double sequences = 1, context = 1, width = 1, heads = 1, vocabulary = 1;
  int layers = 1;
  Dtype storage = Dtype::kBf16;  ///< of parameters, gradients and activations: bf16 or fp32

  double tokens() const { return sequences * context; }
};

struct AccocalKernel {
  const char* part = "";  ///< the operator that it belongs to
  std::string name;  ///< of calibration/cuda/kernels.hpp; of a product its layout: forward, dgrad, wgrad, scores...
  bool backward = false;
  bool bias = false;             ///< of a product: a bias is added
  double rows = 0, columns = 0;  ///< of a memory-bound kernel's main operand
  Kernel kernel;                 ///< of a product m x n x k (batch), column by column; else elements and bytes
};

/// In three parts, since the blocks are equal; each its forward, then its backward in the order of launching.
std::vector<AccocalKernel> accocal_embedding(const AccocalSizes& z);
std::vector<AccocalKernel> accocal_block(const AccocalSizes& z);
std::vector<AccocalKernel> accocal_head(const AccocalSizes& z);

/// Of a whole micro-batch, forward and backward, in the order of launching.
std::vector<AccocalKernel> accocal_micro_batch(const AccocalSizes& sizes);

/// As a device that keeps a log of what it was given writes it: "norm_forward 768 x 1024", "product 2304 x 1024 x 768
/// (1)", "set_zero 1572864" in bytes.
std::string launch_line(const AccocalKernel& each);

/// The layers that layers_of() gives for Implementation::kAccocal: operators of these kernels, with the parameters and
/// what accocal keeps for the backward pass: a block 16 t d + B H L^2 elements (x before both norms, the norms'
/// results, q, k and v, attention's weights and result, up before and after its gelu) and mean and scale of both norms.
std::vector<Layer> accocal_layers(const Model& model, const AccocalSizes& z);

/// What the model lacks to be one that accocal trains, as the end of a sentence ("has ..."); empty: nothing.
std::string not_for_accocal(const Model& model);

/// Logits have this many rows for a vocabulary: rounded up to 64.
double padded_vocabulary(double vocabulary);

}  // namespace accosim
