// The same collectives by Gloo, a library of others: what the ring's results are checked against.
#pragma once

#include <memory>

#include "calibration/ranks/seat.hpp"
#include "calibration/ranks/transport.hpp"

namespace accocal {

/// Was accocal built with Gloo?
bool has_gloo();

/// Throws BadInput in a build without Gloo. The connections of its full mesh are arranged over a ring.
std::unique_ptr<Transport> make_gloo_transport(const Seat& seat);

}  // namespace accocal
