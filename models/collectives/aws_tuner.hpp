// What the tuner plugin of AWS's adapters chooses in NCCL's place.
#pragma once

#include <optional>

#include "models/collectives/nccl_tuner.hpp"

namespace accosim {

/// The choice of aws-ofi-nccl (src/tuner/nccl_ofi_regions.cpp): regions of message size and number of ranks, drawn from
/// its makers' measurements on nodes of 8 Hopper GPUs with 32 adapters of 100 Gbit/s (p5) or 16 of 200 (p5en). Nothing
/// where it leaves the choice to NCCL: on two nodes or fewer, with other nodes, for other collectives, and of p5 for
/// all but the all-reduce. `adapter`: the rate of one.
std::optional<NcclWay> aws_choice(const NcclCommunicator& communicator, BytesPerSecond adapter, CollectiveKind kind,
                                  Bytes bytes);

}  // namespace accosim
