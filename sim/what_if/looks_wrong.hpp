// What a cluster says that no hardware has: asked about once, with the place, and never refused, for parts that are not
// for sale yet are a good question. And what speaks against the measurements that its links were fitted to.
#pragma once

#include <vector>

#include "models/spec/cluster.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Of each node group, as warnings "looks_wrong": links inside a node that are faster than any of their generation, as
/// where both directions were added up, or join GPUs as no board does; adapters faster than any of their kind, as where
/// bytes were meant as bits; peaks above those of the generation, as where sparsity is counted. Of the whole,
/// "doubtful_network".
std::vector<Warning> looks_wrong(const Cluster& cluster);

}  // namespace accosim
