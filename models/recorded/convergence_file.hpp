// What `accocal converge` measured of the algorithms' convergence (schema accosim.convergence/1), for predictions of
// the time to a loss beside the time per token.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace accosim {

struct MeasuredConvergence {
  struct Algorithm {
    std::string name;  ///< ddp, zero1, dpu, wp, acco, acco-keep, diloco, streaming_diloco-e3m0...
    /// Samples needed to reach a loss, as a multiple of DDP's, both at DDP's batch; with their interval. Absent where
    /// the loss was not reached.
    std::optional<double> samples, low, high;
    double at_least = 0;    ///< lower bound of `samples`, where the loss was not reached
    int inner_updates = 0;  ///< of replicas that make updates alone; 0: not said
    // Of the same, what else was chosen; absent: not said.
    std::optional<int> outer_every, delay, fragments;
    std::optional<double> mixing;
  };
  std::string model;
  double parameters = 0;
  double updates = 0, samples = 0;  ///< of the runs
  double least_batch = 0, most_batch = 0;
  double tokens_per_sample = 1;
  int inner_updates = 0;  ///< DiLoCo's; 0: not said
  std::vector<Algorithm> algorithms;
  double critical_batch = 0;               ///< samples: S(B) = S_min (1 + B / B_critical), McCandlish et al. 2018
  std::vector<MeasuredConvergence> sizes;  ///< the same of other sizes of the model, which have none themselves
};

/// Of all sizes that were measured the one whose parameters are the fewest times more or less than these.
const MeasuredConvergence& nearest_size(const MeasuredConvergence& measured, double parameters);

/// `name` is for errors. Throws ScenarioError when the text is no such document.
MeasuredConvergence read_convergence(const std::string& text, const std::string& name);

}  // namespace accosim
