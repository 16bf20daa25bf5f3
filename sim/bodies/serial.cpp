#include "sim/bodies/serial.hpp"

#include <algorithm>

namespace accosim {
namespace {

/// The tensors of a layer, when its forward pass first reads them.
std::vector<AtShare> needs_of(const LayerTime& layer, int set) {
  std::vector<AtShare> needs;
  for (const GradientTensor& tensor : *layer.gradients)
    needs.push_back({set, static_cast<int>(needs.size()), tensor.needed});
  std::ranges::stable_sort(needs, [](const AtShare& a, const AtShare& b) { return a.at < b.at; });
  return needs;
}

std::vector<AtShare> gives_of(const LayerTime& layer, int set) {
  std::vector<AtShare> gives;
  for (const GradientTensor& tensor : *layer.gradients)
    gives.push_back({set, static_cast<int>(gives.size()), tensor.ready});
  return gives;
}

Piece forward_piece(const RankKind& kind, int layer) {
  return Piece{.pass = Pass::kForward,
               .duration = kind.times[layer].forward,
               .work = (*kind.works)[layer].forward,
               .needs = needs_of(kind.times[layer], layer)};
}

Piece backward_piece(const RankKind& kind, int layer) {
  Piece piece{.pass = Pass::kBackward, .duration = kind.times[layer].backward, .work = (*kind.works)[layer].backward};
  // All of the layer is there when its backward pass begins.
  for (const AtShare& need : needs_of(kind.times[layer], layer)) piece.needs.push_back({need.set, need.tensor, 0});
  piece.gives = gives_of(kind.times[layer], layer);
  return piece;
}

}  // namespace

std::vector<ParameterSet> layer_sets(const std::vector<LayerTime>& layers, const Ranks& copies, bool own) {
  std::vector<ParameterSet> sets;
  for (const LayerTime& layer : layers) {
    sets.push_back({{}, copies, layer.frozen});
    for (const GradientTensor& tensor : *layer.gradients) {
      sets.back().tensors.push_back(tensor.elements);
      if (own) sets.back().own.push_back(tensor.of_experts);
    }
  }
  return sets;
}

void add_pass(std::vector<Piece>& list, const RankKind& kind, Pass pass, const ChunkLayers& chunk) {
  const bool forward = pass == Pass::kForward;
  for (int i = 0; i < chunk.end - chunk.begin; ++i) {
    list.push_back(forward ? forward_piece(kind, chunk.begin + i) : backward_piece(kind, chunk.end - 1 - i));
    list.back().chunk = chunk.chunk;
  }
  list.back().ends_pass = true;
  list.back().ends_micro_batch = !forward && chunk.chunk == 0;
}

Body serial_body(const RankKind& kind, const Ranks& copies) {
  Body body{.sets = layer_sets(kind.times, copies, has_own_experts(kind)),
            .chunks = {{kind.forward, kind.backward, kind.work}}};
  const ChunkLayers whole{0, 0, static_cast<int>(kind.times.size())};
  add_pass(body.round, kind, Pass::kForward, whole);
  add_pass(body.round, kind, Pass::kBackward, whole);
  return body;
}

}  // namespace accosim
