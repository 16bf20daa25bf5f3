// Exchanges of experts' rows by kernels that are no collectives of NCCL's: DeepEP's and HybridEP's
// (github.com/deepseek-ai/DeepEP, csrc/kernels/internode.cu and intranode.cu). A token goes once to each node that any
// of its experts is in, over the adapters, and from there once to each rank of it over the links of the node. Sums come
// back the same way.
#pragma once

#include "models/base/units.hpp"
#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// Of `parts` equal ones how many a row reaches on average, whose `receivers` are drawn evenly:
///   parts (1 - (1 - 1 / parts)^receivers)
double reached(double parts, double receivers);

/// Bytes that a rank sends at most one way, of its rows' `bytes`: over its node's adapters, and over the links inside.
struct DispatchBytes {
  Bytes between, inside;
};
/// n nodes of g ranks, e = n g; what stays where it is costs nothing:
///   between: bytes reached(n) (n - 1) / n
///   inside:  bytes reached(e) (g - 1) / g
DispatchBytes dispatch_bytes(Bytes bytes, double receivers, const Ring& ring);

/// Alone on the fabric. Both legs run at the same time: a fixed part, then the longer one. An oversubscribed core
/// is shared equally by all ranks.
Seconds dispatch_time(Bytes bytes, double receivers, const Cluster& cluster, const Ring& ring);

/// Of the adapters' and of the links' rate, what the kernels reach: by DeepEP's tables 45 of 50 GB/s between nodes
/// (Hopper, ConnectX-7) and 153 to 158 of 200 inside (H800), by UCCL-EP's 320 of 450 (H200). And what passes before and
/// after the bytes: layout, counts, barriers; not measured alone.
inline constexpr double kDispatchAdapters = 0.9, kDispatchLinks = 0.74;
inline constexpr Seconds kDispatchFixed{30e-6};

}  // namespace accosim
