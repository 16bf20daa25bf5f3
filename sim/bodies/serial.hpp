// The body of a rank that has the whole model: layer by layer forward, and back.
#pragma once

#include <vector>

#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "sim/bodies/body.hpp"

namespace accosim {

/// A set a layer, in forward order. `own`: not all of these ranks have the same experts.
std::vector<ParameterSet> layer_sets(const std::vector<LayerTime>& layers, const Ranks& copies = {}, bool own = false);

/// A chunk of the model: layers [begin, end) of those that a rank has. It has at least one.
struct ChunkLayers {
  int chunk = 0, begin = 0, end = 0;
};
/// A pass over it: a piece a layer, in forward order or back. A micro-batch ends with the backward pass over the first
/// chunk.
void add_pass(std::vector<Piece>& list, const RankKind& kind, Pass pass, const ChunkLayers& chunk);

/// `copies`: who sums its gradients.
Body serial_body(const RankKind& kind, const Ranks& copies);

}  // namespace accosim
