// A figure as a file: SVG as it is drawn, PNG and PDF through rsvg-convert, CSV of its numbers, by the extension.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/draw/svg.hpp"
#include "sim/app/verb.hpp"

namespace accosim {

/// --theme.
Option theme_option();
Theme theme_of(const Arguments& arguments);

/// Before the work: throws BadInput where the name says no picture or the file may not be replaced, as
/// check_outputs(); `csv` may be empty. BadEnvironment where it needs a program that is not installed.
void check_picture(const std::string& path, const std::string& csv, const std::vector<std::string>& inputs, bool force);

/// A figure as a picture and as a table; each is made only where it is written.
struct Drawing {
  std::function<std::string()> svg, csv;
  double dots = 1;  ///< of a PNG, for each pixel of the picture
};
/// Whole or not at all, and says so (tell_written()); `what`: "timeline of 4 schedules". A table where the path ends
/// so, and beside the picture where `csv` names a file. Throws BadEnvironment.
void write_picture(const std::string& path, const std::string& csv, const Drawing& figure, const std::string& what);

}  // namespace accosim
