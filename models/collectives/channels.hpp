// How many channels NCCL gives a collective. A channel is a thread block: it holds a multiprocessor, and it moves the
// bytes, so a message that needs few channels holds few multiprocessors.
#pragma once

#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// Channels of the communicator of `ring`, what a large collective gets: on one node the fewest that a device has
/// (Device::collective_sms), between nodes network_channels(). 0 where a device has none.
int communicator_channels(const Cluster& cluster, const Ring& ring);

/// Channels that carry the bytes of `ring` between nodes: what NCCL's search finds there (nccl_search.hpp), or at most
/// Nics::channels for each adapter that the ring uses where NCCL is told so; one of accocal's own rings.
int network_channels(const Cluster& cluster, const Ring& ring);

/// Channels of one collective of `bytes` (the full buffer) over `ranks` ranks, of the communicator's `channels`. A ring
/// or a tree drops channels, down to one, while bytes < channels x threads x threshold (src/enqueue.cc, getAlgoInfo in
/// 2.18 to 2.20): 512 threads; a threshold of 64 bytes a thread for Simple, 8 for LL, times the ranks for LL in a ring.
/// So a channel gets at least 32 KiB (Simple), 4 KiB (LL, tree) or 4 KiB x ranks (LL, ring), and 4 bytes get one
/// channel. NCCL gives NVLS channels of its own, 16 at most, whatever the bytes, but takes LL for what is small; where
/// NVLS is priced as faster, it has the channels that Simple would need. Exchanges keep the communicator's: they are
/// dealt by other rules, which are not modelled.
int channels_of(CollectiveKind kind, Bytes bytes, int ranks, Algorithm algorithm, Protocol protocol, int channels);

}  // namespace accosim
