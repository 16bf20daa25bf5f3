// What `accocal measure` runs on a GPU, one by one: the matrix products and the other kernels of a training step, with
// their sizes, taken from the step as models/spec/accocal_step.hpp states it; nothing here touches a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/device/products.hpp"
#include "calibration/train/gpt.hpp"
#include "models/spec/step_kernel.hpp"

namespace accocal {

/// A model whose step gives shapes.
struct ModelShape : GptShape {
  std::string name;
  /// Inner size of a gated MLP (gate and up side by side), in a model without biases and with a head apart from the
  /// embedding, as Llama is; 0: an MLP of four times the width, biases and a tied head, as GPT-2 has them.
  int gated = 0;
};

/// GPT-2 124M, 350M and 774M with a vocabulary that is a multiple of 64.
std::vector<ModelShape> gpt2_models();
/// GPT-Neo 125M and 2.7B, Llama 7B.
std::vector<ModelShape> other_models();

struct ProductCase {
  Product product;
  std::string layout;     ///< forward, dgrad, wgrad, scores, mixed, d_values, d_weights, d_queries, d_keys
  std::string model;      ///< where the shape comes from
  bool bias = false;      ///< a bias is added, one per row of C
  bool in_place = false;  ///< with beta = 1: D is the result C itself; else D is an array of its own
  bool fresh_a = false;   ///< the step has just written A, so that small ones are in the L2
  bool fresh_b = false;
  bool cold = false;  ///< measured with nothing in the L2
};

/// Every product of a micro-batch in the step's order, one layer's once.
std::vector<ProductCase> step_products(const ModelShape& model, int sequences, ProductType type);
/// Changes the GEMM to what fp8 supports: both operands stored along k, nothing added. False where it cannot be.
bool as_fp8(ProductCase& one);
/// The first of each set of equal cases; alpha, the layout's name and the model make no difference.
std::vector<ProductCase> without_duplicates(const std::vector<ProductCase>& all);
/// "bf16 2304x4096x768 forward of gpt2-124m".
std::string text_of(const ProductCase& one);

struct KernelCase {
  StepKernel kind = StepKernel::kCopy;
  ElementType type = ElementType::kBf16;  ///< kFloat32 or kBf16; a cast goes to fp32
  TokenShape shape{};                     ///< of those that are not flat
  int parts = 1;                          ///< kSplitHeads, kMergeHeads; kBiasBackward has parts x width features
  int vocabulary = 0;                     ///< embeddings and kCrossEntropy
  std::size_t count = 0;                  ///< of the flat ones, elements
  std::string model{};
  bool cold = false;
};

/// Every kernel of a micro-batch that is no product, one layer's once; without the optimizer.
std::vector<KernelCase> step_kernels(const ModelShape& model, int sequences, ElementType type);
std::vector<KernelCase> without_duplicates(const std::vector<KernelCase>& all);
std::string text_of(const KernelCase& one);
/// As in calibration/device/kernels.hpp: features x tokens, keys x (queries of all), vocabulary x tokens, count x 1.
std::int64_t rows_of(const KernelCase& one);
std::int64_t columns_of(const KernelCase& one);
/// Read and written once, by byte_formulas().
double bytes_of(const KernelCase& one);

}  // namespace accocal
