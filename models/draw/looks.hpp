// The look of each schedule, the same in every picture and on every page, by its name or by a label that a user gave
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/draw/svg.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

/// What the labels of tuned schedules begin with, and how they are called where several points may have different ones.
inline constexpr const char* kBestSynchronousRow = "best synchronous";
inline constexpr const char* kBestDelayedRow = "best delayed or local";

/// How one of several things is drawn: the colour and dashes of its line, the fill of its area.
struct SeriesLook {
  Hue hue = Hue::kGrey;
  int turn = 0;        ///< which dashes and hatching
  bool again = false;  ///< another one before it has the same hue
};
/// By label: what is called as a schedule has its look, what only speaks of one the same hue with other dashes, and any
/// other one by its letters. Of two that would look alike, in print too, the later one has the next dashes that do not.
std::vector<SeriesLook> looks_of(const std::vector<std::string>& labels);
Stroke stroke_of(const SeriesLook& look, Theme theme);
/// Plain on a screen, where fine hatching flickers, but for one whose hue is there already.
Fill fill_of(const SeriesLook& look, Theme theme);

/// The schedule that a label speaks of first, by name or title as whole words: "FSDP, ZeRO-3" is zero3. nullptr: none.
const ScheduleTraits* schedule_in(std::string_view label);

}  // namespace accosim
