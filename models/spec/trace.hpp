// What a played or a measured step looks like in time: spans on lanes. The simulator and the calibration tool both
// speak it, and the reports draw it.
#pragma once

#include <cstdint>
#include <functional>

#include "models/base/units.hpp"

namespace accosim {

/// One op of one rank, from its begin to its end; or `repeat` equal ones back to back, `period` apart.
struct Span {
  std::int32_t rank = 0;
  std::int32_t op = 0;  ///< index in its lane's list of ops
  std::uint16_t lane = 0;
  std::uint16_t label = 0;     ///< index in the graph's labels
  std::int32_t iteration = 0;  ///< of the innermost loop around it; 0 outside one
  std::int64_t repeat = 1;
  std::int64_t rendezvous = -1;  ///< the same number on every rank of one collective, -1 for what is local
  Seconds arrived{};             ///< when the lane reached it; earlier than begin when it waited for other ranks
  Seconds begin{};
  Seconds end{};     ///< of the first of `repeat`
  Seconds period{};  ///< from begin to begin when repeated
};

/// Takes spans: those of a lane in order, those of all lanes in the order in which they end, but for the repeated ones,
/// which come when the last has ended.
using SpanSink = std::function<void(const Span&)>;

}  // namespace accosim
