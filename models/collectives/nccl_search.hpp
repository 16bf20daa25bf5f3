// What NCCL's search of a node finds between nodes: how many channels, and what each is taken to carry. The least form
// of src/graph/search.cc, for GPUs behind a switch (or joined alike); other boxes print what they found, and a cluster
// may say it.
#pragma once

#include "models/spec/nccl_graph.hpp"

namespace accosim {

/// One node as the search sees it; rates in GB/s, one direction.
struct NcclNode {
  int gpus = 1;
  double nvlink = 0;  ///< of a GPU, as NCCL counts its links; over PCIe its slot. Neither is read of a single GPU
  double pair = 0;    ///< between two GPUs: all of that through a switch, else what joins them
  double slot = 24;   ///< of a GPU or an adapter, as NCCL counts PCIe: 12 of generation 3, 24 of 4, 48 of 5
  int adapters = 1;
  double adapter = 0;       ///< of one: Mbit/s over 8000
  bool intel_root = false;  ///< GPUs reach adapters through an Intel CPU, which takes a fifth more of the slots
  int capability = 80;
  int minor = 21;  ///< NCCL 2.minor

  bool operator==(const NcclNode&) const = default;
};

/// Rings: of the speeds that NCCL tries from the fastest down the one whose channels carry most together, looking no
/// further than half of the best speed; then channels of 25 GB/s and more are made two (below 50 GB/s since Hopper only
/// where there are up to four). Trees have the rings' channels, at most; where these are slower inside a node than
/// twice the network, they are made faster there while NVLink carries it.
NcclGraphs find_graphs(const NcclNode& node);

/// Channels of a communicator over several nodes: twice those of the rings (src/graph/connect.cc); with one rank's
/// speed above 45 GB/s since Hopper (Blackwell from 2.26) twice as many again, while there are fewer than 16 (2.18 and
/// 2.19: while 32 hold them).
int channels_between(const NcclGraph& ring, int capability, int minor);

}  // namespace accosim
