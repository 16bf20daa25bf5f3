// The losses that `accocal converge` measured, as curves to be drawn: by accocal beside its page, and by `accosim
// plot`.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/draw/curves.hpp"

namespace accosim {

/// Held-out loss along a run.
struct LossPoint {
  double updates = 0, loss = 0;
};

struct MeasuredCurves {
  struct Algorithm {
    std::string name;
    std::vector<std::vector<LossPoint>> curves;  ///< one a seed, at the same updates
    Seconds update_time{};                       ///< 0: not measured
  };
  double batch_samples = 0;           ///< an update
  double equivalence = 0;             ///< a relative difference of losses that counts as none
  std::string network;                ///< that the update times are of; empty: none were measured
  std::vector<Algorithm> algorithms;  ///< what all are compared with first
};

/// `name` is for errors. Throws ScenarioError when the text is no document of schema accosim.convergence/1 with curves.
MeasuredCurves read_curves(const std::string& text, const std::string& name);

/// The mean loss over updates; how far it is from the first algorithm's, paired by seed, with its interval; and where
/// times were measured the loss over time.
std::vector<CurvePanel> convergence_panels(const MeasuredCurves& curves);
/// What a screen reader says of them.
inline constexpr const char* kConvergenceFigure = "Convergence, measured";
/// The title of the first panel begins so.
inline constexpr const char* kConvergenceTitle = "Held-out loss (nats a token)";

}  // namespace accosim
