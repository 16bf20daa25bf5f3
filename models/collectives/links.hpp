// How many rings fit on the NVLinks between GPUs that are not all joined alike, and the bandwidth that this gives.
#pragma once

#include <vector>

#include "models/base/units.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// Number of one-directional rings through the first `ranks` GPUs that the links can carry at the same time; a link
/// carries one ring each way. Where no ring can be closed, a step may pass through another of these GPUs (NCCL's path
/// type NVB). 0 where there is no ring at all. 2 to 8 ranks.
int rings_on(const std::vector<std::vector<int>>& links, int ranks);

/// Bandwidth of all rings through `here`, some of a node's `gpus` GPUs, together, one direction, before any efficiency.
/// With a switch or over PCIe the bandwidth of one GPU; with GPUs joined to each other (ranks - 1) times that of a
/// pair. A ring leaves a socket once: where `here` are of several, at most between_sockets over the gpus / ranks groups
/// like it, which all communicate at once, over the efficiency, since it is an achieved one.
BytesPerSecond ring_bandwidth(const IntraLink& link, int gpus, const std::vector<int>& here);

/// What one of these GPUs sends to the others at once (all-to-all), or to one: before any efficiency. Of n that share a
/// socket with a of them (n - a) a / (n - 1) times as much leaves it.
BytesPerSecond exchange_bandwidth(const IntraLink& link, int gpus, const std::vector<int>& here);

}  // namespace accosim
