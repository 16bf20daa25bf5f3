#include "sim/bodies/serial.hpp"

#include <algorithm>
#include <utility>

namespace accosim {
namespace {

/// The tensors of a layer, when its forward pass first reads them.
std::vector<AtShare> needs_of(const LayerTime& layer, int set) {
  std::vector<AtShare> needs;
  for (const GradientTensor& tensor : *layer.gradients)
    needs.push_back({set, static_cast<int>(needs.size()), tensor.needed});
  std::stable_sort(needs.begin(), needs.end(), [](const AtShare& a, const AtShare& b) { return a.at < b.at; });
  return needs;
}

std::vector<AtShare> gives_of(const LayerTime& layer, int set) {
  std::vector<AtShare> gives;
  for (const GradientTensor& tensor : *layer.gradients)
    gives.push_back({set, static_cast<int>(gives.size()), tensor.ready});
  return gives;
}

}  // namespace

std::vector<ParameterSet> layer_sets(const std::vector<LayerTime>& layers, const Ranks& copies) {
  std::vector<ParameterSet> sets;
  for (const LayerTime& layer : layers) {
    sets.push_back({{}, copies});
    for (const GradientTensor& tensor : *layer.gradients) sets.back().tensors.push_back(tensor.elements);
  }
  return sets;
}

Body serial_body(const RankKind& kind, const Ranks& copies) {
  Body body;
  body.sets = layer_sets(kind.times, copies);
  body.chunks = {{kind.forward, kind.backward, kind.work}};
  const int layers = static_cast<int>(kind.times.size());
  for (int i = 0; i < layers; ++i) {
    const LayerTime& layer = kind.times[i];
    Piece piece;
    piece.pass = Pass::kForward;
    piece.duration = layer.forward;
    piece.work = (*kind.works)[i].forward;
    piece.needs = needs_of(layer, i);
    piece.ends_pass = i + 1 == layers;
    body.round.push_back(std::move(piece));
  }
  for (int i = layers - 1; i >= 0; --i) {
    const LayerTime& layer = kind.times[i];
    Piece piece;
    piece.pass = Pass::kBackward;
    piece.duration = layer.backward;
    piece.work = (*kind.works)[i].backward;
    // All of the layer is there when its backward pass begins.
    for (const AtShare& need : body.round[i].needs) piece.needs.push_back({need.set, need.tensor, 0});
    piece.gives = gives_of(layer, i);
    piece.ends_pass = piece.ends_micro_batch = i == 0;
    body.round.push_back(std::move(piece));
  }
  return body;
}

}  // namespace accosim
