// Nodes of A100 with adapters of a kind, of 25 GB/s all of which is reached and without collisions.
#pragma once

#include <string>

#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {

inline NodeGroup group_of_kind(const std::string& kind, int gpus, int adapters) {
  NodeGroup group;
  group.count = 8;
  group.gpus = gpus;
  group.devices.assign(static_cast<std::size_t>(gpus), Device{});
  for (Device& device : group.devices) device.architecture = "ampere";
  group.intra = usual_intra("nvswitch", "ampere");
  group.intra.bandwidth = BytesPerSecond{300e9};
  group.nics = usual_nics(kind);
  group.nics.count = adapters;
  group.nics.bandwidth = BytesPerSecond{25e9};
  group.nics.efficiency = 1;
  group.nics.collisions = 0;
  return group;
}

inline Cluster cluster_of(const NodeGroup& group, int nodes) {
  Cluster cluster;
  cluster.nodes = {group};
  cluster.nodes.front().count = nodes;
  return cluster;
}

}  // namespace accosim
