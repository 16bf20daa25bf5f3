// What a fabric's size adds to a collective: the switches that its messages cross, and flows that share a link while
// others are free.
#pragma once

#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// Greatest number of `flows` flows on one of as many links when each is hashed to one of them, in the mean: balls in
/// bins, the sum over k of 1 - (1 - P(more than k))^flows with the Poisson distribution of mean 1.
double greatest_load(int flows);

/// How many times as long the bytes of a collective over so many nodes take as without collisions: 1 + collisions x
/// (greatest_load(nodes) - greatest_load(2)); 1 where a kind's switches hash no flows (Nics::collisions 0).
double contention(const Cluster& cluster, const Ring& ring);

/// Latency of the switches that the steps of a ring, one of `passes` turns, or of a tree's ways up and down cross
/// beyond the leaf switches: 32 nodes have a leaf in common (half of 64 ports go up), 1,024 a spine. Two more switches
/// for each level, each edge that leads out of one: of a ring one for each leaf, of a tree those above it.
Seconds ring_crossings(const Cluster& cluster, const Ring& ring, double passes);
Seconds tree_crossings(const Cluster& cluster, const Ring& ring);

}  // namespace accosim
