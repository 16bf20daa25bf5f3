// The parameter tensors of a model, and how PyTorch's ZeroRedundancyOptimizer shares them out.
#pragma once

#include <map>
#include <vector>

#include "models/price/layers.hpp"

namespace accosim {

/// Elements of each tensor, in the order in which the model registers them.
std::vector<double> tensors_of(const Layers& layers);

/// How many tensors there are of each size in elements.
std::map<double, int> tensor_sizes(const std::vector<double>& tensors);

/// Elements of each rank's share: largest tensor first, tensors of one size in their order, each to the rank with the
/// least so far, of several to the lowest (torch/distributed/optim/zero_redundancy_optimizer.py,
/// _partition_parameters).
std::vector<double> zero_redundancy_shares(std::vector<double> tensors, int ranks);

/// The largest of these: the time and the memory of the optimizer are its.
double largest_share(const Layers& layers, int ranks);

}  // namespace accosim
