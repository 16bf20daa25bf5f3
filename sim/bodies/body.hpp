// What one kind of rank does for the micro-batches of an update, as data: pieces of forward and backward passes on a
// few lanes, what they need and what they give. It never reduces or gathers over data: that is what an update rule
// hooks into it. So a body may be serial, split by tensor or a stage of a pipeline, and every rule runs on each of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/work.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// Parameters that are gathered, reduced and stepped as one: those of a layer.
struct ParameterSet {
  std::vector<double> tensors;  ///< elements, in the order in which their gradients become ready
  Ranks copies{};               ///< who sums its gradients
  Bytes frozen{};               ///< of what is gathered with them and has no gradient
  std::vector<bool> own{};      ///< by tensor whether it is of experts that not all of these have; empty: none is

  Ranks copies_of(std::size_t tensor) const {
    Ranks ranks = copies;
    if (!own.empty() && own[tensor]) ranks.dims = with_same_experts(ranks.dims);
    return ranks;
  }
};

enum class Pass : std::uint8_t {
  kForward,
  kBackward,
  kCopy,     ///< on the GPU
  kMessage,  ///< over any dimension but data
};

/// For an earlier piece of the same list; or, with `rounds_back`, for what piece `piece` of a round did so many rounds
/// before. In the first rounds that is the last that `open` did in its place (Piece::stands_for), in `close` the last
/// round.
struct Wait {
  int piece = 0;
  int rounds_back = 0;
};

/// A tensor that must be there, or whose gradient is, at a share of the piece's time.
struct AtShare {
  int set = 0, tensor = 0;
  double at = 0;
};

/// Part of a pass, in the order of its lane.
struct Piece {
  Pass pass = Pass::kForward;
  int lane = 0;
  int chunk = 0;                  ///< which part of the model, where a rank has several
  Seconds duration{};             ///< kMessage: none
  Work work{};                    ///< of a pass
  std::string name{};             ///< kCopy, kMessage: what it is called
  PlanRequest message{};          ///< kMessage
  std::vector<Wait> waits{};      ///< beside the order of its lane
  std::vector<AtShare> needs{};   ///< parameters, ascending in `at`
  std::vector<AtShare> gives{};   ///< gradients, in the order in which they become ready
  int stands_for = -1;            ///< in `open`: the piece of a round for which others wait in the next one
  bool ends_pass = false;         ///< the last piece of this pass over its chunk for a micro-batch
  bool ends_micro_batch = false;  ///< the rank has then done all that it does for one
};

/// What a whole pass over a chunk takes. Where nothing cuts it, it is one op of that time, not a new sum of pieces.
struct Chunk {
  Seconds forward, backward;
  LayerWork work;
};

struct Body {
  std::vector<std::string> lanes{"compute"};  ///< the first computes, further ones are for messages of its own
  std::vector<ParameterSet> sets{};           ///< in order of first use
  std::vector<Chunk> chunks{};                ///< those of a rank
  /// A flight is `open`, so many rounds, `close`. A serial body is rounds alone, of one micro-batch each.
  std::vector<Piece> open{}, round{}, close{};
  std::vector<Piece> finish{};  ///< once, between the last gradient and the step
  int opened = 0;               ///< micro-batches that begin in `open`
  int a_round = 1;              ///< and in each round
  /// Those of a model replica, the first of which decides how many rounds there are until something has ended; none:
  /// the rank by itself.
  std::optional<Ranks> replica{};
};

}  // namespace accosim
