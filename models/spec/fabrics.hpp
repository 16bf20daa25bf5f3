// Constants of kinds of links: what a cluster's file need not say.
#pragma once

#include <string>
#include <vector>

#include "models/spec/spec.hpp"

namespace accosim {

/// nvswitch, nvlink, cube_mesh, pcie.
const std::vector<std::string>& intra_kinds();
/// The hybrid cube mesh of DGX-1 with V100 and of cloud machines like it (NVIDIA DGX-1 With Tesla V100 System
/// Architecture, WP-08437-002, figure 5): NVLinks between each two of 8 GPUs; every GPU has 6.
const std::vector<std::vector<int>>& cube_mesh();

/// infiniband (and RoCE: RDMA with GPUDirect), omnipath, slingshot, efa, tcpx, tcp; and sockets, accocal's own rings,
/// whose messages are framed for Ethernet and which know neither trees nor LL.
const std::vector<std::string>& nic_kinds();

/// Steps that a ring's last receive adds at most: a cluster may say so much, and a fit looks no further.
inline constexpr double kMostTurnaround = 2;

/// Of one of intra_kinds(); its bandwidth is the caller's. Values by fit_collectives() of the committed tables, which a
/// test repeats, but for these: pcie is NCCL's own (src/graph/tuning.cc) and SimuMax's; LL of nvlink and cube_mesh,
/// without a message below 1 MiB, and omnipath, without a table, are where the fits begin and InfiniBand's.
IntraLink usual_intra(const std::string& kind);
/// Of one of nic_kinds(), as above.
Nics usual_nics(const std::string& kind);

/// Plain TCP is limited by the host, not by the adapters: at most 95 % of them, and no more than what the sockets of
/// one node of usual_nics("tcp")'s table carried (nodes of 2 x 200 Gbit/s). `adapters`: all of a node.
double tcp_efficiency(BytesPerSecond adapters);

}  // namespace accosim
