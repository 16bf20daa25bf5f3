// Operators of a block with routed experts in the place of its MLP, as Megatron-LM (core/transformer/moe) and
// transformers' models have them.
//
// T tokens, K experts each, so that A = T K rows arrive at a rank; E experts of inner size f, of which a rank has E /
// e. An element of a row: w bytes; h the width.
//   router            T x E x h; scores, the K best and their weights in fp32: of T E and T K elements
//   permute           rows gathered in the order of their experts: read and written, 2 A h w; backward summed, the same
//   expert up, down   a product for each expert of A / (E / e) rows; 6 A h f FLOPs forward where gated, 4 A h f
//   otherwise unpermute         K rows of a token summed by their weights: 2 A h w, and backward the same
#pragma once

#include <vector>

#include "models/price/operator.hpp"
#include "models/price/operators.hpp"
#include "models/spec/model.hpp"

namespace accosim {

/// From the stream to the output of experts, with the norm before and what is beside them.
///
/// The products of all experts of a rank are one kernel in compiled code (torch._grouped_mm) and on several streams in
/// merged code (Transformer Engine's GroupedLinear), whose host launches each expert's. Eager code has one product, too
/// (transformers' grouped_mm_experts_forward), over rows that it indexes: a token's row gathered for each of its
/// experts, all sorted, weighed, sorted back, summed, each a kernel; backward an index adds to rows of zeros. Or it has
/// a loop over the experts with a GEMM, and what lies between, for each (ExpertsImplementation). Merged and compiled
/// code weighs the rows before the second product, eager code behind it, and keeps its output for that.
///
/// With experts over e ranks (ModelShare::experts) rows are sent to the ranks of their experts and back, in two
/// exchanges forward and two backward, of all rows of a rank, and the weights with them, in fp32; a rank sorts what
/// arrives. The fullest rank has Workload::expert_imbalance times the mean; all wait for it. Of ranks that split
/// tensors each has its part of every expert's inner size: they gather the rows, or where experts are not shared the
/// tokens.
void add_experts(const Model& model, const Workload& workload, const Sizes& z, std::vector<Operator>& ops);

/// Small kernels between the router's product and the map of rows: casts, scores, choice, weights, map and the
/// auxiliary loss, counted in Megatron-LM's core/transformer/moe/router.py and moe_utils.py, of which a compiler joins
/// some. Fusions of them are off by default.
inline constexpr int kRouterLaunches = 22, kRouterBackwardLaunches = 18, kCompiledRouterLaunches = 4;
/// Beside a dispatch: counts, their gather, splits, copies to the host and the map of rows (token_dispatcher.py); of
/// the kernels that take tokens their layout and indices.
inline constexpr int kCountLaunches = 14, kLayoutLaunches = 8;
/// Of eager code that sorts rows: places, their order and its inverse, counts, their sum, two gathers; and what adds a
/// gradient to indexed rows, which sorts the index first.
inline constexpr int kSortLaunches = 16, kIndexGradientLaunches = 8;
/// GEMMs of a group that one call launches, in the time in which Python launches a kernel (launch_slowdown()).
inline constexpr double kLaunchedTogether = 16;
/// Of the streaming bandwidth what a kernel of its own reaches that gathers rows, and what indexing does. Not measured.
inline constexpr double kPermuteEfficiency = 0.7, kIndexEfficiency = 0.2;

}  // namespace accosim
