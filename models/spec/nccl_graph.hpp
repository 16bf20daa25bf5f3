// The graph of channels that NCCL's search finds in a node, as it prints it with NCCL_DEBUG_SUBSYS=GRAPH.
#pragma once

#include <string>

namespace accosim {

/// Channels, and GB/s of each inside a node and between nodes.
struct NcclGraph {
  int channels = 1;
  double intra = 0, inter = 0;

  bool operator==(const NcclGraph&) const = default;
};
struct NcclGraphs {
  NcclGraph ring, tree;

  bool operator==(const NcclGraphs&) const = default;
};

/// What a line as NCCL_DEBUG_SUBSYS=GRAPH prints it says: "Pattern 4, crossNic 0, nChannels 8, bw 24.000000/24.000000,
/// type NVL/PXB, sameChannels 1". `pattern`: 4 is the ring's, others are trees'. False where it is no such line.
bool read_pattern(const std::string& line, int& pattern, NcclGraph& graph);

}  // namespace accosim
