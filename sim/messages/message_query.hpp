// A collective of a cluster as its messages: the ranks, wires and buffers behind its closed form.
#pragma once

#include "models/collectives/nccl_cost.hpp"
#include "models/spec/cluster.hpp"
#include "sim/messages/expand.hpp"

namespace accosim {

/// Of a collective over several nodes that goes `way`. Each node has its own adapters and its share of the fabric's
/// core; buffers hold 8 slots of a chunk each, with Simple in a ring of a quarter of a chunk, and over TCP no more than
/// the connections have under way.
MessageQuery message_query(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                           const NcclWay& way);

}  // namespace accosim
