// A picture as a file: SVG as it is drawn, PNG and PDF through rsvg-convert, by the extension of the name.
#pragma once

#include <string>
#include <vector>

namespace accosim {

/// Before the work: throws BadInput where the name says no picture or the file may not be replaced, as
/// check_outputs(); BadEnvironment where it needs a program that is not installed.
void check_picture(const std::string& path, const std::vector<std::string>& inputs, bool force);

/// Whole or not at all, and says so (tell_written()); `what`: "timeline of 4 schedules". Throws BadEnvironment.
void write_picture(const std::string& path, const std::string& svg, const std::string& what);

}  // namespace accosim
