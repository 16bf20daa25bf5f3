// Constants of kinds of links: what a cluster's file need not say.
#pragma once

#include <string>
#include <vector>

#include "models/spec.hpp"

namespace accosim {

/// nvswitch, nvlink, cube_mesh, pcie.
const std::vector<std::string>& intra_kinds();
/// infiniband (and RoCE: RDMA with GPUDirect), omnipath, slingshot, efa, tcpx, tcp.
const std::vector<std::string>& nic_kinds();

/// Of one of intra_kinds(); its bandwidth is the caller's. Values by fit_collectives() of the committed tables, which a
/// test repeats; those of pcie are NCCL's own (src/graph/tuning.cc) and SimuMax's.
IntraLink usual_intra(const std::string& kind);
/// Of one of nic_kinds(), as above.
Nics usual_nics(const std::string& kind);

/// Bandwidth of a GPU's NVLinks from which on an NVSwitch reduces (generation 3, HGX H100).
inline constexpr BytesPerSecond kMulticastFrom{450e9};

}  // namespace accosim
