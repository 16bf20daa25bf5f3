// Which NCCL a cluster has, and who chooses its ways.
#pragma once

#include <optional>

#include "models/base/reader.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// The release of the NCCL that comes with the wheel of PyTorch 2.`minor`; from 2.0 to 2.9.
NcclRelease nccl_of_pytorch(int minor);
inline constexpr int kNewestPytorch = 9;

/// `nccl`, `tuner` and `collnet`, into a cluster whose nodes and fabric are read. A release that the file does not name
/// is the one of the training's PyTorch, where that is known. Refuses a choice that cannot run on these nodes.
void read_nccl(ObjectReader& reader, const Training& training, Cluster& cluster);

/// "pytorch", such as "2.5" or "2.5.1": the minor version, from which NCCL's release follows.
std::optional<int> read_pytorch(ObjectReader& reader);

}  // namespace accosim
