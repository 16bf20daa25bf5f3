// The model that the real training step trains: a small GPT, forward and backward, over one flat buffer of parameters
// and one of gradients, which is what the collectives want. Written out by hand, so that nothing but Eigen is needed
// and every gradient can be held against finite differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calibration/base/hidden.hpp"

namespace accocal {

/// Pre-norm blocks of causal attention and an MLP of four times the width, learned positions, the head tied to the
/// embedding, biases everywhere, GELU in its tanh form, no dropout.
struct GptShape {
  int layers = 2;
  int width = 64;
  int heads = 4;  ///< divides the width
  int context = 64;
  int vocabulary = 256;
};

/// One tensor's place in the flat buffer, column by column.
struct ParameterBlock {
  std::string name;
  std::size_t offset = 0;
  int rows = 0;
  int columns = 0;
  double deviation = 0;  ///< standard deviation of its normal initial values; 0: all are `constant`
  double constant = 0;   ///< where the deviation is 0

  std::size_t size() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
};

/// The blocks in the order of the flat buffer, without gaps. Standard deviations: 1/sqrt(inputs) for a weight matrix,
/// divided by sqrt(2 layers) for one whose output is added to the residual stream; 0.05 for the embeddings.
std::vector<ParameterBlock> parameter_blocks(const GptShape& shape);
std::size_t parameter_count(const GptShape& shape);

/// A layer's blocks in their order; behind each weight or gain comes its bias.
enum LayerBlock : std::uint8_t {
  kNorm1Gain,
  kNorm1Bias,
  kQkvWeight,
  kQkvBias,
  kOutWeight,
  kOutBias,
  kNorm2Gain,
  kNorm2Bias,
  kUpWeight,
  kUpBias,
  kDownWeight,
  kDownBias,
  kLayerBlocks
};

/// The same, found by what they are.
struct GptBlocks {
  std::vector<ParameterBlock> all;

  explicit GptBlocks(const GptShape& shape) : all(parameter_blocks(shape)) {}
  const ParameterBlock& token() const { return all[0]; }
  const ParameterBlock& position() const { return all[1]; }
  /// `layer` may be the number of layers: then the gain and the bias, at kNorm1Gain and kNorm1Bias, of the last norm.
  const ParameterBlock& of(int layer, int block) const {
    return all.at(2 + static_cast<std::size_t>(layer) * kLayerBlocks + static_cast<std::size_t>(block));
  }
  std::size_t count() const { return all.back().offset + all.back().size(); }
};

/// Initial value of the element at `place` of the flat buffer, which is in the block.
double initial_value(const ParameterBlock& block, std::uint64_t seed, std::size_t place);
/// Equal for equal seeds.
std::vector<double> initial_parameters(const GptShape& shape, std::uint64_t seed);

/// Real is float; in tests, which instantiate it, double too. Holds the activations of one micro-batch; single-threaded
/// and deterministic.
template <typename Real>
class Gpt {
 public:
  /// `length`: tokens of a sequence, at most the shape's context; 0: the context.
  Gpt(const GptShape& shape, int sequences, int length = 0);

  /// Mean cross entropy of the next token, in nats. `tokens`: for each sequence length + 1 of them, the targets being
  /// the inputs shifted by one.
  double loss(std::span<const Real> parameters, std::span<const std::uint8_t> tokens);
  /// The same, and its gradient is added to `gradient`.
  double accumulate(std::span<const Real> parameters, std::span<const std::uint8_t> tokens, std::span<Real> gradient);

 private:
  struct State;
  Hidden<State> state_;
};

extern template class Gpt<float>;

}  // namespace accocal
