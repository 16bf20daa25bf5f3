// The body of a rank that has the whole model: layer by layer forward, and back.
#pragma once

#include <vector>

#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "sim/bodies/body.hpp"

namespace accosim {

/// A set a layer, in forward order.
std::vector<ParameterSet> layer_sets(const std::vector<LayerTime>& layers, const Ranks& copies = {});

/// `copies`: who sums its gradients.
Body serial_body(const RankKind& kind, const Ranks& copies);

}  // namespace accosim
