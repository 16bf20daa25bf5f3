// What of the GPT needs no matrices, and its passes in fp32.
#include "calibration/train/gpt.hpp"

#include <cmath>
#include <stdexcept>

#include "calibration/base/random.hpp"
#include "calibration/train/gpt_passes.hpp"

namespace accocal {
namespace {

constexpr double kEmbeddingDeviation = 0.05;

void check(const GptShape& shape) {
  if (shape.layers < 1 || shape.width < 1 || shape.heads < 1 || shape.context < 1 || shape.vocabulary < 1)
    throw std::invalid_argument("every size of a GPT is at least 1");
  if (shape.width % shape.heads != 0) throw std::invalid_argument("a GPT's heads must divide its width");
}

}  // namespace

std::vector<ParameterBlock> parameter_blocks(const GptShape& shape) {
  check(shape);
  std::vector<ParameterBlock> blocks;
  std::size_t offset = 0;
  const auto add = [&](std::string name, int rows, int columns, double deviation, double constant) {
    blocks.push_back({std::move(name), offset, rows, columns, deviation, constant});
    offset += blocks.back().size();
  };
  const int d = shape.width;
  const double in = 1 / std::sqrt(d);
  const double residual = 1 / std::sqrt(2.0 * shape.layers);
  add("token", d, shape.vocabulary, kEmbeddingDeviation, 0);
  add("position", d, shape.context, kEmbeddingDeviation, 0);
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string name = "layer" + std::to_string(layer) + ".";
    add(name + "norm1.gain", d, 1, 0, 1);
    add(name + "norm1.bias", d, 1, 0, 0);
    add(name + "qkv.weight", 3 * d, d, in, 0);
    add(name + "qkv.bias", 3 * d, 1, 0, 0);
    add(name + "out.weight", d, d, in * residual, 0);
    add(name + "out.bias", d, 1, 0, 0);
    add(name + "norm2.gain", d, 1, 0, 1);
    add(name + "norm2.bias", d, 1, 0, 0);
    add(name + "up.weight", 4 * d, d, in, 0);
    add(name + "up.bias", 4 * d, 1, 0, 0);
    add(name + "down.weight", d, 4 * d, in / 2 * residual, 0);
    add(name + "down.bias", d, 1, 0, 0);
  }
  add("norm.gain", d, 1, 0, 1);
  add("norm.bias", d, 1, 0, 0);
  return blocks;
}

std::size_t parameter_count(const GptShape& shape) { return GptBlocks(shape).count(); }

double initial_value(const ParameterBlock& block, std::uint64_t seed, std::size_t place) {
  return block.deviation == 0 ? block.constant : block.deviation * normal_of(mixed({seed, place}));
}

std::vector<double> initial_parameters(const GptShape& shape, std::uint64_t seed) {
  std::vector<double> parameters(parameter_count(shape));
  for (const ParameterBlock& block : parameter_blocks(shape)) {
    for (std::size_t i = block.offset; i < block.offset + block.size(); ++i)
      parameters[i] = initial_value(block, seed, i);
  }
  return parameters;
}

template class Gpt<float>;

}  // namespace accocal
