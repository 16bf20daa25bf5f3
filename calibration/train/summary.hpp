// Combines all ranks' records at the end of a run, on CPUs and on GPUs alike.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/train/training.hpp"

namespace accocal {

/// What a rank knows of its own part.
struct RankSummary {
  double waited_share = 0;                  ///< of its run, ready and without a processor
  std::vector<double> loss_sums{};          ///< an update each
  std::vector<std::int64_t> loss_counts{};  ///< micro-batches that are in them
};

/// The worst share, and each update's loss as the mean over all ranks' micro-batches. Called on every rank.
void add_all_ranks(TrainingResult& result, RankSummary own, Transport& transport);

/// All ranks' spans to rank 0; the others keep their own. Called on every rank.
void gather_spans(TrainingResult& result, Transport& transport);

}  // namespace accocal
