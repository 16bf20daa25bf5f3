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
/// pair.
BytesPerSecond ring_bandwidth(const IntraLink& link, int gpus, const std::vector<int>& here);

/// What one of these GPUs sends to the others at once (all-to-all), or to one: before any efficiency.
BytesPerSecond exchange_bandwidth(const IntraLink& link, int gpus, const std::vector<int>& here);

/// What CPU sockets leave to each GPU of `here`, as achieved; infinite where these are at one socket, or none are told.
/// All gpus / ranks groups of the node are taken to cross as these do, and share IntraLink::between_sockets.
struct SocketShare {
  BytesPerSecond ring;      ///< which leaves a socket once; also of messages to a neighbour in it
  BytesPerSecond exchange;  ///< of n GPUs, a of them at a socket, each sends (n - a) / (n - 1) of its rate out of it
};
SocketShare socket_share(const IntraLink& link, int gpus, const std::vector<int>& here);

}  // namespace accosim
