#include "sim/bodies/finish.hpp"

#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

double elements_alike(const RankKind& kind) {
  double elements = 0;
  for (const Layer& layer : *kind.layers)
    for (const Operator& op : layer.operators) elements += op.alike;
  return elements;
}

Piece all_reduce(const char* name, Bytes bytes, const Ranks& ranks, int lane) {
  return Piece{
      .pass = Pass::kMessage, .lane = lane, .name = name, .message = {CollectiveKind::kAllReduce, bytes, 1, ranks}};
}

}  // namespace

std::vector<Piece> finish_pieces(const ScheduleSpec& spec, const Costs& costs, const RankKind& kind, int lane) {
  std::vector<Piece> pieces;
  if (model_ranks_of(costs.layout) == 1 && !has_own_experts(kind)) return pieces;
  const Bytes element = bytes_of(costs.gradient_dtype);
  if (kind.share.sequence && kind.share.tensor > 1)
    pieces.push_back(
        all_reduce("all-reduce of norms' gradients", elements_alike(kind) * element, {over(Dim::kTensor)}, lane));
  if (kind.shared_table > 0)
    pieces.push_back(all_reduce("all-reduce of the table's gradient", kind.shared_table * element,
                                {over(Dim::kPipeline), Pick::kEnds}, lane));
  if (costs.gradient_clipping) {
    const bool sharded = sharding_of(spec) != Sharding::kNothing;
    const Dims model =
        has_own_experts(kind) ? Dims{static_cast<std::uint8_t>(kOneModel.bits | over(Dim::kExpert).bits)} : kOneModel;
    const Ranks who{sharded ? Dims{static_cast<std::uint8_t>(kAllData.bits | kOneModel.bits)} : model};
    pieces.push_back(all_reduce("all-reduce of the norm", Bytes{4}, who, lane));
  }
  return pieces;
}

}  // namespace accosim
