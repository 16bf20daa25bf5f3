// Where what may be under way between two nodes, and not a link's rate, bounds what a collective sends.
#pragma once

#include <optional>
#include <string>

#include "sim/graph/graph.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

struct BoundWindow {
  Window window;
  BytesPerSecond links;  ///< what the links of its path would carry: the least share of one among all flows over it
};

/// Of the flows that collectives of one kind send at the same time, the one that its window holds back most; nothing
/// where links are slower everywhere.
std::optional<BoundWindow> bound_window(const EventGraph& graph);

/// "window-bound: 2 channels x 4 MiB per 60 ms carry 140 MB/s between two nodes, whose links would carry 1.12 GB/s".
std::string in_words(const BoundWindow& bound);

/// The same with what to do about it.
std::optional<Warning> window_warning(const EventGraph& graph);

}  // namespace accosim
