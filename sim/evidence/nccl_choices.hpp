// Which way NCCL's own constants choose inside a node, by size and release, beside what was measured there: where the
// choice changes the measured curve should bend.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collectives/nccl_tuner.hpp"
#include "models/fit/published.hpp"

namespace accosim {

struct ChoiceRow {
  Bytes bytes;
  std::vector<std::optional<NcclWay>>
      ways{};                   ///< one a release of ChoiceSeries; none: the release does not know the GPU
  Seconds measured, predicted;  ///< with the series' own release
  std::optional<double>
      slope{};  ///< d log time / d log bytes from the size before: 0 where a launch decides, 1 where bytes do
};

struct ChoiceSeries {
  std::string device;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int ranks = 0;
  NcclRelease measured_with;
  std::vector<ChoiceRow> rows;  ///< by size
};

/// The releases that choices are shown of: 2.23.4, 2.27.5, 2.29.2.
const std::vector<NcclRelease>& shown_releases();

/// All-reduce, reduce-scatter and all-gather over all GPUs of nodes of 8 A100, H100 and B200, of the cases that were
/// launched back to back, with the newest release that each was measured with.
std::vector<ChoiceSeries> nccl_choices(const Published& published);

}  // namespace accosim
