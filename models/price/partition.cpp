// A heap of ranks by what they have so far: cheap for thousands of ranks.
#include "models/price/partition.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace accosim {

std::vector<double> tensors_of(const Layers& layers) {
  std::vector<double> tensors;
  for (const Layer& layer : layers)
    for (const Operator& op : layer.operators) tensors.insert(tensors.end(), op.tensors.begin(), op.tensors.end());
  return tensors;
}

std::map<double, int> tensor_sizes(const std::vector<double>& tensors) {
  std::map<double, int> sizes;
  for (const double elements : tensors) ++sizes[elements];
  return sizes;
}

std::vector<double> zero_redundancy_shares(std::vector<double> tensors, int ranks) {
  std::ranges::stable_sort(tensors, std::greater<>());
  std::vector<double> shares(static_cast<std::size_t>(ranks));
  using Share = std::pair<double, int>;  // elements, rank: the least of these is next
  std::priority_queue<Share, std::vector<Share>, std::greater<>> least;
  for (int rank = 0; rank < ranks; ++rank) least.push({0, rank});
  for (const double elements : tensors) {
    const auto [held, rank] = least.top();
    least.pop();
    shares[static_cast<std::size_t>(rank)] = held + elements;
    least.push({held + elements, rank});
  }
  return shares;
}

double largest_share(const Layers& layers, int ranks) {
  // Whoever looks for a way to fit asks thousands of times about the same model.
  struct Known {
    std::vector<double> tensors;
    int ranks = 0;
    double share = 0;
  };
  thread_local Known known;
  std::vector<double> tensors = tensors_of(layers);
  if (known.ranks == ranks && known.tensors == tensors) return known.share;
  const std::vector<double> shares = zero_redundancy_shares(tensors, ranks);
  known = {std::move(tensors), ranks, *std::ranges::max_element(shares)};
  return known.share;
}

}  // namespace accosim
