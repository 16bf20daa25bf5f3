// How a picture fills what a lane does: told apart by colour, and in grey by patterns.
#pragma once

#include "models/draw/svg.hpp"
#include "sim/explain/timeline.hpp"

namespace accosim {

constexpr Fill fill_of(Activity activity) {
  switch (activity) {
    case Activity::kForward: return {Hue::kSky};
    case Activity::kBackward: return {Hue::kBlue};
    case Activity::kOptimizer: return {Hue::kGreen, Pattern::kVertical};
    case Activity::kCopy: return {Hue::kPurple, Pattern::kHorizontal};
    case Activity::kHiddenCommunication: return {Hue::kOrange};
    case Activity::kExposedCommunication: return {Hue::kVermillion, Pattern::kRising};
    case Activity::kWaiting: return {Hue::kPaper, Pattern::kDots};
    case Activity::kPause: return {Hue::kGrey, Pattern::kCross};
    case Activity::kCounted: return {Hue::kPaper, Pattern::kFalling};
    case Activity::kHost: break;
  }
  return {Hue::kGrey};
}

}  // namespace accosim
